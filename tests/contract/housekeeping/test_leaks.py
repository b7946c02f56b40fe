"""The look of housekeeping at leaks: a node that stands or serves is held, isolated, told about, and never switched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from nodeworthy.errors import Transient
from nodeworthy.evidence.bmc_health import Detector, Leaks
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.ports import Bmc
from nodeworthy.procedures.leaks import leaks
from nodeworthy.qualification.sku import Sku

from tests.contract.housekeeping.conftest import Keeper
from tests.contract.ledger.support import node
from tests.doubles.bench import healthy_inventory
from tests.doubles.machine import Machine, MachineBmc

EVERY = timedelta(minutes=5)
DRY = Leaks((Detector("a", "", "OK"), Detector("b", "", "OK")))
WET = Leaks((Detector("a", "Moisture", "LeakDetected"), Detector("b", "", "OK")))


class Detectors:
    """BMCs that say this of each node; one that is not named does not answer. Counts the sessions."""

    def __init__(self, said: Mapping[str, Leaks]) -> None:
        self.said = dict(said)
        self.opened: list[str] = []

    @contextmanager
    def open(self, node: FleetNode, sku: Sku) -> Iterator[Bmc]:
        """Open a session."""
        self.opened.append(node.name)
        if node.name not in self.said:
            raise Transient(f"The login on the BMC of {node.name} got no answer.")
        yield MachineBmc(Machine(healthy_inventory(), leaks=self.said[node.name]))


def fleet(keeper: Keeper, *names: str, sku: str = "h200-sxm-8", serving: bool = False) -> None:
    """Nodes that stand by, or serve."""
    keeper.bench.ledger.import_fleet([node(name, sku=sku) for name in names])
    for name in names:
        lease = keeper.bench.take(name)
        keeper.bench.bring(lease, "standby")
        if serving:
            keeper.bench.admit(lease)
        keeper.bench.ledger.release(lease, close=True)


def look(keeper: Keeper, said: Mapping[str, Leaks]) -> tuple[str, Detectors]:
    """One run over the whole fleet."""
    keeper.bmcs = Detectors(said)
    keeper.rules = replace(keeper.rules, leaks_round=EVERY)
    return leaks(keeper.house(), EVERY), keeper.bmcs


def test_a_leak_is_a_notice_and_a_hold_until_a_person_releases_it(keeper: Keeper) -> None:
    """Once, however often it is seen; the notice ends when the detector is dry, the hold by a person alone."""
    fleet(keeper, "gpu-1", "gpu-2")
    for _ in range(2):
        summary, _seen = look(keeper, {"gpu-1": WET, "gpu-2": DRY})
    assert summary == "Leak detectors of 2 of 2 liquid-cooled nodes looked at: 1 leak."
    (told,) = keeper.notices("leak")
    assert told.startswith("gpu-1 leaks: a (Moisture) says LeakDetected.")
    (hold,) = keeper.bench.ledger.holds("gpu-1")
    assert (hold.who, hold.scope) == ("nodeworthy (leak)", "both")
    assert keeper.bench.ledger.holds("gpu-2") == ()
    look(keeper, {"gpu-1": DRY, "gpu-2": DRY})
    assert keeper.notices("leak") == []
    assert len(keeper.bench.ledger.holds("gpu-1")) == 1


def test_a_node_in_service_becomes_suspect(keeper: Keeper) -> None:
    """No new work comes to it, and its reason names the leak."""
    fleet(keeper, "gpu-1", serving=True)
    look(keeper, {"gpu-1": WET})
    assert keeper.bench.milestone("gpu-1") == "suspect"


def test_a_detector_that_cannot_be_read_is_told(keeper: Keeper) -> None:
    """A silent BMC, and one that serves fewer than the SKU names; neither holds the node."""
    fleet(keeper, "gpu-1", "gpu-2")
    look(keeper, {"gpu-2": Leaks((Detector("a", "", "OK"),))})
    assert sorted(keeper.notices("leak")) == [
        "Nobody watches gpu-1 for leaks: they could not be read: The login on the BMC of gpu-1 got no answer.",
        "Nobody watches gpu-2 for leaks: incomplete, 1 leak detectors are served where the SKU names 2: plug the "
        "missing ones in, or update the BMC.",
    ]
    assert keeper.bench.ledger.holds("gpu-1") == keeper.bench.ledger.holds("gpu-2") == ()


def test_the_rules_may_leave_the_hold_to_a_person(keeper: Keeper) -> None:
    """The notice comes all the same."""
    fleet(keeper, "gpu-1")
    keeper.rules = replace(keeper.rules, leaks_hold=False)
    look(keeper, {"gpu-1": WET})
    assert keeper.bench.ledger.holds("gpu-1") == ()
    assert len(keeper.notices("leak")) == 1


def test_no_session_is_spent_on_a_sku_without_detectors_or_a_node_that_is_worked_on(keeper: Keeper) -> None:
    """Air-cooled nodes cost nothing, and a run that works on a node looks for itself."""
    fleet(keeper, "air-1", sku="h100-sxm-8")
    fleet(keeper, "gpu-1", "gpu-2")
    keeper.bench.ledger.open_episode("gpu-1", kind="sweep", run="burn_in/1", lifetime=timedelta(hours=1))
    summary, bmcs = look(keeper, {"gpu-2": DRY})
    assert bmcs.opened == ["gpu-2"]
    assert summary == "Leak detectors of 1 of 2 liquid-cooled nodes looked at: 0 leak."


def test_each_node_is_looked_at_once_in_a_round(keeper: Keeper) -> None:
    """A part of the fleet in each run; what other runs found stays."""
    names = [f"gpu-{number}" for number in range(1, 6)]
    fleet(keeper, *names)
    keeper.rules = replace(keeper.rules, leaks_round=3 * EVERY)
    keeper.bmcs = bmcs = Detectors({"gpu-1": WET} | dict.fromkeys(names[1:], DRY))
    for _ in range(3):
        leaks(keeper.house(), EVERY)
        keeper.pass_(minutes=5)
    assert sorted(bmcs.opened) == names
    assert len(keeper.notices("leak")) == 1
