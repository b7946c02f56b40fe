"""Reconcile: Kubernetes follows the ledger, and what others changed is put right where that is safe, and written down.

One LIST, one pass over the fleet, then a write per difference and none for what agrees. A run that has made its number
of writes stops and says how much is left: what isolates goes first, and the next run goes on from the world as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nodeworthy.errors import NodeworthyError, Permanent, Refused, Transient
from nodeworthy.lifecycle.upkeep import Due, Notice, Report, Standing
from nodeworthy.ports import ClusterNode
from nodeworthy.procedures.drift import ABSENT, SILENT, Drift, Reader, Remedy
from nodeworthy.procedures.projection import show
from nodeworthy.procedures.reach import reach
from nodeworthy.procedures.upkeep import House

NOTICE = "drift"
LEFT = {
    ABSENT: "Kubernetes shows {gone} of {known} known nodes no longer: nothing was done about them; check that the "
    "connection kubernetes_default leads to the right cluster.",
    SILENT: "{gone} of {known} known nodes are not Ready: nothing was done about them; check the network between the "
    "nodes and the API server.",
}
"""What is said when so many nodes left Kubernetes at once that the reading is the likelier fault."""


@dataclass
class Round:
    """One reconciliation on its way."""

    house: House
    standings: Mapping[str, Standing]
    present: frozenset[str]
    """Names of the Node objects that were seen."""
    writes: int = 0
    done: Counter[str] = field(default_factory=Counter)
    told: list[Notice] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    def spend(self) -> bool:
        """Take one write of this run's number; False when none is left."""
        if self.writes >= self.house.rules.writes_per_run:
            return False
        self.writes += 1
        return True


def reconcile(house: House) -> str:
    """Compare the cluster with the ledger and act on each difference; return one line. Re-entrant.

    Raises Transient when a write got no answer, after all others were tried.
    """
    seen = house.work.cluster.nodes()
    standings = house.upkeep.standings()
    silent_before = house.work.clock.now() - house.rules.silent_after
    found = Reader(house.work.library.lifecycle(), silent_before).differences(standings, seen)
    this = Round(house, {one.name: one for one in standings}, frozenset(node.name for node in seen))
    _learn(this, found)
    for drift in _believable(this, found):
        if drift.told or drift.remedy is not Remedy.BIND:
            _act(this, drift)
    for drift in reach(house.work, standings, seen, {one.node for one in found if one.remedy is Remedy.EVENT}):
        _act(this, drift)
    _note_delivered(this, found, {node.name for node in seen})
    _tell_milestones(this, seen)
    house.upkeep.raise_notices(this.told)
    house.upkeep.clear_notices(NOTICE, {one.key for one in this.told}, "no longer seen")
    return _summary(this, len(seen))


def _learn(this: Round, found: Sequence[Drift]) -> None:
    """Keep, in one write, what was not known yet of systems that were proven."""
    silent = {one.serial: one.identity for one in found if one.remedy is Remedy.BIND and not one.told and one.identity}
    if silent:
        this.house.upkeep.bind(silent, "first seen")


def _believable(this: Round, found: Sequence[Drift]) -> Sequence[Drift]:
    """Leave out nodes that are gone when so many are gone at once that the reading is the likelier fault."""
    known = sum(one.identity is not None for one in this.standings.values())
    rules = this.house.rules
    for kind, words in LEFT.items():
        gone = sum(drift.kind == kind for drift in found)
        if gone < rules.absent_limit_nodes or 100 * gone <= rules.absent_limit_percent * known:
            continue
        sentence = words.format(gone=gone, known=known)
        this.house.work.say(sentence)
        this.told.append(Notice(NOTICE, f"fleet:{kind}", sentence))
        found = [drift for drift in found if drift.kind != kind]
    return found


def _act(this: Round, drift: Drift) -> None:
    """Do what the difference asks for. A refusal is an answer: somebody was faster, or a person is needed."""
    if drift.remedy is not Remedy.TELL and not this.spend():
        this.unfinished.append(f"{drift.node} ({drift.kind})")
        return
    sentence = drift.sentence
    try:
        ACTIONS[drift.remedy](this, drift)
        this.done[drift.kind] += 1
    except (Refused, Permanent) as error:
        sentence = f"{sentence} {error.sentence}"
    except Transient as error:
        this.unfinished.append(f"{drift.node} ({error.sentence})")
    if drift.told:
        this.house.work.say(sentence)
        this.told.append(Notice(NOTICE, f"{drift.serial}:{drift.kind}", sentence, drift.node))


def _write(this: Round, drift: Drift) -> None:
    one, shows = this.standings[drift.node], drift.shows
    assert shows is not None
    due = Due(one.milestone, one.episode, one.revision)
    this.house.work.cluster.follow(drift.target or drift.node, shows, due)
    if drift.remedy is Remedy.DELIVER:
        this.house.work.ledger.delivered({drift.node: one.revision})


def _event(this: Round, drift: Drift) -> None:
    one = this.standings[drift.node]
    report = Report(
        node=drift.node,
        event=drift.event,
        since=one.since,
        run=this.house.run,
        facts={"reason": drift.sentence, **drift.facts},
        overtakes=True,
    )
    moved = this.house.upkeep.signal(report)
    if moved.changed:
        this.house.work.say(f"{drift.node} went from {moved.from_} to {moved.to}.")
    if drift.node in this.present:
        show(drift.node, this.house.work)
        this.house.work.cluster.tell_milestone(drift.node, moved.to, drift.sentence)


def _bind(this: Round, drift: Drift) -> None:
    assert drift.identity is not None
    this.house.upkeep.bind({drift.serial: drift.identity}, drift.sentence)
    if drift.told:
        show(drift.node, this.house.work)


def _tell(_this: Round, _drift: Drift) -> None:
    """Nothing to write: the notice is all."""


ACTIONS: Mapping[Remedy, Callable[[Round, Drift], None]] = {
    Remedy.EVENT: _event,
    Remedy.RESTORE: _write,
    Remedy.DELIVER: _write,
    Remedy.BIND: _bind,
    Remedy.TELL: _tell,
}


def _note_delivered(this: Round, found: Sequence[Drift], present: set[str]) -> None:
    """Write down what Kubernetes shows already, and what it cannot show because there is no Node to show it on."""
    differing = {drift.node for drift in found if drift.remedy is not Remedy.TELL}
    pending = [one for one in this.standings.values() if one.pending and one.name not in differing]
    shown = {one.name: one.revision for one in pending if one.name in present}
    absent = {one.name: one.revision for one in pending if one.name not in present}
    this.house.work.ledger.delivered(shown)
    this.house.work.ledger.delivered(absent, "no Node object")


def _tell_milestones(this: Round, seen: Sequence[ClusterNode]) -> None:
    """Set the condition of nodes that nobody works on, as far as this run's writes go; it decides nothing."""
    for node in seen:
        one = this.standings.get(node.name)
        if one is None or one.held or node.milestone == one.milestone or not this.spend():
            continue
        try:
            message = f"since {one.since:%Y-%m-%d %H:%M} UTC, episode {one.episode}"
            this.house.work.cluster.tell_milestone(node.name, one.milestone, message)
            this.done["condition"] += 1
        except NodeworthyError as error:
            this.house.work.say(f"{node.name}: its condition was not written: {error.sentence}")


def _summary(this: Round, seen: int) -> str:
    acts = ", ".join(f"{number} {kind}" for kind, number in sorted(this.done.items())) or "no difference"
    summary = f"Compared {len(this.standings)} nodes of the ledger with {seen} of Kubernetes: {acts}."
    if not this.unfinished:
        return summary
    raise Transient(
        f"{summary} Left for the next run: {len(this.unfinished)}, the first is {this.unfinished[0]}; raise "
        "writes_per_run if this repeats."
    )
