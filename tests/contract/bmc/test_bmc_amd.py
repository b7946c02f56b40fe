"""The BMC of an MI300X node shows what the shipped SKU and its firmware set declare."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.procedures.conform import part_differences

from lab.truth.fleet import FleetFile, NodeSpec
from tests.contract.bmc.conftest import LIBRARY, lab_directory, lab_node
from tests.contract.redfish.conftest import served

SKU = LIBRARY.sku("mi300x-8")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("", ""),
        ("gpu-missing", "7 x GPU AMD Instinct MI300X present where SKU mi300x-8 names 8"),
        ("dimm-missing", "23 x DIMM"),
    ],
)
def test_inventory_and_firmware_are_as_declared_or_the_difference_is_named(
    tmp_path: Path, fault: str, says: str
) -> None:
    """Eight GPUs below the system UBB, none twice; every item of the firmware set is there in its version."""
    with served(FleetFile("lab", (NodeSpec("amd-a01", SKU.name, "A1", 1),)), tmp_path) as lab:
        if fault:
            lab.do(lambda: lab.world.inject("amd-a01", fault, None))
        with lab_directory().open(lab_node(lab, "amd-a01"), SKU) as bmc:
            inventory = bmc.inventory()
    gpus = [part for part in inventory.components if part.kind is ComponentKind.GPU]
    assert len({part.serial for part in gpus}) == len(gpus) == (7 if fault == "gpu-missing" else 8)
    versions = {item.id: item.version for item in inventory.firmware}
    wanted = LIBRARY.firmware_set(SKU.firmware_set).entries
    assert {entry.id: versions.get(entry.id) for entry in wanted} == {entry.id: entry.target for entry in wanted}
    found = part_differences(SKU, inventory)
    assert bool(found) == bool(fault), found
    assert says in " ".join(found), found
