"""One function moves a node: what lets it move, what refuses it, and with which words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.machine import Facts, Moved, Refusal, advance
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.records import Answer, Hold
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import SHIPPED as TABLE
from tests.unit.lifecycle.tables import shipped

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
SHIPPED = Lifecycle.from_document(shipped())


def qualified(scope: Scope, expires_at: datetime = LATER) -> Qualification:
    """Return a qualification in force."""
    dossier = EvidenceReference("dossier.json", "0" * 64, 1)
    return Qualification("n1", scope, "l1", 1, NOW, expires_at, dossier, "boot", "set")


BOTH = (qualified(Scope.HARDWARE), qualified(Scope.PLATFORM))
APPROVED = (Answer("p" * 64, "ada", "approve", "the customer waits"),)
PROVEN = Facts(now=NOW, qualifications=BOTH, certificate_expires=LATER, answers=APPROVED)


def held(scope: str, until: datetime | None = None) -> tuple[Hold, ...]:
    """Return one hold."""
    return (Hold("n1", "ada", "cabling work", until, scope),)


def test_a_proven_spare_is_admitted() -> None:
    """Both scopes, a valid certificate and no hold lead from standby into service."""
    assert advance(SHIPPED, "standby", "admit", PROVEN) == Moved("standby", "in_service", "admit")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param(
            replace(PROVEN, qualifications=BOTH[:1]), "needs a platform qualification and there is none", id="one"
        ),
        pytest.param(replace(PROVEN, qualifications=BOTH[1:]), "needs a hardware qualification", id="other"),
        pytest.param(
            replace(PROVEN, qualifications=(qualified(Scope.HARDWARE, NOW), BOTH[1])),
            "hardware qualification and the last one expired at 2026-12-01 12:00 UTC",
            id="expired this moment",
        ),
        pytest.param(
            replace(PROVEN, qualifications=(replace(BOTH[0], voided_by="Xid 79"), BOTH[1])),
            "needs a hardware qualification and there is none in force",
            id="voided",
        ),
        pytest.param(replace(PROVEN, answers=()), "nobody answered for it", id="unanswered"),
        pytest.param(
            replace(PROVEN, answers=(Answer("p" * 64, "ada", "refuse", "not today"),)),
            "ada refused the plan of `admit`: not today",
            id="refused",
        ),
        pytest.param(
            replace(PROVEN, given={"plan_sha256": "q" * 64}), "nobody answered for it", id="another plan was answered"
        ),
        pytest.param(
            replace(PROVEN, certificate_expires=None), "needs a certificate and there is none", id="no certificate"
        ),
        pytest.param(
            replace(PROVEN, certificate_expires=NOW), "it expired at 2026-12-01 12:00 UTC", id="old certificate"
        ),
        pytest.param(
            replace(PROVEN, holds=held("admission")), "held by ada until it is released: cabling work", id="hold"
        ),
        pytest.param(
            replace(PROVEN, holds=held("both", LATER)), "held by ada until 2026-12-31 12:00 UTC", id="hold of both"
        ),
    ],
)
def test_admission_is_refused_with_its_reason(facts: Facts, words: str) -> None:
    """Each missing condition refuses admission in words that an operator can act on."""
    outcome = advance(SHIPPED, "standby", "admit", facts)
    assert isinstance(outcome, Refusal)
    assert words in outcome.reason


@pytest.mark.parametrize(("mode", "moves"), [("auto", True), ("approve", False), ("observe", False)])
def test_only_a_policy_that_says_auto_admits_without_an_answer(mode: str, moves: bool) -> None:
    """Nobody is asked about what the pool's policy runs by itself; everything else needs an answer."""
    document = YamlLibrary(TABLE.parents[1]).policy("default")
    policy = Policy.from_document({**document, "actions": {**document["actions"], "admit": mode}})
    outcome = advance(SHIPPED, "standby", "admit", replace(PROVEN, answers=(), policy=policy))
    assert isinstance(outcome, Moved) is moves


def test_a_hold_says_when_it_ends() -> None:
    """The refusal of a limited hold carries its end, so that a caller knows when to ask again."""
    outcome = advance(SHIPPED, "standby", "admit", replace(PROVEN, holds=held("admission", LATER)))
    assert isinstance(outcome, Refusal)
    assert outcome.until == LATER


@pytest.mark.parametrize("hold", [held("automation"), held("both", NOW)], ids=["other scope", "over"])
def test_a_hold_stops_only_what_it_names(hold: tuple[Hold, ...]) -> None:
    """A hold on automation does not stop a person's admission, and an ended hold stops nothing."""
    outcome = advance(SHIPPED, "standby", "admit", replace(PROVEN, holds=hold))
    assert outcome == Moved("standby", "in_service", "admit")


def test_an_automation_hold_stops_onboarding() -> None:
    """With a hold on automation the next milestone is refused."""
    facts = Facts(now=NOW, given={"system_id": "1"}, holds=held("automation"))
    assert isinstance(advance(SHIPPED, "declared", "discover", facts), Refusal)


def test_isolation_is_never_refused() -> None:
    """No hold, missing approval or missing qualification keeps a failing node from quarantine."""
    facts = Facts(now=NOW, given={"reason": "NVLink at 92 per cent"}, holds=held("both"))
    outcome = advance(SHIPPED, "validation_booted", "quarantine", facts)
    assert outcome == Moved("validation_booted", "quarantined", "quarantine", ("hardware", "platform"))


@pytest.mark.parametrize("proof", [{}, {"system_id": ""}, {"system_id": None}], ids=["none", "empty", "null"])
def test_a_move_without_its_proof_is_refused(proof: dict[str, object]) -> None:
    """What the row demands as proof must be given and say something."""
    outcome = advance(SHIPPED, "declared", "discover", Facts(now=NOW, given=proof))
    assert isinstance(outcome, Refusal)
    assert "needs the proof system_id" in outcome.reason


def test_a_proof_of_zero_is_a_proof() -> None:
    """A count of nought is something that was seen."""
    outcome = advance(SHIPPED, "discovered", "inventory", Facts(now=NOW, given={"components": 0}))
    assert isinstance(outcome, Moved)


def answered(*answers: tuple[str, str], plan: str | None = None) -> Facts:
    """Return the facts of a firmware step with answers (plan, answer) in order."""
    given = {"firmware_set": "s1"} | ({"plan_sha256": plan} if plan else {})
    return Facts(now=NOW, given=given, answers=tuple(Answer(p, "bob", a, "night shift") for p, a in answers))


@pytest.mark.parametrize(
    "facts",
    [
        answered(("p1", "approve")),
        answered(("p1", "refuse"), ("p2", "approve")),
        answered(("p1", "approve"), plan="p1"),
    ],
    ids=["approved", "approved at last", "approved exactly"],
)
def test_an_approved_plan_goes_on(facts: Facts) -> None:
    """The last answer counts, and a fact that names the plan asks for exactly that plan."""
    assert isinstance(advance(SHIPPED, "conformant", "firmware", facts), Moved)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param(answered(), "nobody answered for it", id="unasked"),
        pytest.param(answered(("p1", "refuse")), "bob refused the plan of `firmware`: night shift", id="refused"),
        pytest.param(answered(("p1", "approve"), ("p1", "refuse")), "bob refused", id="taken back"),
        pytest.param(answered(("p1", "approve"), plan="p2"), "nobody answered for it", id="another plan"),
    ],
)
def test_a_plan_without_approval_is_refused(facts: Facts, words: str) -> None:
    """Nobody's answer, a no, and an answer to another plan are no approval."""
    outcome = advance(SHIPPED, "conformant", "firmware", facts)
    assert isinstance(outcome, Refusal)
    assert words in outcome.reason


@pytest.mark.parametrize(
    ("milestone", "event"),
    [("discovered", "discover"), ("standby", "firmware"), ("in_service", "admit"), ("quarantined", "quarantine")],
)
def test_what_is_done_already_moves_nothing(milestone: str, event: str) -> None:
    """An event whose target is here, or behind on the path, succeeds without a move, without asking any guard."""
    outcome = advance(SHIPPED, milestone, event, Facts(now=NOW))
    assert outcome == Moved(milestone, milestone, event)
    assert not outcome.changed


@pytest.mark.parametrize(
    ("milestone", "event", "words"),
    [
        ("declared", "admit", "`admit` starts from standby and the node is declared"),
        ("quarantined", "firmware", "`firmware` starts from conformant and the node is quarantined"),
        ("declared", "teleport", "has no event `teleport`"),
        ("retired", "discover", "`discover` starts from declared and the node is retired"),
    ],
)
def test_an_event_from_elsewhere_is_refused(milestone: str, event: str, words: str) -> None:
    """An event that does not start here says where it does."""
    outcome = advance(SHIPPED, milestone, event, Facts(now=NOW))
    assert isinstance(outcome, Refusal)
    assert words in outcome.reason


def test_a_lost_boot_in_service_makes_a_suspect() -> None:
    """An unexpected boot voids both scopes and leads to suspect at once, whatever holds there are."""
    facts = Facts(now=NOW, given={"reason": "boot id changed"}, holds=held("both"))
    assert advance(SHIPPED, "in_service", "interrupt", facts) == Moved(
        "in_service", "suspect", "interrupt", ("hardware", "platform")
    )
