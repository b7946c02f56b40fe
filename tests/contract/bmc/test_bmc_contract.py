"""What every implementation of the Bmc port promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nodeworthy.errors import Permanent
from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.ports import Power
from nodeworthy.procedures.conform import part_differences

from tests.contract.bmc.conftest import LIBRARY, Offer, lab_directory, lab_node
from tests.contract.redfish.conftest import ServedLab

IMAGE = "http://images.lab/validation-2026.11.efi"


def test_a_healthy_node_conforms_to_its_sku(offer: Offer) -> None:
    """The inventory holds every part that the SKU names, by serial."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        inventory = bmc.inventory()
    assert inventory.serial == offer.node.serial
    assert part_differences(offer.sku, inventory) == []
    assert all(gpu.serial for gpu in inventory.of_kind(ComponentKind.GPU))


def test_a_memory_module_that_runs_slow_is_told(lab: ServedLab) -> None:
    """The rate of each module is read from the BMC, so one of 32 at another rate is one difference."""
    node, sku = lab_node(lab, lab.take()), LIBRARY.sku("h100-sxm-8")
    lab.do(lambda: lab.world.faults.inject(node.name, "dimm-slow"))
    with lab_directory().open(node, sku) as bmc:
        (difference,) = part_differences(sku, bmc.inventory())
    assert difference.startswith("DIMM DIMM_3 runs at 4400 MT/s where SKU h100-sxm-8 names 4800 MT/s")


def test_firmware_ids_are_those_of_the_set(offer: Offer) -> None:
    """Every entry of the firmware set is found by its id."""
    wanted = LIBRARY.firmware_set(offer.sku.firmware_set)
    with offer.directory.open(offer.node, offer.sku) as bmc:
        versions = {item.id: item.version for item in bmc.firmware()}
    assert {entry.id for entry in wanted.entries} <= set(versions)


def test_a_boot_order_can_be_read_back_and_repeated(offer: Offer) -> None:
    """Ordering the same image twice is one order."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        for _ in range(2):
            bmc.set_boot(IMAGE, effect_id="fx-boot")
        state = bmc.state()
    assert (state.boot_override_uri, state.boot_override_enabled) == (IMAGE, "Once")


def test_a_reset_moves_the_last_reset_time(offer: Offer) -> None:
    """That is how a reset is found again after a crash."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        before = bmc.state().last_reset
        bmc.reset("ForceRestart", effect_id="fx-reset")
        after = bmc.state().last_reset
    assert after is not None
    assert after != before


def test_a_boot_order_is_consumed_by_one_boot(offer: Offer) -> None:
    """After the boot nothing is ordered any more and the system runs."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        bmc.set_boot(IMAGE, effect_id="fx-boot")
        bmc.reset("PowerCycle", effect_id="fx-reset")
    offer.pass_time()
    with offer.directory.open(offer.node, offer.sku) as bmc:
        state = bmc.state()
    assert state.power is Power.ON
    assert state.boot_progress == "OSRunning"
    assert state.boot_override_enabled != "Once"


def test_a_reset_that_is_not_allowed_is_permanent_and_does_nothing(offer: Offer) -> None:
    """The BMC's list decides."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        before = bmc.state().last_reset
        with pytest.raises(Permanent):
            bmc.reset("NoSuchReset", effect_id="fx-reset")
        assert bmc.state().last_reset == before


def test_an_update_runs_as_a_task_and_counts_after_a_reset(offer: Offer) -> None:
    """Running, ended, still the old version; the new one after the reset."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        item = next(item for item in bmc.firmware() if item.id == "HostBIOS_0")
        known = {one.task for one in bmc.updates()}
        task = bmc.start_update(item, "http://firmware.lab/HostBIOS_0/9.9.bin", effect_id="fx-update")
        assert bmc.update_state(task).running
        assert len({one.task for one in bmc.updates()} - known) == 1
    offer.pass_time()
    with offer.directory.open(offer.node, offer.sku) as bmc:
        ended = bmc.update_state(task)
        assert (ended.running, ended.succeeded) == (False, True)
        bmc.reset("ForceRestart", effect_id="fx-reset")
    offer.pass_time()
    with offer.directory.open(offer.node, offer.sku) as bmc:
        assert next(item.version for item in bmc.firmware() if item.id == "HostBIOS_0") == "9.9"


def test_a_task_that_nobody_knows_is_not_running(offer: Offer) -> None:
    """A vanished task has ended, without a claim of its own."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        state = bmc.update_state(f"{offer.node.bmc.root}TaskService/Tasks/99999")
    assert not state.running


def test_a_second_session_can_follow(offer: Offer) -> None:
    """A closed session is closed: many in a row do not use up the BMC's."""
    for _ in range(12):
        with offer.directory.open(offer.node, replace(offer.sku)) as bmc:
            assert bmc.state().power is Power.ON
