"""Random lives of a node: whatever happens in whatever order, it is in service only with both scopes in force."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.budget import Absence
from nodeworthy.lifecycle.machine import Facts, Moved, Refusal, advance
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.records import Answer, Hold
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import shipped

LIFECYCLE = Lifecycle.from_document(shipped())
EVENTS = sorted({row.event for row in LIFECYCLE.transitions})
PROOF = {key: "seen" for row in LIFECYCLE.transitions for key in row.proof}
POLICY = Policy.from_document({"pool": "p", "actions": {"drain": "auto"}, "budgets": {"pool": 1}})
START = datetime(2026, 12, 1, tzinfo=UTC)
ABSENCE = Absence("n1", 1, False, "fault", START)
DOSSIER = EvidenceReference("dossier.json", "0" * 64, 1)


class Life(RuleBasedStateMachine):
    """A node to which anything may happen; the test keeps its own books of what is qualified."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.milestone = LIFECYCLE.initial
        self.qualifications: list[Qualification] = []
        self.certificate: datetime | None = None
        self.holds: list[Hold] = []
        self.answers: list[Answer] = []
        self.entered_service_well = True

    @rule(scope=st.sampled_from(Scope), days=st.integers(1, 40))
    def qualify(self, scope: Scope, days: int) -> None:
        """A judgement passes."""
        ends = self.now + timedelta(days=days)
        self.qualifications.append(Qualification("n1", scope, "l1", 1, self.now, ends, DOSSIER, "boot", "set"))

    @rule(days=st.integers(1, 40))
    def certify(self, days: int) -> None:
        """A certificate is written."""
        self.certificate = self.now + timedelta(days=days)

    @rule(scope=st.sampled_from(["automation", "admission", "both"]))
    def hold(self, scope: str) -> None:
        """Somebody holds the node."""
        self.holds.append(Hold("n1", "ada", "work", None, scope))

    @rule()
    def release(self) -> None:
        """All holds end."""
        self.holds.clear()

    @rule(answer=st.sampled_from(["approve", "refuse"]))
    def answer(self, answer: str) -> None:
        """Somebody answers a plan."""
        self.answers.append(Answer("p", "bob", answer, "because"))

    @rule(hours=st.integers(1, 24 * 45))
    def wait(self, hours: int) -> None:
        """Time passes; what expires, expires."""
        self.now += timedelta(hours=hours)

    @rule(event=st.sampled_from(EVENTS), proven=st.booleans())
    def happen(self, event: str, proven: bool) -> None:
        """Any event arrives, with or without its proof."""
        facts = Facts(
            now=self.now,
            given=PROOF if proven else {},
            qualifications=tuple(self.qualifications),
            certificate_expires=self.certificate,
            holds=tuple(self.holds),
            answers=tuple(self.answers),
            absence=None if LIFECYCLE.milestone(self.milestone).schedulable else ABSENCE,
            policy=POLICY,
        )
        outcome = advance(LIFECYCLE, self.milestone, event, facts)
        if isinstance(outcome, Moved):
            self._follow(outcome)
        else:
            assert isinstance(outcome, Refusal)
            assert outcome.reason

    def _follow(self, moved: Moved) -> None:
        assert moved.from_ == self.milestone
        self.qualifications = [q for q in self.qualifications if q.scope.value not in moved.voids]
        if "certificate" in moved.voids:
            self.certificate = None
        if moved.changed and LIFECYCLE.milestone(moved.to).schedulable:
            valid = {q.scope for q in self.qualifications if q.expires_at > self.now}
            certified = self.certificate is not None and self.certificate > self.now
            kept = any(hold.scope in ("admission", "both") for hold in self.holds)
            self.entered_service_well = valid == set(Scope) and certified and not kept
        self.milestone = moved.to

    @invariant()
    def service_is_deserved(self) -> None:
        """Whoever entered service did so qualified in both scopes, certified and not held."""
        assert self.entered_service_well

    @invariant()
    def stands_in_the_table(self) -> None:
        """The node stands in a milestone that has a rule for its deadline."""
        row = LIFECYCLE.milestone(self.milestone)
        assert row.deadline.default is not None or row.deadline.because


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
