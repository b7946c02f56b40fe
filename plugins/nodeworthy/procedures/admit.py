"""Admit: the one step that takes our taints off. It starts by a person's own run of the admit DAG, and where the
pool's policy says `approve`, those who may answer are asked before it.

The ledger checks both qualifications, the certificate and holds in the transaction that moves the node; the taints go
after that. A crash in between leaves a node in service that is still tainted, which the next call puts right.
"""

from __future__ import annotations

from nodeworthy.errors import OutcomeUnknown, Refused
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.rows import Projection
from nodeworthy.ports import ClusterNode, Work
from nodeworthy.procedures.ask import PAGES, Asking, Question
from nodeworthy.procedures.effect import PROVEN, Case
from nodeworthy.procedures.offer import IN_SERVICE, offers
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.plan import APPROVE, OBSERVE, digest, require_answer
from nodeworthy.procedures.progress import begin
from nodeworthy.procedures.projection import show

EVENT = "admit"
ADMISSION = "admission"


def admit(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Bring a standby node into service. Raises Refused with the guard's sentence."""
    case = Case(lease, node, work, work.library.sku(node.sku))
    done = begin(EVENT, node, work)
    if done is None:
        plan = _allowed(case)
        seen = _same_boot(case)
        offers(case, seen)
        effect = case.intend(ADMISSION, f"{EVENT}/1", {"boot_id": seen.boot_id, "uid": seen.uid})
        work.say(f"Admitting {node.name} (effect {effect.id}): boot id {seen.boot_id}, image {seen.image}.")
        work.ledger.advance(lease, EVENT, {"boot_id": seen.boot_id, "plan_sha256": plan})
    admitted = _project(case)
    newest = case.newest(ADMISSION, EVENT)
    if newest is not None:
        case.settle(newest, PROVEN, {"uid": admitted.uid, "resource_version": admitted.resource_version})
    work.ledger.release(lease, close=True, reason="")
    summary = f"{node.name} is in service: none of our taints is left and it carries the qualified label."
    work.say(summary)
    return Done(summary, {"node_uid": admitted.uid})


def admission(lease: Lease, node: FleetNode, work: Work) -> Question:
    """Return the admission of a standby node as a question. Another certificate makes another plan of it.

    Raises Refused for a node that does not stand by: nobody is asked about what cannot be done.
    """
    begin(EVENT, node, work)
    held, certificate = work.ledger.qualifications(node.name), work.ledger.certificate(node.name)
    mode = work.library.policy(node.pool)["actions"][EVENT]
    document = {
        "schema": "nodeworthy.admission/1",
        "node": node.name,
        "serial": node.serial,
        "episode": lease.episode,
        "certificate": certificate[0].sha256 if certificate else "",
        "mode": mode,
    }
    until = min((one.expires_at for one in held), default=None)
    proven = (
        f"qualified as {', '.join(one.scope.value for one in held)} until {until:%Y-%m-%d}" if until else "unproven"
    )
    return Question(
        approval=ADMISSION,
        plan_sha256=digest(document),
        needs_approval=mode == APPROVE,
        subject="enter service",
        what=f"1. take our taints off {node.name}: customers' work may run there from then on (admit)",
        why=f"a person's run of admit names {node.name}, a spare that is {proven}.",
        evidence=(
            ("the node", f"{PAGES}/nodes/{node.name}"),
            *((f"dossier of {one.scope.value}", f"{PAGES}/evidence/{one.dossier.path}") for one in held),
        ),
        closes=True,
    )


def _allowed(case: Case) -> str:
    """Return the hash of the admission that was answered for, or that policy runs by itself."""
    node, work = case.node, case.work
    question = admission(case.lease, node, work)
    if work.library.policy(node.pool)["actions"][EVENT] == OBSERVE:
        work.ledger.observe(case.lease, Action.ADMIT, "admit it: take our taints off")
        raise Refused(
            f"The policy of pool {node.pool} only observes admit, so {node.name} stays in standby: set the "
            "class to approve or auto in include/policies."
        )
    if question.needs_approval:
        require_answer(Asking(case.lease, node, work, question))
    return question.plan_sha256


def _same_boot(case: Case) -> ClusterNode:
    """Any boot voids what was proven about the platform, even one that nobody told us of."""
    name = case.node.name
    seen = case.work.cluster.node(name)
    if seen is None or not seen.ready:
        state = "has no Node object" if seen is None else "is not Ready"
        raise Refused(f"{name} {state} in Kubernetes: bring it back before it is admitted.")
    proven = {one.boot_id for one in case.work.ledger.qualifications(name) if one.scope is Scope.PLATFORM}
    if proven and seen.boot_id not in proven:
        raise Refused(
            f"{name} runs under boot id {seen.boot_id} and was verified under {', '.join(sorted(proven))}: it booted "
            "since, so requalify it."
        )
    return seen


def _project(case: Case) -> ClusterNode:
    """Take our taints off, put the label on, and prove both by reading."""
    name = case.node.name
    show(name, case.work)
    seen = case.work.cluster.node(name)
    if seen is None or not shows(seen, case.work.library.lifecycle().projection(IN_SERVICE), case.work):
        raise OutcomeUnknown(
            f"{name} was admitted and its Node does not show it: look at its taints and labels, then clear this task."
        )
    return seen


def shows(seen: ClusterNode, projection: Projection, work: Work) -> bool:
    """Tell whether a Node carries exactly the projection's taints of ours, and its labels."""
    lifecycle = work.library.lifecycle()
    ours = {taint.key for row in lifecycle.milestones for taint in row.projection.taints}
    carried = {taint.key for taint in seen.taints} & ours
    labels = all(seen.labels.get(key) == value for key, value in projection.labels.items())
    return carried == {taint.key for taint in projection.taints} and labels
