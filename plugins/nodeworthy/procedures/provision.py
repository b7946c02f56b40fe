"""Provision: the node runs the approved image from its own disk, as a new Node with a machine id of its own."""

from __future__ import annotations

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import ClusterNode, Work
from nodeworthy.procedures.boot import NODE_DELETE, Image, boot
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.plan import require_approved
from nodeworthy.procedures.progress import begin

EVENT = "provision"


def provision(lease: Lease, node: FleetNode, work: Work) -> Done | Waiting:
    """Bring a burned-in node into the pool's approved image. Refused, with the judgement's sentence, before burn-in."""
    done = begin(EVENT, node, work)
    if done is not None:
        return done
    proposal = require_approved(lease, node, work, "reimage")
    case = Case(lease, node, work, work.library.sku(node.sku))
    seen = boot(case, EVENT, Image(**work.library.policy(node.pool)["images"]["approved"]))
    if isinstance(seen, Waiting):
        return seen
    _check_machine_id(case, seen)
    facts = {
        "boot_id": seen.boot_id,
        "image": seen.image,
        "machine_id": seen.machine_id,
        "node_uid": seen.uid,
        "plan_sha256": proposal.sha256,
    }
    work.ledger.advance(lease, EVENT, facts)
    summary = (
        f"{node.name} runs approved image {seen.image}: machine id {seen.machine_id}, boot id {seen.boot_id}, new Node "
        f"uid {seen.uid}."
    )
    work.say(summary)
    return Done(summary, facts)


def _check_machine_id(case: Case, seen: ClusterNode) -> None:
    """A machine id that is missing, or that of the system before, means that nothing was installed."""
    deleted = case.newest(NODE_DELETE, EVENT)
    before = str(deleted.detail["machine_id"]) if deleted is not None else ""
    if not seen.machine_id or seen.machine_id == before:
        raise Permanent(
            f"{case.node.name} runs {seen.image} with machine id {seen.machine_id or 'none'}, the same as before: the "
            "image was started and not installed; check its installer."
        )
