"""Test plan: what the probe runs on this node, and under which nonce its result will be accepted.

The plan that was handed out is kept in the episode's record: a task that runs again hands out the same plan (its pod
may still be running), and a result is compared with exactly what was asked. Once a result was taken in, the next plan
has a fresh nonce.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from nodeworthy.errors import Refused, Transient
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.path import Stage, onboarding_stages
from nodeworthy.lifecycle.records import Effect, Lease, NodeRecord
from nodeworthy.ports import ClusterNode, Work
from nodeworthy.procedures.effect import INTENDED, PROVEN, Case
from nodeworthy.procedures.progress import begin, record_of
from nodeworthy.procedures.reset import RESET
from nodeworthy.procedures.segments import PLAN, home, number_of, soaked, stands_to_be_tested
from nodeworthy.qualification.near_miss import told_limits
from nodeworthy.qualification.own_checks import said_off, switched_off
from nodeworthy.qualification.plans import plan_document, with_old_xids

BOOT_STEPS = {Scope.HARDWARE: "boot_validation", Scope.PLATFORM: "provision"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be tested. `soak` tests a node that is past this scope's stage again, where it stands."""

    scope: Scope
    suite: str
    soak: bool = False


def proven(lease: Lease, record: NodeRecord, work: Work, wanted: Wanted) -> str | None:
    """Return a sentence when no test needs to run: the scope is qualified, or a result waits for its judgement."""
    node, scope = record.node, wanted.scope
    stage = _stage(work, scope)
    if not wanted.soak and work.library.lifecycle().has_reached(record.milestone, stage.ends):
        return f"{node.name} is {record.milestone}: the {scope} scope was proven before and is not tested again."
    if wanted.soak and soaked(record, wanted.suite, work):
        return f"{node.name} passed suite {wanted.suite} in this episode and is not tested again."
    newest = Case(lease, node, work, work.library.sku(node.sku)).newest(PLAN, scope.value)
    if newest is None or newest.status != PROVEN:
        return None
    if number_of(newest.detail["plan"]) < work.library.suite(newest.detail["plan"]["suite"]).segments:
        return None
    nonce = newest.detail["plan"]["nonce"]
    waiting = [one for one in work.ledger.results(run=lease.run, scope=scope) if one.node == node.name]
    seen = work.cluster.node(node.name)
    for result in waiting:
        if result.document.get("nonce") == nonce and seen is not None and seen.boot_id == newest.detail["boot_id"]:
            return (
                f"{node.name} has a result of suite {result.suite} that waits for its judgement ({result.bundle.path})."
            )
    return None


def unfinished(lease: Lease, node: FleetNode, work: Work, wanted: Wanted) -> bool:
    """Tell whether segments of the suite are still to run after those that are in the ledger."""
    done = home(Case(lease, node, work, work.library.sku(node.sku)).effects(), wanted.scope, wanted.suite)
    return 0 < len(done) < work.library.suite(wanted.suite).segments


def test_plan(lease: Lease, node: FleetNode, work: Work, wanted: Wanted) -> dict[str, Any]:
    """Return the `nodeworthy.plan/1` for a node. Refused when the node does not stand where this scope is tested.

    Of a suite of several segments it is the plan of the first that is not in the ledger.
    """
    _stands_right(node, work, wanted)
    scope, suite = wanted.scope, wanted.suite
    case = Case(lease, node, work, work.library.sku(node.sku))
    seen = _ready_node(case, scope)
    newest = case.newest(PLAN, scope.value)
    if newest is not None and _still_good(newest, seen, suite):
        return _in_order(newest.detail["plan"])
    segment = _segment(case, wanted, seen)
    if newest is None:
        nonce, number = work.ledger.nonce(lease, scope.value), 1
    else:
        nonce, number = work.ledger.renew_nonce(lease, scope.value), int(newest.key.rsplit("/", 1)[1]) + 1
    asked = work.library.suite(suite).on(case.sku.vendor)
    off = switched_off(work.library.policy(node.pool), asked, work.clock.now(), case.sku)
    plan = plan_document(
        with_old_xids(asked, work.library.old_xids(node.pool)),
        case.sku,
        scope,
        off,
        segment,
        told_limits(asked, case.sku, scope, work.library.baselines(case.sku.name)),
        node=node.name,
        serial=node.serial,
        episode=lease.episode,
        nonce=nonce,
    )
    effect = case.intend(PLAN, f"{scope.value}/{number}", {"plan": plan, "boot_id": seen.boot_id})
    names = ", ".join(test["test"] for test in plan["tests"])
    left_out = said_off(one.document() for one in off)
    part = f" segment {segment} of {asked.segments}," if asked.segments > 1 else ""
    work.say(
        f"Test plan of {node.name}: suite {suite},{part} {names}; nonce {nonce[:12]}, boot id {seen.boot_id}.{left_out}"
    )
    return _in_order(effect.detail["plan"])


def plan_sha256(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the plan's text as the pod gets it: `json.dumps` of what `test_plan` returned."""
    return sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def _in_order(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan with its keys sorted all the way down: the order in which a database gives them is its own."""
    ordered: dict[str, Any] = json.loads(json.dumps(plan, sort_keys=True))
    return ordered


def _stage(work: Work, scope: Scope) -> Stage:
    stages = onboarding_stages(work.library.lifecycle())
    return next(stage for stage in stages if stage.judges is scope)


def _segment(case: Case, wanted: Wanted, seen: ClusterNode) -> int:
    """Return the segment that comes next. A boot between two of them that nobody ordered ends the soak."""
    done = home(case.effects(), wanted.scope, wanted.suite)
    if not 0 < len(done) < case.work.library.suite(wanted.suite).segments:
        return 1
    boots = {effect.detail["boot_id"] for effect in done.values()}
    if boots != {seen.boot_id}:
        _interrupted(case, boots.pop(), seen)
    return len(done) + 1


def _stands_right(node: FleetNode, work: Work, wanted: Wanted) -> None:
    """Refuse unless the node stands at a row of this scope's stage, or, for a soak, beyond it and out of service."""
    scope = wanted.scope
    stage = _stage(work, scope)
    milestone = record_of(node, work).milestone
    at = [row for row in stage.rows if row.from_ == milestone]
    if wanted.soak and stands_to_be_tested(work.library.lifecycle(), milestone, stage.ends):
        return
    if not at:
        begin(stage.rows[0].event, node, work)
        raise Refused(f"{node.name} is {milestone} and suite tests of the {scope} scope begin at {stage.begins}.")


def _ready_node(case: Case, scope: Scope) -> ClusterNode:
    """Return the Ready Node; a boot that nobody ordered sends the node back to where its proof is lost."""
    name = case.node.name
    seen = case.work.cluster.node(name)
    if seen is None or not seen.ready:
        state = "has no Node object" if seen is None else "is not Ready"
        raise Transient(f"{name} {state}, so its tests cannot start: look at its kubelet, then try again.")
    ordered = case.newest(RESET, BOOT_STEPS[scope])
    if ordered is not None and ordered.status == PROVEN and seen.boot_id != ordered.proof["boot_id"]:
        _interrupted(case, str(ordered.proof["boot_id"]), seen)
    return seen


def _interrupted(case: Case, proven_boot: str, seen: ClusterNode) -> NoReturn:
    """Send the node back to where its proof is lost, and refuse to test it."""
    reason = (
        f"{case.node.name} runs under boot id {seen.boot_id} where {proven_boot} was proven: it booted by "
        "itself; find out why, then run it again from the validation boot."
    )
    case.work.ledger.advance(case.lease, "interrupt", {"reason": reason})
    raise Refused(reason)


def _still_good(newest: Effect, seen: ClusterNode, suite: str) -> bool:
    return (
        newest.status == INTENDED
        and newest.detail["boot_id"] == seen.boot_id
        and newest.detail["plan"]["suite"] == suite
    )
