"""Reach: an unreachable node is judged by two witnesses that know nothing of each other, its kubelet and its BMC.

Both answer: it is back, and suspect until it is cleared. The kubelet is silent and the BMC proves that the host has no
power: nothing can run there, so it is quarantined. Whatever else they say between them is for a person, with both
answers in one sentence: a silent kubelet on a host with power may still be at work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from nodeworthy.errors import NodeworthyError
from nodeworthy.lifecycle.upkeep import Standing
from nodeworthy.ports import ClusterNode, Power, SystemState, Work
from nodeworthy.procedures.drift import Drift, Remedy

RECOVER, QUARANTINE = "recover", "quarantine"
KIND = "unreachable"


def reach(
    work: Work, standings: Sequence[Standing], seen: Sequence[ClusterNode], moved: Collection[str]
) -> Iterator[Drift]:
    """Yield what is to be done about each unreachable node that nobody works on; `moved` names those that went on.

    Reads one BMC per such node. A boot that nobody ordered is an event of its own and comes before this.
    """
    lifecycle, by_name = work.library.lifecycle(), {node.name: node for node in seen}
    for one in standings:
        if one.held or one.name in moved or lifecycle.transition(one.milestone, RECOVER) is None:
            continue
        node = by_name.get(one.name)
        yield _judged(one, node is not None and node.ready, *_asked(work, one.name))


def _asked(work: Work, name: str) -> tuple[SystemState | None, str]:
    """Return what the BMC says of its host, or why it says nothing."""
    (record,) = work.ledger.nodes([name])
    try:
        with work.bmcs.open(record.node, work.library.sku(record.node.sku)) as bmc:
            return bmc.state(), ""
    except NodeworthyError as error:
        return None, error.sentence


def _judged(one: Standing, speaks: bool, state: SystemState | None, silence: str) -> Drift:
    """Weigh the two answers."""
    if state is None:
        kubelet = "its kubelet is Ready again" if speaks else "its kubelet is silent too"
        return _told(one, f"{one.name}: the BMC does not answer ({silence}) and {kubelet}: have somebody look at it.")
    power = f"its BMC shows power {state.power.value}, boot progress {state.boot_progress or 'unknown'}"
    if speaks and state.power is not Power.OFF:
        why = f"{one.name} is back: its kubelet is Ready under the boot that was proven, and {power}."
        return Drift(one.name, one.serial, "recovered", Remedy.EVENT, why, RECOVER)
    if speaks:
        return _told(one, f"{one.name}: its kubelet is Ready and {power}: one of the two is not this node's; compare.")
    if state.power is Power.OFF:
        why = f"{one.name} has no power: {power}, and its kubelet is silent."
        facts = {"power_off": state.power.value}
        return Drift(one.name, one.serial, "without-power", Remedy.EVENT, why, QUARANTINE, facts=facts, told=True)
    return _told(one, f"{one.name}: its kubelet is silent and {power}: look at its console; work may still run there.")


def _told(one: Standing, sentence: str) -> Drift:
    return Drift(one.name, one.serial, KIND, Remedy.TELL, sentence, told=True)
