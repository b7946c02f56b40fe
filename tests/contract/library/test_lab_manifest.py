"""The lab's manifest is read by the product's library, and the product's files fit the lab's platforms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.procedures.attest import pcr_policy

ROOT = Path(__file__).parents[3]
LIBRARY = YamlLibrary(ROOT / "include")


def platforms() -> dict[str, Any]:
    """The lab's platform files as data."""
    found = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "lab/data/platforms").glob("*.yaml"))]
    return {sku: platform for platform in found for sku in platform["skus"]}


@pytest.mark.parametrize("sku", sorted(platforms()))
def test_a_platform_of_the_lab_is_what_its_sku_names(sku: str) -> None:
    """System ids and models agree, so that the lab's nodes can conform."""
    platform, wanted = platforms()[sku], LIBRARY.sku(sku)
    assert wanted.bmc.system_id == platform["systems"]["host"]
    assert wanted.bmc.baseboard_id == platform["systems"]["baseboard"]
    assert platform["model"] in wanted.models
    assert wanted.gpus == platform["gpu"]["count"]
    assert wanted.nvlinks_per_gpu == platform["gpu"]["nvlinks"]


@pytest.mark.parametrize("sku", sorted(platforms()))
def test_the_labs_reference_measurements_make_a_whole_policy(sku: str) -> None:
    """Every PCR of the policy has a reference for the firmware set and the approved image."""
    from lab.truth.measured_boot import golden_measurements

    image = LIBRARY.policy("default")["images"]["approved"]["name"]
    policy = pcr_policy(golden_measurements(), LIBRARY.firmware_set(LIBRARY.sku(sku).firmware_set), image)
    assert sorted(policy) == [0, 2, 4, 7]
    assert all(policy.values())
