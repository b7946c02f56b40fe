"""Inspect tells a node that is what was declared from one that is not, item by item."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.bmc_health import Detector, Leaks, Temperature
from nodeworthy.evidence.bmc_log import EventLog, LogEntry
from nodeworthy.evidence.inventory import Component, ComponentKind, Neighbour
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.ports import Power
from nodeworthy.procedures.conform import cabling_differences, part_differences
from nodeworthy.procedures.inspect import inspect

from tests.doubles.bench import Bench, bench, healthy_inventory, library, node_of
from tests.doubles.machine import START

SKU = library().sku("h100-sxm-8")


def without(kind: ComponentKind, number: int) -> list[Component]:
    """All healthy components but one of a kind."""
    components = list(healthy_inventory().components)
    components.remove(healthy_inventory().of_kind(kind)[number])
    return components


def test_a_node_as_declared_becomes_conformant_with_its_inventory_as_evidence() -> None:
    """One call passes discover, inventory and conform and stores what was read."""
    one = bench(cabling=[Neighbour("eth0", "leaf-01", "swp1")])
    done = one.run(inspect)
    assert [event for event, _ in one.ledger.moves] == ["discover", "inventory", "conform"]
    document = json.loads(one.store.content[done.facts["evidence"]])
    assert document["serial"] == "1571523000123"
    assert len(document["components"]) == 2 + 32 + 8 + 4 + 9 + 2 + 10 + 6
    assert one.ledger.inventories[0][1].path == done.facts["evidence"]
    assert one.said[-1] == done.summary


def test_another_serial_is_refused_with_both_serials() -> None:
    """The BMC at the declared address belongs to another chassis: nothing is recorded about this one."""
    one = bench(inventory=replace(healthy_inventory(), serial="9999"))
    with pytest.raises(Refused, match=r"serial 9999 where the manifest names 1571523000123 for gpu-a01"):
        one.run(inspect)
    assert one.ledger.moves == []


def test_a_gpu_of_another_model_is_named_with_its_slot() -> None:
    """The sentence names the slot, what is seen, what the SKU names, and what to do."""
    components = tuple(
        replace(part, model="H200", capacity_mib=143771) if part.slot == "gpu-5" else part
        for part in healthy_inventory().components
    )
    one = bench(inventory=replace(healthy_inventory(), components=components))
    with pytest.raises(Refused) as refused:
        one.run(inspect)
    assert refused.value.sentence == (
        "gpu-a01 is not what was declared: GPU gpu-5 is H200 with 143771 MiB where SKU h100-sxm-8 names H100 80GB "
        "HBM3: correct the manifest's SKU or return the part."
    )
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "inventoried"


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        (
            ComponentKind.GPU,
            "7 x GPU H100 80GB HBM3 present where SKU h100-sxm-8 names 8 (present: gpu-0, gpu-1, gpu-2",
        ),
        (ComponentKind.DIMM, "31 x DIMM M321R8GA0BB0-CQKZJ present where SKU h100-sxm-8 names 32: seat or replace"),
        (ComponentKind.DRIVE, "1 x drive SAMSUNG MZ1L21T9HCLS-00A07 present where SKU h100-sxm-8 names 2"),
        (ComponentKind.NIC, "7 x NIC ConnectX-7 400GbE present where SKU h100-sxm-8 names 8"),
    ],
)
def test_a_missing_part_is_one_difference(kind: ComponentKind, phrase: str) -> None:
    """One part less is one phrase with both counts; no other part is blamed."""
    differences = part_differences(SKU, replace(healthy_inventory(), components=tuple(without(kind, 0))))
    assert len(differences) == 1
    assert phrase in differences[0] or phrase.replace("gpu-0, ", "") in differences[0]


def test_a_part_too_much_is_a_difference() -> None:
    """Nine GPUs are not eight."""
    extra = Component(ComponentKind.GPU, "gpu-8", "H100 80GB HBM3", "S9", capacity_mib=81559)
    inventory = replace(healthy_inventory(), components=(*healthy_inventory().components, extra))
    assert "9 x GPU H100 80GB HBM3 present where SKU h100-sxm-8 names 8" in part_differences(SKU, inventory)[0]


@pytest.mark.parametrize(("capacity_mib", "fits"), [(81559, True), (80000, True), (79000, False), (None, False)])
def test_capacity_is_compared_with_its_tolerance(capacity_mib: int | None, fits: bool) -> None:
    """GPU memory may differ by 2 per cent (79,928 to 83,190 MiB); an unknown capacity does not conform."""
    components = tuple(
        replace(part, capacity_mib=capacity_mib) if part.slot == "gpu-0" else part
        for part in healthy_inventory().components
    )
    assert (part_differences(SKU, replace(healthy_inventory(), components=components)) == []) is fits


@pytest.mark.parametrize(("speed", "phrase"), [(4400, "runs at 4400 MT/s"), (None, "runs at an unknown speed")])
def test_a_memory_module_runs_at_the_rate_it_was_bought_for(speed: int | None, phrase: str) -> None:
    """One of 32 at DDR5-4400 slows its channel; a BMC that does not tell the rate leaves it unknown."""
    components = tuple(
        replace(part, speed_mts=speed) if part.slot == "dimm-3" else part for part in healthy_inventory().components
    )
    (difference,) = part_differences(SKU, replace(healthy_inventory(), components=components))
    assert difference.startswith(f"DIMM dimm-3 {phrase} where SKU h100-sxm-8 names 4800 MT/s: ")


def test_what_the_bmc_does_not_serve_is_unknown_and_not_zero() -> None:
    """A collection that is not served is reported as that, not as missing parts."""
    components = tuple(part for part in healthy_inventory().components if part.kind is not ComponentKind.DIMM)
    inventory = replace(healthy_inventory(), components=components, lacks=("Memory of DGX (announced, answered 404)",))
    (difference,) = part_differences(SKU, inventory)
    assert "no DIMM could be read" in difference
    assert "Memory of DGX" in difference


def test_swapped_cables_are_two_differences_with_both_ends() -> None:
    """Each cable is compared with the manifest by switch and port."""
    node = node_of([Neighbour("eth0", "leaf-02", "swp1"), Neighbour("eth1", "leaf-01", "swp1")])
    first, second = cabling_differences(node, healthy_inventory())
    assert first.startswith("eth0 is cabled to leaf-01 port swp1 where the manifest names leaf-02 port swp1")
    assert second.startswith("eth1 is cabled to leaf-02")


def test_an_interface_without_neighbour_is_a_difference() -> None:
    """A cable that is not plugged in is seen as silence."""
    (difference,) = cabling_differences(node_of([Neighbour("eth7", "leaf-08", "swp1")]), healthy_inventory())
    assert difference == "eth7 hears no neighbour where the manifest names leaf-08 port swp1: plug the cable in"


def test_many_differences_are_cut_in_the_sentence_and_whole_in_the_log() -> None:
    """The refusal stays readable; the log holds every difference."""
    one = bench(cabling=[Neighbour(f"eth{number}", "leaf-99", "swp1") for number in range(6)])
    with pytest.raises(Refused, match="and 2 more, see the log"):
        one.run(inspect)
    assert sum(line.startswith("Does not conform") for line in one.said) == 6


def test_a_swapped_part_voids_what_was_proven_about_the_hardware() -> None:
    """The same slot, another serial: the node is another piece of hardware, and the reason names both serials."""
    one = bench("discovered")
    one.ledger.record_inventory(one.lease, healthy_inventory(), one.store.put("before", b""))
    for scope in Scope:
        granted = Qualification(
            one.node.name, scope, "l1", 1, one.machine.now, one.machine.now, one.store.put("d", b""), "b", "f"
        )
        judgement = Judgement(one.node.name, scope, "l1", Verdict.PASS, (), "")
        one.ledger.record_judgement(one.lease, judgement, granted)
    parts = list(healthy_inventory().components)
    at = parts.index(healthy_inventory().of_kind(ComponentKind.GPU)[3])
    was = parts[at].serial
    parts[at] = replace(parts[at], serial="NEW")
    one.machine.inventory = replace(healthy_inventory(), components=tuple(parts))
    one.run(inspect)
    assert [each.scope for each in one.ledger.qualifications(one.node.name)] == [Scope.PLATFORM]
    assert any(f"gpu gpu-3 has serial NEW where {was} was" in line for line in one.said)


def test_a_part_that_calls_itself_critical_does_not_conform() -> None:
    """It is there, of the right model, and its own BMC says that it fails; a warning is no refusal."""
    inventory = healthy_inventory()
    supply = inventory.of_kind(ComponentKind.PSU)[2]
    others = [part for part in inventory.components if part != supply]
    for health, refused in (("Critical", True), ("Warning", False), ("OK", False)):
        seen = replace(inventory, components=(*others, replace(supply, health=health)))
        found = part_differences(SKU, seen)
        assert bool(found) == refused, found
    bad = part_differences(SKU, replace(inventory, components=(*others, replace(supply, health="Critical"))))
    assert bad == [f"power supply {supply.slot} calls itself critical: read the BMC's event log and replace the part"]


def logged(**entry: Any) -> EventLog:
    """A log with one entry."""
    body: dict[str, Any] = {
        "severity": "Critical",
        "message_id": "OpenBMC.0.1.0.CPUError",
        "message": "CPU Error: IERR.",
    }
    return EventLog((LogEntry("DGX/EventLog", "7", START, **(body | entry)),), {"DGX/EventLog": 1})


def test_an_unresolved_critical_entry_of_the_bmcs_log_refuses_like_a_part_that_calls_itself_critical() -> None:
    """The sentence names entry, time, message and what to do; the log as it was read is evidence."""
    one = bench()
    one.machine.log = logged()
    with pytest.raises(
        Refused, match=r"is not what was declared: the BMC's DGX/EventLog has entry 7 of 2026-11-30 12:00"
    ):
        one.run(inspect)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "inventoried"
    (stored,) = [json.loads(content) for path, content in one.store.content.items() if "inventory" in path]
    assert stored["event_log"]["entries"][0]["at"] == "2026-11-30T12:00:00+00:00"


def test_a_warning_in_the_bmcs_log_is_a_remark_in_the_log_of_the_step() -> None:
    """It decides nothing and is not lost."""
    one = bench()
    one.machine.log = logged(severity="Warning", message_id="OpenBMC.0.1.0.DriveError", message="Drive 3 slow.")
    one.run(inspect)
    assert any(line.startswith("Remark: the BMC's DGX/EventLog has entry 7") for line in one.said)


def test_a_bmc_without_a_log_is_a_gap_that_is_said_and_no_refusal() -> None:
    """Nobody can take it for a log that was read and empty."""
    one = bench()
    one.machine.log = EventLog(gaps=("DGX announces no log",))
    one.run(inspect)
    assert "Read the BMC's event log: none." in one.said
    assert "Not checked in the BMC's event log: DGX announces no log." in one.said


def supplies(one: Bench, *serials: str) -> str:
    """Record an inventory with these serials of the first supplies, and let an hour pass. Returns the first's slot."""
    parts = list(healthy_inventory().components)
    at = parts.index(healthy_inventory().of_kind(ComponentKind.PSU)[0])
    for number, serial in enumerate(serials, at):
        parts[number] = replace(parts[number], serial=serial)
    seen = replace(healthy_inventory(), components=tuple(parts))
    one.ledger.record_inventory(one.lease, seen, one.store.put(f"before {serials}", b""))
    one.machine.inventory = seen
    one.machine.now += timedelta(hours=1)
    return parts[at].slot


def test_an_entry_about_a_supply_that_was_exchanged_since_does_not_refuse() -> None:
    """The ledger saw another serial in the slot: the entry is about the part that left."""
    one = bench("discovered")
    slot = supplies(one, "OLD")
    supplies(one, "NEW")
    one.machine.log = logged(origin=slot)
    one.run(inspect)
    assert any(f"before {slot} was exchanged" in line for line in one.said), one.said


@pytest.mark.parametrize("now", [("P1", "P2"), ("P2", "P1")])
def test_a_supply_that_stayed_or_only_moved_is_no_exchange(now: tuple[str, str]) -> None:
    """Two supplies that swapped their slots are both still there, and so is the fault."""
    one = bench("discovered")
    slot = supplies(one, "P1", "P2")
    supplies(one, *now)
    one.machine.log = logged(origin=slot)
    with pytest.raises(Refused, match="CPU Error"):
        one.run(inspect)


WET = Leaks((Detector("manifold", "Moisture", "LeakDetected"),))


def test_a_leak_stops_before_anything_is_switched_and_holds_the_node() -> None:
    """The host has no power and is not switched on; both scopes are held until a person releases them."""
    one = bench()
    one.machine.power, one.machine.leaks = Power.OFF, WET
    with pytest.raises(Refused, match=r"gpu-a01 leaks: manifold \(Moisture\) says LeakDetected. Nothing was switched"):
        one.run(inspect)
    assert one.machine.sent == {}
    (hold,) = one.ledger.holds(one.node.name)
    assert (hold.who, hold.scope, hold.until) == ("nodeworthy (leak)", "both", None)
    with pytest.raises(Refused):
        one.run(inspect)
    assert len(one.ledger.holds(one.node.name)) == 1


def test_a_released_node_that_is_dry_goes_on_and_its_reading_is_evidence() -> None:
    """The person looked, the detector is dry again."""
    one = bench()
    one.machine.leaks = WET
    with pytest.raises(Refused):
        one.run(inspect)
    one.ledger.release_hold(one.node.name, who="ada")
    one.machine.leaks = Leaks((Detector("manifold", "Moisture", "OK"),))
    done = one.run(inspect)
    stored = json.loads(one.store.content[done.facts["evidence"]])
    assert stored["leaks"]["detectors"] == [{"name": "manifold", "kind": "Moisture", "state": "OK"}]
    assert len(stored["health"]["fans"]) == 12


def test_a_blind_detector_and_a_hot_sensor_do_not_conform() -> None:
    """Each is a phrase of the one refusal, behind which no part is blamed."""
    one = bench()
    one.machine.leaks = Leaks((Detector("manifold", "Moisture", "Unavailable"),))
    hot = Temperature("Inlet", 47.0, "Enabled", "OK", 45.0, 40.0)
    one.machine.health = replace(one.machine.health, temperatures=(hot,))
    with pytest.raises(Refused, match=r"incomplete, leak detector manifold .*; Inlet reads 47 C"):
        one.run(inspect)
    assert one.ledger.nodes([one.node.name])[0].milestone == "inventoried"
