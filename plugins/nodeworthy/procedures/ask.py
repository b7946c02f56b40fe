"""Ask: put a node's plan before the people who may answer it, and take their answers by our own record.

A request is for one plan by its hash. An answer by somebody who may not answer, by the same person again, to a plan
that has changed since, or after the request's time does not count: it is written down, and the request is asked again.
Everything that was answered lies in the ledger, so a process that dies in between loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import APPROVE, POLICY, Decision, End, Reference, Request, decide, standing
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.policy import ApprovalRule, Policy
from nodeworthy.lifecycle.records import Answer, Lease
from nodeworthy.lifecycle.roles import Person
from nodeworthy.lifecycle.rows import Risk
from nodeworthy.ports import Work
from nodeworthy.procedures.finish import REFUSED_BY_PERSON

NOT_NEEDED = "no step of it needs approval"
PAGES = "/nodeworthy"
"""Where our pages lie in the Airflow UI."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one node. `approval` is the name in the lifecycle's rows; `evidence` are titles with links.

    `takes_out` says that the work takes a serving node out by our own will. `closes` says that a "no" ends the episode.
    """

    approval: str
    plan_sha256: str
    needs_approval: bool
    subject: str
    what: str
    why: str
    evidence: tuple[tuple[str, str], ...]
    takes_out: bool = False
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to be shown: to whom, in which words, and how long it still lives."""

    subject: str
    body: str
    people: tuple[Person, ...]
    left: timedelta


@dataclass(frozen=True, slots=True)
class Given:
    """An answer as Airflow tells it."""

    user_id: str
    name: str
    answer: str
    why: str


@dataclass(frozen=True, slots=True)
class NotYet:
    """The answer decided nothing, and why: ask again."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Asking:
    """Whose lease, which node, through which ports, about what."""

    lease: Lease
    node: FleetNode
    work: Work
    question: Question

    @property
    def rule(self) -> ApprovalRule:
        """The rule of the node's pool for this approval."""
        return Policy.from_document(self.work.library.policy(self.node.pool)).approval(self.question.approval)

    @property
    def may_answer(self) -> tuple[Person, ...]:
        """Who may answer."""
        return self.work.library.roles().answerers(self.rule)

    def answers(self, plan_sha256: str = "") -> tuple[Answer, ...]:
        """Return the answers to the plan."""
        return self.work.ledger.answers(self.node.name, self.lease.episode, plan_sha256 or self.question.plan_sha256)


def ask(asking: Asking, *, must: bool = False) -> Decision | Asked:
    """Return what was decided before, what policy decides by itself, or the request to be shown. Re-entrant.

    `must` asks a person even where policy would not. Raises Refused when too few people may answer at all.
    """
    question, work, rule = asking.question, asking.work, asking.rule
    answers = [one for one in asking.answers() if not (must and one.who == POLICY)]
    made = decide(answers, rule.answers)
    if made is not None and made.approved:
        _ask_no_more(asking)
        return made
    if made is None and not must and not question.needs_approval:
        work.ledger.record_approval(
            asking.lease, plan_sha256=question.plan_sha256, who=POLICY, answer=APPROVE, why=NOT_NEEDED
        )
        _ask_no_more(asking)
        return Decision(True, POLICY, NOT_NEEDED)
    request = work.ledger.ask(asking.lease, _request(asking, rule))
    if request.end is End.REFUSED and made is not None:
        return made
    given = standing(answers)
    left = tuple(one for one in asking.may_answer if one.name not in {answer.who for answer in given})
    body = _body(asking, request, given, left)
    return Asked(f"{asking.node.name}: {question.subject}", body, left, request.expires_at - work.clock.now())


def take_answer(asking: Asking, given: Given) -> Decision | NotYet:
    """Write an answer down and return what it decides. One that does not count is written down as that."""
    ledger, request = asking.work.ledger, asking.work.ledger.open_request(asking.lease)
    plan_sha256 = request.plan_sha256 if request else asking.question.plan_sha256
    person = asking.work.library.roles().person(given.user_id, given.name)
    who = person.name if person else given.name
    why_not = _why_not(asking, request, person, who)
    if why_not:
        ledger.refuse_answer(asking.lease, plan_sha256=plan_sha256, who=who, answer=given.answer, why=why_not)
        return NotYet(f"The answer '{given.answer}' of {who} does not count: {why_not}")
    ledger.record_approval(asking.lease, plan_sha256=plan_sha256, who=who, answer=given.answer, why=given.why)
    made = decide(asking.answers(), asking.rule.answers)
    if made is None:
        return NotYet(f"{who} approved the plan of {asking.node.name}: another person must answer too.")
    _ask_no_more(asking)
    return made


def stop(asking: Asking, made: Decision) -> None:
    """Give the node's lease back with the refusal as its reason. May be repeated."""
    reason = f"{REFUSED_BY_PERSON} by {made.who}: {made.why}."
    asking.work.ledger.release(asking.lease, close=asking.question.closes, reason=reason)


def unheard(lease: Lease, given: Given, work: Work, why: str) -> None:
    """Write down an answer that came when its run had lost the node, so that no answer is ever lost."""
    person = work.library.roles().person(given.user_id, given.name)
    who = person.name if person else given.name
    work.ledger.refuse_answer(lease, plan_sha256="", who=who, answer=given.answer, why=why)


def _ask_no_more(asking: Asking) -> None:
    """End a request that the policy of now does not want any more; open, it would end the work when it expires."""
    if asking.work.ledger.open_request(asking.lease) is not None:
        asking.work.ledger.settle_request(asking.lease)


def _request(asking: Asking, rule: ApprovalRule) -> Request:
    people, now, question = asking.may_answer, asking.work.clock.now(), asking.question
    if len(people) < rule.answers:
        names = ", ".join(one.name for one in people) or "nobody"
        raise Refused(
            f"The approval `{question.approval}` of pool {asking.node.pool} needs {rule.answers} different people and "
            f"{names} may answer: give more people a role in include/roles.yaml, or change the rule."
        )
    return Request(
        node=asking.node.name,
        episode=asking.lease.episode,
        plan_sha256=question.plan_sha256,
        approval=question.approval,
        subject=question.subject,
        answers=rule.answers,
        may_answer=tuple(one.name for one in people),
        run=asking.lease.run,
        asked_at=now,
        expires_at=now + rule.expiry,
        closes=question.closes,
    )


def _why_not(asking: Asking, request: Request | None, person: Person | None, who: str) -> str:
    """Return why an answer does not count; nothing when it does."""
    names = ", ".join(one.name for one in asking.may_answer)
    if person is None:
        return f"{who} stands in no row of include/roles.yaml; {names} may answer."
    if person not in asking.may_answer:
        return f"the rule `{asking.question.approval}` of pool {asking.node.pool} lets {names} answer."
    if request is None:
        return "the request had ended before: its time was over, its node's episode was raised or its run gave it back."
    if request.plan_sha256 != asking.question.plan_sha256:
        return f"it is about plan {request.plan_sha256[:12]} and the plan has changed since."
    if request.expires_at <= asking.work.clock.now():
        return f"the request expired at {request.expires_at:%Y-%m-%d %H:%M} UTC."
    if any(one.who == who for one in standing(asking.answers())):
        return f"{who} answered this plan already, and another person must."
    return ""


def _body(asking: Asking, request: Request, given: Sequence[Answer], left: Sequence[Person]) -> str:
    """Return the request as Markdown: what exactly, why, risk, evidence, budget, answers, until when."""
    question, node = asking.question, asking.node
    links = ", ".join(f"[{title}]({url})" for title, url in question.evidence)
    people = "one person"
    if request.answers > 1:
        # Airflow keeps a request's text as it was asked first, so who approved since must be read elsewhere.
        people = (
            f"{request.answers} different people, one after the other ([who did so far]({PAGES}/nodes/{node.name})),"
        )
    answered = "".join(f" {one.who} approved: {one.why}." for one in given)
    reference = Reference(
        node.name, question.plan_sha256, question.approval, tuple(one.name for one in left), request.expires_at
    )
    parts = (
        f"**{node.name}**, serial {node.serial}, SKU {node.sku}, rack {node.rack}, pool {node.pool}.",
        f"**What:**\n\n{question.what}",
        f"**Why:** {question.why}",
        f"**Risk:** {_risk(asking)}",
        f"**Evidence:** {links}",
        f"**Budget:** {_budget(asking)}",
        f"**Answers:** {people} must approve; one refusal decides.{answered}",
        reference.line(),
    )
    return "\n\n".join(parts)


def _risk(asking: Asking) -> str:
    """Return the highest risk of the moves that this approval lets through, and what they make void."""
    rows = [row for row in asking.work.library.lifecycle().transitions if row.approval == asking.question.approval]
    risk = max((row.risk for row in rows), key=list(Risk).index, default=Risk.HIGH)
    voids = sorted({scope for row in rows for scope in row.voids})
    words = {Risk.HIGH: "can be undone only by more such work", Risk.FINAL: "cannot be undone"}
    return f"{risk.value} ({words.get(risk, 'can be undone')})" + (
        f"; makes void: {', '.join(voids)}." if voids else "."
    )


def _budget(asking: Asking) -> str:
    """Return how many more nodes may leave voluntarily when this is done."""
    taken = 1 if asking.question.takes_out else 0
    room = asking.work.ledger.room(asking.node.name)
    rest = ", ".join(f"{group}: {count - taken}" for group, count in room.items()) or "no group of it has a budget"
    takes = "it takes a serving node out" if taken else "it takes no serving node out"
    return f"{takes}; nodes that may still leave voluntarily after it: {rest}."
