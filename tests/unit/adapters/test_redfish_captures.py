"""Real Redfish trees give inventories whose counts match what is known of them, or say what the tree lacks."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.bmc_redfish_inventory import read_inventory
from nodeworthy.adapters.bmc_redfish_tree import Tree, identity
from nodeworthy.evidence.inventory import ComponentKind, Inventory

SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES", Path(__file__).parents[3].parent / "shared" / "samples"))
TREES = SAMPLES / "redfish"

pytestmark = pytest.mark.skipif(not TREES.is_dir(), reason="captures are not on this machine (NODEWORTHY_SAMPLES)")


def capture(name: str, system: str, baseboard: str | None = None) -> Inventory:
    """Read a captured tree as the adapter would read it from the BMC."""
    resources: dict[str, Any] = json.loads((TREES / name).read_text())
    resources = {path.rstrip("/"): body for path, body in resources.items()}
    tree = Tree(lambda path: resources.get(path.rstrip("/")), expand=False)
    root = tree.get("/redfish/v1")
    assert root is not None
    systems = {identity(one).rsplit("/", 1)[-1]: one for one in tree.members(root, "Systems")}
    return read_inventory(tree, root, systems[system], systems[baseboard] if baseboard else None)


def counts(inventory: Inventory) -> Counter[ComponentKind]:
    """Count the parts by kind."""
    return Counter(component.kind for component in inventory.components)


def test_gb300_tree_counts_two_cpus_and_four_gpus_of_the_baseboard() -> None:
    """The host's processor collection was not captured: GPUs and CPUs come from the baseboard, and that is said."""
    inventory = capture("supermicro_gb300_nvl_tree.json", "System_0", "HGX_Baseboard_0")
    found = counts(inventory)
    assert (found[ComponentKind.CPU], found[ComponentKind.GPU]) == (2, 4)
    assert {gpu.model for gpu in inventory.of_kind(ComponentKind.GPU)} == {"NVIDIA GB300"}
    assert {gpu.firmware for gpu in inventory.of_kind(ComponentKind.GPU)} == {"97.10.3E.00.05"}
    assert len(inventory.firmware) == 29
    assert any("Processors of System_0" in lack for lack in inventory.lacks)


def test_two_gpus_with_one_board_serial_stay_two() -> None:
    """GB300 serials belong to the board: GPU_0 and GPU_1 share one and are still two parts."""
    inventory = capture("supermicro_gb300_nvl_tree.json", "System_0", "HGX_Baseboard_0")
    serials = Counter(gpu.serial for gpu in inventory.of_kind(ComponentKind.GPU))
    assert sorted(serials.values()) == [2, 2]


def test_gpus_that_two_systems_show_count_once() -> None:
    """The exporter's tree serves the baseboard's GPUs below the host too: four by identity, not eight by path."""
    inventory = capture("gb300_exporter_tree.json", "System_0", "HGX_Baseboard_0")
    found = counts(inventory)
    assert found[ComponentKind.GPU] == 4
    assert any("CPU_1" in lack for lack in inventory.lacks)


def test_rack_server_without_gpus_skips_empty_slots() -> None:
    """The DMTF rack server has one of two CPUs and three of four DIMMs; absent slots are no parts."""
    inventory = capture("dmtf_rackmount1_tree.json", "437XR1138R2")
    found = counts(inventory)
    assert (found[ComponentKind.CPU], found[ComponentKind.DIMM], found[ComponentKind.GPU]) == (1, 3, 0)
    assert inventory.model == "3500"
    assert {item.id for item in inventory.firmware} == {"BIOS", "BMC", "SS"}
    assert any("Storage" in lack for lack in inventory.lacks)
