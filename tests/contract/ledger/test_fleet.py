"""What exists: nodes by serial from the manifest, components by serial with their places."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import Component, ComponentKind, Inventory, Neighbour
from nodeworthy.lifecycle.fleet import BmcAddress
from nodeworthy.ports import Ledger
from sqlalchemy import event

from tests.contract.ledger.support import START, Bench, node, reference


def inventory(*parts: Component) -> Inventory:
    """Return an inventory of these parts."""
    return Inventory("S1", "Maker", "Model", "System_0", parts, ())


def gpu(serial: str, slot: str = "GPU_SXM_1", firmware: str = "96.00.61") -> Component:
    """Return a GPU."""
    return Component(ComponentKind.GPU, slot, "H100", serial, firmware, 81559, "OK")


def test_sql_ledger_is_a_ledger(bench: Bench) -> None:
    """The adapter fits the port; mypy proves the signatures, this line makes it look."""
    ledger: Ledger = bench.ledger
    assert ledger.nodes() == ()


def test_import_declares_each_node_once(bench: Bench) -> None:
    """The first import declares, the second changes nothing."""
    fleet = [node("n2"), node("n1")]
    assert bench.ledger.import_fleet(fleet) == (
        "n1 (serial N1) was declared.",
        "n2 (serial N2) was declared.",
    )
    assert bench.ledger.import_fleet(fleet) == ()
    assert [record.milestone for record in bench.ledger.nodes()] == ["declared", "declared"]


def test_import_keeps_every_field(bench: Bench) -> None:
    """What the manifest says comes back as it was."""
    cabling = (Neighbour("eth0", "leaf-1", "swp7"),)
    bmc = BmcAddress("https://10.0.0.1:8443", "/redfish/v1/", "ca.pem")
    whole = node("n1", batch="b7", tenant="t", fabric_domain="f", position=12, cabling=cabling, bmc=bmc)
    bench.ledger.import_fleet([whole])
    record = bench.ledger.nodes(["n1"])[0]
    assert record.node == whole
    assert record.since == START
    assert (record.episode, record.reason, record.run) == (None, "", "")


def test_changed_rows_are_told_one_by_one(bench: Bench) -> None:
    """A node that moved rack and was renamed stays the same node, because its serial did."""
    bench.ledger.import_fleet([node("old", "S1", rack="r1")])
    changes = bench.ledger.import_fleet([node("new", "S1", rack="r9", bmc=BmcAddress("https://bmc-old.example"))])
    assert set(changes) == {
        "new (serial S1): name changed from old to new.",
        "new (serial S1): rack changed from r1 to r9.",
    }
    assert [record.node.name for record in bench.ledger.nodes()] == ["new"]


def test_a_swapped_chassis_needs_reidentify(bench: Bench) -> None:
    """A known name with another serial is refused, and nothing of that manifest is imported."""
    bench.ledger.import_fleet([node("n1", "S1")])
    with pytest.raises(Refused, match=r"knows it as S1.*reidentify"):
        bench.ledger.import_fleet([node("n1", "S2"), node("n0", "S0")])
    assert [record.node.serial for record in bench.ledger.nodes()] == ["S1"]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (node("n1", "S2"), "name n1"),
        (node("n2", "N1"), "serial N1"),
        (replace(node("n2"), bmc=node("n1").bmc), "BMC address https://bmc-n1.example"),
    ],
    ids=["name", "serial", "bmc"],
)
def test_duplicates_are_refused(bench: Bench, other: object, what: str) -> None:
    """Two rows may not claim the same name, serial or BMC."""
    with pytest.raises(Refused, match=what):
        bench.ledger.import_fleet([node("n1"), other])  # type: ignore[list-item]


def test_nodes_are_found_by_name_batch_and_rack(bench: Bench) -> None:
    """Unknown names are absent, the answer is in order of names, and conditions add up."""
    fleet = [node("c", rack="r2", batch="b1"), node("a", batch="b1"), node("b", batch="b2")]
    bench.ledger.import_fleet(fleet)
    names = [record.node.name for record in bench.ledger.nodes(["c", "a", "nobody"])]
    assert names == ["a", "c"]
    assert [record.node.name for record in bench.ledger.nodes(batch="b1")] == ["a", "c"]
    assert [record.node.name for record in bench.ledger.nodes(rack="r2", batch="b1")] == ["c"]


def test_two_thousand_names_are_one_question(bench: Bench) -> None:
    """More names than one statement of SQLite may carry are found all the same."""
    bench.ledger.import_fleet([node("n1")])
    assert len(bench.ledger.nodes([f"x{number}" for number in range(2000)] + ["n1"])) == 1


def test_inventory_places_components_by_serial(bench: Bench) -> None:
    """Each part is placed once, however often it is read."""
    lease = bench.take()
    seen = inventory(gpu("G1"), gpu("G2", "GPU_SXM_2"))
    for _ in range(2):
        bench.ledger.record_inventory(lease, seen, reference("inventory"))
    assert [(place.component.serial, place.until) for place in bench.ledger.components("n1")] == [
        ("G1", None),
        ("G2", None),
    ]


def test_swapped_component_keeps_its_history(bench: Bench) -> None:
    """A GPU that moves to another node ends its time in the first one, and its history tells both."""
    first, second = bench.take("n1"), bench.take("n2", run="run-2")
    bench.ledger.record_inventory(first, inventory(gpu("G1")), reference("i1"))
    bench.clock.pass_(timedelta(minutes=10))
    bench.ledger.record_inventory(second, inventory(gpu("G1", "GPU_SXM_5")), reference("i2"))
    places = [(p.node, p.component.slot, p.since, p.until) for p in bench.ledger.component_history("G1")]
    moved = START + timedelta(minutes=10)
    assert places == [("n1", "GPU_SXM_1", START, moved), ("n2", "GPU_SXM_5", moved, None)]


def test_removed_component_is_ended_not_deleted(bench: Bench) -> None:
    """A part that is gone keeps its place with an end."""
    lease = bench.take()
    bench.ledger.record_inventory(lease, inventory(gpu("G1"), gpu("G2", "GPU_SXM_2")), reference("i1"))
    bench.ledger.record_inventory(lease, inventory(gpu("G2", "GPU_SXM_2")), reference("i2"))
    assert {p.component.serial: p.until for p in bench.ledger.components("n1")} == {"G1": START, "G2": None}


def test_new_firmware_of_a_component_is_a_new_row(bench: Bench) -> None:
    """The history tells which firmware a part ran until when."""
    lease = bench.take()
    for firmware in ("1.0", "2.0"):
        bench.ledger.record_inventory(lease, inventory(gpu("G1", firmware=firmware)), reference(firmware))
    history = [(p.component.firmware, p.until) for p in bench.ledger.component_history("G1")]
    assert history == [("1.0", START), ("2.0", None)]


def test_parts_without_serial_are_known_by_their_place(bench: Bench) -> None:
    """Two DIMMs that tell no serial are two parts."""
    lease = bench.take()
    parts = [Component(ComponentKind.DIMM, slot, "M", "") for slot in ("A1", "A2")]
    bench.ledger.record_inventory(lease, inventory(*parts), reference("i"))
    assert len(bench.ledger.components("n1")) == 2


def test_many_parts_are_placed_in_as_few_statements_as_two(bench: Bench) -> None:
    """Sixty parts cost the ledger no more statements than two, and each has its place."""
    lease = bench.take()
    said: list[str] = []
    event.listen(bench.ledger.engine, "before_cursor_execute", lambda _c, _cursor, text, *_: said.append(text))
    counts = []
    for number in (2, 60):
        said.clear()
        parts = [gpu(f"{number}-{slot}", f"slot-{slot}") for slot in range(number)]
        bench.ledger.record_inventory(lease, inventory(*parts), reference(f"i{number}"))
        counts.append(len(said))
    here = [p for p in bench.ledger.components("n1") if p.until is None]
    assert (len(here), counts[1] - counts[0]) == (60, 1), "one more: those of before are ended"
