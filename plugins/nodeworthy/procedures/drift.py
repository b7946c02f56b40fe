"""Drift: where Kubernetes and the ledger differ, and what is safe to do about it. Pure; one pass over the fleet.

To add isolation is always safe. To take it off is safe only to deliver a move that the ledger made; a taint of ours
that somebody put on a node in service stays, and a person is told. What another actor wrote is kept. A system that we
did not boot is an event of the lifecycle, not a thing to write over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from nodeworthy.lifecycle.rows import STAY, Milestone, Projection, Taint
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.lifecycle.upkeep import Identity, Standing
from nodeworthy.ports import ClusterNode

OURS = "nodeworthy.dev/"
CORDONED = "nodeworthy.dev/cordoned"
LOSE = "lose"
ABSENT, SILENT = "node-gone", "kubelet-silent"
"""Kinds of drift in which a node left Kubernetes: its object is gone, or its kubelet says nothing."""
KUBERNETES_OWN = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of taints that Kubernetes itself puts on and takes off."""


class Remedy(StrEnum):
    """What is done about a difference."""

    DELIVER = "deliver"
    """Show the milestone: a move was not told yet, or the Node object is a new one."""
    RESTORE = "restore"
    """Put isolation back; nothing of ours is taken off."""
    EVENT = "event"
    """The node moves by its table."""
    BIND = "bind"
    """Know the node by what is seen now."""
    TELL = "tell"
    """A person is told; nothing is written."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference of one node. `shows` is what the Node object shall carry, where it is written."""

    node: str
    serial: str
    kind: str
    remedy: Remedy
    sentence: str
    event: str = ""
    shows: Projection | None = None
    target: str = ""
    """Name of the Node object where it is not the node's own."""
    identity: Identity | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """Proof that the event needs besides its reason."""
    told: bool = False
    """Whether it is written down as a notice: not for what is in order by itself."""


class Reader:
    """Compares one reading of the cluster with the ledger; a kubelet not Ready since `silent_before` is silent."""

    def __init__(self, lifecycle: Lifecycle, silent_before: datetime | None = None) -> None:
        self._silent_before = silent_before
        self._milestones: Mapping[str, Milestone] = {row.name: row for row in lifecycle.milestones}
        self._shown = {row.name: lifecycle.projection(row.name) for row in lifecycle.milestones}
        self._lifecycle = lifecycle

    def differences(self, standings: Sequence[Standing], seen: Iterable[ClusterNode]) -> tuple[Drift, ...]:
        """Return every difference, those that isolate first."""
        by_name = {node.name: node for node in seen}
        own = {one.name for one in standings}
        found: list[Drift] = []
        strangers = _by_system(node for node in by_name.values() if node.name not in own)
        for one in standings:
            node = by_name.get(one.name)
            found.extend(self._absent(one, strangers) if node is None else self._present(one, node))
        order = (Remedy.EVENT, Remedy.RESTORE, Remedy.DELIVER, Remedy.BIND, Remedy.TELL)
        return tuple(sorted(found, key=lambda drift: order.index(drift.remedy)))

    def _present(self, one: Standing, node: ClusterNode) -> Iterator[Drift]:
        milestone = self._milestones[one.milestone]
        stranger = _another_system(one, node)
        ours = node.boot_id in one.ordered_boots or ((one.held or one.booting) and not milestone.schedulable)
        if stranger and milestone.if_interrupted != STAY and not ours:
            event = milestone.if_interrupted
            yield Drift(one.name, one.serial, "another-boot", Remedy.EVENT, stranger, event, told=True)
            return
        if self._is_lost(one, node):
            why = f"The kubelet of {one.name} is not Ready since {node.ready_since:%Y-%m-%d %H:%M} UTC."
            yield Drift(one.name, one.serial, SILENT, Remedy.EVENT, why, LOSE, told=True)
            return
        if not stranger:
            yield from _bind(one, node)
        yield from self._unlike(one, node, milestone)
        yield from _foreign(one, node, milestone)

    def _is_lost(self, one: Standing, node: ClusterNode) -> bool:
        """Tell whether a proven system, which nobody of ours works on or boots, fell silent long ago."""
        if node.ready or node.ready_since is None or self._silent_before is None or one.held or one.booting:
            return False
        lost = node.ready_since <= self._silent_before and one.identity is not None
        return lost and self._lifecycle.transition(one.milestone, LOSE) is not None

    def _unlike(self, one: Standing, node: ClusterNode, milestone: Milestone) -> Iterator[Drift]:
        """Compare taints, labels and cordon with the milestone's."""
        wanted = self._shown[one.milestone]
        ours = {taint for taint in node.taints if taint.key.startswith(OURS)}
        missing = [taint for taint in wanted.taints if taint not in ours]
        extra = sorted(taint.key for taint in ours - set(wanted.taints))
        labels = sorted(key for key, value in wanted.labels.items() if node.labels.get(key) != value)
        uncordoned = wanted.cordon and node.schedulable
        owned = not wanted.cordon and CORDONED in node.annotations
        if not (missing or extra or labels or uncordoned or owned):
            return
        new_object = one.identity is not None and one.identity.uid not in ("", node.uid)
        if one.pending or (new_object and not _another_system(one, node)):
            why = f"{one.name} is {one.milestone} since move {one.revision} and its Node does not show it yet."
            yield Drift(one.name, one.serial, "undelivered", Remedy.DELIVER, why, shows=wanted)
            return
        if missing or uncordoned or (labels and not milestone.schedulable):
            kept = tuple(taint for taint in ours if taint not in wanted.taints)
            shows = Projection((*wanted.taints, *kept), wanted.labels, wanted.cordon)
            what = _listed([*(f"taint {t.key}" for t in missing), *(["the cordon"] if uncordoned else []), *labels])
            why = f"{one.name} is {one.milestone} and somebody changed {what} on its Node: put right."
            yield Drift(one.name, one.serial, "isolation-undone", Remedy.RESTORE, why, shows=shows, told=True)
        elif extra:
            why = (
                f"{one.name} is {one.milestone} and its Node carries {_listed(extra)}, which no move of ours put "
                "there: it stays; take it off by hand, or report the node as suspect if that is what was meant."
            )
            yield Drift(one.name, one.serial, "isolated-by-hand", Remedy.TELL, why, told=True)
        else:
            why = f"{one.name} is {one.milestone} and its Node lacks {_listed(labels) or 'nothing else'}: put right."
            yield Drift(one.name, one.serial, "label-removed", Remedy.DELIVER, why, shows=wanted, told=bool(labels))

    def _absent(self, one: Standing, strangers: Mapping[str, ClusterNode]) -> Iterator[Drift]:
        identity = one.identity
        if identity is None or one.booting or one.held:
            return
        milestone = self._milestones[one.milestone]
        other = _found(identity, strangers)
        if other is not None:
            yield from self._renamed(one, other, milestone)
        elif self._lifecycle.transition(one.milestone, LOSE) is not None and milestone.if_interrupted != STAY:
            why = f"Kubernetes has no Node {one.name} any more and nobody of ours took it away."
            yield Drift(one.name, one.serial, ABSENT, Remedy.EVENT, why, LOSE, told=True)
        elif milestone.if_interrupted != STAY:
            why = (
                f"{one.name} is {one.milestone} and Kubernetes has no Node of that name: start its kubelet, or run it "
                "again."
            )
            yield Drift(one.name, one.serial, ABSENT, Remedy.TELL, why, told=True)

    def _renamed(self, one: Standing, other: ClusterNode, milestone: Milestone) -> Iterator[Drift]:
        """The same running system under another name: isolated where it has to be, known again once declared."""
        why = (
            f"{one.name} (serial {one.serial}) runs in Kubernetes as {other.name}, known by its boot: write that name "
            f"into the fleet manifest, or give the node its name back."
        )
        wanted = self._shown[one.milestone]
        missing = [taint for taint in wanted.taints if taint not in other.taints]
        isolates = bool(missing) and not milestone.schedulable
        remedy, shows = (Remedy.RESTORE, wanted) if isolates else (Remedy.TELL, None)
        yield Drift(one.name, one.serial, "renamed", remedy, why, shows=shows, target=other.name, told=True)


def _another_system(one: Standing, node: ClusterNode) -> str:
    """Return why the running system is not the one that was proven; empty when it is, or when nothing was."""
    known = one.identity
    if known is None or not node.boot_id:
        return ""
    if known.boot_id and node.boot_id != known.boot_id:
        return (
            f"{one.name} runs under boot id {node.boot_id} where {known.boot_id} was proven: it booted and nobody of "
            "ours ordered that."
        )
    if known.machine_id and node.machine_id and node.machine_id != known.machine_id:
        return f"{one.name} runs with machine id {node.machine_id} where {known.machine_id} was proven."
    if known.system_uuid and node.system_uuid and node.system_uuid != known.system_uuid:
        return (
            f"{one.name} runs on a machine with UUID {node.system_uuid} where {known.system_uuid} was known: another "
            "chassis has its name."
        )
    return ""


def _bind(one: Standing, node: ClusterNode) -> Iterator[Drift]:
    """Learn what was not known of the system, and a Node object that was made anew for the same boot."""
    known = one.identity
    if known is None or not node.boot_id or one.booting:
        return
    seen = Identity(node.boot_id, node.machine_id, node.uid, node.system_uuid)
    if known == seen:
        return
    recreated = known.uid not in ("", node.uid)
    why = (
        f"The Node object of {one.name} was deleted and made anew (uid {node.uid}, was {known.uid}); boot and machine "
        "are the same, so what was proven stands."
    )
    yield Drift(one.name, one.serial, "node-recreated", Remedy.BIND, why, identity=seen, told=recreated)


def _foreign(one: Standing, node: ClusterNode, milestone: Milestone) -> Iterator[Drift]:
    """Name what another actor keeps workloads off a node in service with. It is theirs to take off."""
    if not milestone.schedulable:
        return
    keys = [taint.key for taint in node.taints if not taint.key.startswith((OURS, *KUBERNETES_OWN)) and _bars(taint)]
    if not node.schedulable and CORDONED not in node.annotations:
        keys.append("a cordon")
    if keys:
        why = f"{one.name} is in service and somebody else's {_listed(sorted(keys))} keeps work off it: kept as it is."
        yield Drift(one.name, one.serial, "kept-off-by-others", Remedy.TELL, why, told=True)


def _bars(taint: Taint) -> bool:
    return taint.effect in ("NoSchedule", "NoExecute")


def _by_system(nodes: Iterable[ClusterNode]) -> Mapping[str, ClusterNode]:
    """Return nodes by everything that names their running system or their machine."""
    found: dict[str, ClusterNode] = {}
    for node in nodes:
        for name in (node.boot_id, node.system_uuid):
            if name:
                found[name] = node
    return found


def _found(identity: Identity, strangers: Mapping[str, ClusterNode]) -> ClusterNode | None:
    return next((strangers[name] for name in (identity.boot_id, identity.system_uuid) if name in strangers), None)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
