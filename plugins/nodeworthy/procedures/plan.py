"""Plan: what will be done to one node, exactly, so that a person can approve it and nothing else.

A plan is made from one recorded reading of the firmware, the SKU's firmware set and the pool's policy, and from nothing
that changes while it is carried out: its SHA-256 stays the same from the approval to the last step. Another reading,
another set or another image gives another plan, which needs its own answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import Decision, decide
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.ask import PAGES, Asking, Question
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.inventory import last_reading
from nodeworthy.qualification.sku import FirmwareSet

OBSERVE = "observe"
APPROVE = "approve"
APPROVAL = "plan"
"""The approval that the lifecycle's rows of bring-up name."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One node's plan. `what` is Markdown for the person who answers; `sha256` names exactly this plan."""

    sha256: str
    needs_approval: bool
    subject: str
    what: str
    document: Mapping[str, Any]

    @property
    def question(self) -> Question:
        """The plan as a question to those who may answer."""
        node = self.document["node"]
        why = f"the way of {node} to proven capacity leads through these steps" + (
            "; the pool's policy asks before them." if self.needs_approval else "; the run asks before risky steps."
        )
        evidence = (("the node, its inventory and what was judged", f"{PAGES}/nodes/{node}"),)
        return Question(APPROVAL, self.sha256, self.needs_approval, self.subject, self.what, why, evidence)


def plan(lease: Lease, node: FleetNode, work: Work) -> Proposal:
    """Return the bring-up plan of a node in its episode. Re-entrant; reads the BMC when nothing was read yet."""
    case = Case(lease, node, work, work.library.sku(node.sku))
    policy = work.library.policy(node.pool)
    firmware_set = work.library.firmware_set(case.sku.firmware_set)
    steps = [*_firmware_steps(firmware_set, last_reading(case)), *_image_steps(policy)]
    modes = {kind: policy["actions"][kind] for kind in sorted({str(step["class"]) for step in steps})}
    document = {
        "schema": "nodeworthy.bring-up-plan/1",
        "node": node.name,
        "serial": node.serial,
        "episode": lease.episode,
        "firmware_set": firmware_set.name,
        "steps": steps,
        "modes": modes,
    }
    updates = sum(step["class"] == "firmware" for step in steps)
    many = "" if updates == 1 else "s"
    return Proposal(
        sha256=digest(document),
        needs_approval=APPROVE in modes.values(),
        subject=f"{updates} firmware update{many}, {len(steps) - updates} resets and images",
        what=_what(document),
        document=document,
    )


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document's canonical JSON (sorted keys, no spaces), as hex."""
    return sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def require_approved(lease: Lease, node: FleetNode, work: Work, *classes: str) -> Proposal:
    """Return the plan when it may be carried out for these classes of action.

    Raises Refused when policy only observes one of them, nobody has answered this very plan, or it was refused.
    """
    proposal = plan(lease, node, work)
    modes = proposal.document["modes"]
    watched = [kind for kind in classes if modes.get(kind) == OBSERVE]
    if watched:
        would = "; ".join(step["what"] for step in proposal.document["steps"] if step["class"] in watched)
        for kind in watched:
            work.ledger.observe(lease, Action(kind), would)
        raise Refused(
            f"The policy of pool {node.pool} only observes {', '.join(watched)}, so nothing was done to {node.name}; "
            f"it would be: {would}. Set the class to approve or auto in include/policies to let it happen."
        )
    require_answer(Asking(lease, node, work, proposal.question))
    return proposal


def require_answer(asking: Asking) -> Decision:
    """Return the approval of exactly this plan. Raises Refused when it is refused, or not answered by all who must."""
    question, name = asking.question, asking.node.name
    made = decide(asking.answers(), asking.rule.answers)
    if made is None:
        raise Refused(
            f"The plan of {name} ({question.subject}, {question.plan_sha256[:12]}) has no answer that decides: answer "
            "its approval. If it was answered before, the plan has changed since, or the answer was given for an "
            "earlier try and is older than the policy's `validity.approval`: clear the task that asks, too."
        )
    if not made.approved:
        raise Refused(f"The plan was refused by {made.who}: {made.why}.")
    short = question.plan_sha256[:12]
    asking.work.say(f"Plan {short} ({question.subject}) was approved by {made.who}: {made.why}.")
    return made


def _firmware_steps(firmware_set: FirmwareSet, versions: Mapping[str, str]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for entry in firmware_set.entries:
        version = versions.get(entry.id)
        if version is not None and version not in entry.allowed:
            steps.append(
                {
                    "class": "firmware",
                    "what": f"update {entry.id} from {version} to {entry.target}",
                    "component": entry.id,
                    "from": version,
                    "to": entry.target,
                    "image": entry.image_uri,
                    "activation": entry.activation,
                }
            )
    if any(step["activation"] == "reset" for step in steps):
        steps.append({"class": "reset", "what": "reset the host to activate firmware"})
    return steps


def _image_steps(policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    validation, approved = policy["images"]["validation"], policy["images"]["approved"]
    return [
        {"class": "reset", "what": f"power cycle into validation image {validation['name']}", **validation},
        {"class": "reimage", "what": f"power cycle into approved image {approved['name']}, which installs", **approved},
    ]


def _what(document: Mapping[str, Any]) -> str:
    rows = [f"{number}. {step['what']} ({step['class']})" for number, step in enumerate(document["steps"], 1)]
    return "\n".join([*rows, "", f"Firmware set {document['firmware_set']}, episode {document['episode']}."])
