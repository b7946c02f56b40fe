"""Boot validation: the node runs the validation image, proven; tests begin from a system that we know."""

from __future__ import annotations

from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.boot import Image, boot
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.plan import require_approved
from nodeworthy.procedures.progress import begin

EVENT = "boot_validation"


def boot_validation(lease: Lease, node: FleetNode, work: Work) -> Done | Waiting:
    """Bring a node with current firmware into the pool's validation image. One power cycle per attempt."""
    done = begin(EVENT, node, work)
    if done is not None:
        return done
    proposal = require_approved(lease, node, work, "reset")
    case = Case(lease, node, work, work.library.sku(node.sku))
    seen = boot(case, EVENT, Image(**work.library.policy(node.pool)["images"]["validation"]))
    if isinstance(seen, Waiting):
        return seen
    facts = {"boot_id": seen.boot_id, "image": seen.image, "node_uid": seen.uid, "plan_sha256": proposal.sha256}
    work.ledger.advance(lease, EVENT, facts)
    summary = (
        f"{node.name} runs validation image {seen.image} under boot id {seen.boot_id}, tainted against other work."
    )
    work.say(summary)
    return Done(summary, facts)
