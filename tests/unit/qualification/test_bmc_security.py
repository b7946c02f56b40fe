"""The BMC's own safety: each check refuses, remarks or is off as its stance says, and unknown does not pass unseen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_log import LogRoom
from nodeworthy.qualification.bmc_security import CHECKS, SecurityJudgement, SecurityRules, judge_security

NOW = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
RULES = SecurityRules(dict.fromkeys(CHECKS, "refuse"), timedelta(seconds=300), timedelta(days=14), 90)
GOOD = BmcGuard(clock_ahead_seconds=0.4, certificate_ends=NOW + timedelta(days=300), secure_boot="Enabled")


def judged(guard: BmcGuard, *rooms: LogRoom, rules: SecurityRules = RULES, demands: bool = True) -> SecurityJudgement:
    """Judge it."""
    return judge_security(guard, rooms, rules, demands, NOW)


def test_a_guarded_bmc_has_nothing_to_say() -> None:
    """No refusal and no remark."""
    assert judged(GOOD) == SecurityJudgement((), ())


@pytest.mark.parametrize(
    ("guard", "phrase"),
    [
        (replace(GOOD, accounts=("ADMIN",)), "the BMC's account ADMIN is enabled with a password"),
        (replace(GOOD, clock_ahead_seconds=301.0), "the BMC's clock is 301 s ahead of ours"),
        (replace(GOOD, clock_ahead_seconds=-7200.0), "the BMC's clock is 7200 s behind ours"),
        (replace(GOOD, clock_ahead_seconds=300.0), ""),
        (replace(GOOD, clock_ahead_seconds=None), ""),
        (replace(GOOD, certificate_ends=NOW + timedelta(days=13)), "ends at 2026-12-14 08:00 UTC"),
        (replace(GOOD, certificate_ends=NOW + timedelta(days=14)), ""),
        (replace(GOOD, certificate_ends=None), ""),
        (replace(GOOD, media=("CD1 http://x/rescue.iso",)), "virtual medium CD1 http://x/rescue.iso is inserted"),
        (replace(GOOD, bootstrapping=("Self",)), "host interface Self hands BMC credentials"),
        (replace(GOOD, boot_override="Pxe"), "every start takes Pxe"),
        (replace(GOOD, secure_boot="Disabled"), "Secure Boot is disabled where the SKU demands it"),
        (replace(GOOD, secure_boot=""), "Secure Boot is not shown by the BMC (incomplete)"),
    ],
)
def test_each_finding_is_one_phrase(guard: BmcGuard, phrase: str) -> None:
    """With what is seen and what to do; at the limit itself nothing is said."""
    found = judged(guard).refusals
    assert len(found) == bool(phrase), found
    assert all(phrase in one for one in found)


def test_secure_boot_is_the_skus_demand() -> None:
    """Where no SKU demands it, nobody asks."""
    assert judged(replace(GOOD, secure_boot=""), demands=False) == SecurityJudgement((), ())


@pytest.mark.parametrize(
    ("room", "refused"),
    [
        (LogRoom("DGX/SEL", 90, 100, True), True),
        (LogRoom("DGX/SEL", 89, 100, True), False),
        (LogRoom("DGX/SEL", 100, 100, False), False),
    ],
)
def test_a_log_that_overwrites_nothing_must_have_room(room: LogRoom, refused: bool) -> None:
    """One that wraps is never full."""
    assert bool(judged(GOOD, room).refusals) == refused


def test_a_stance_decides_between_refusal_remark_and_silence() -> None:
    """The same finding under three rules."""
    guard = replace(GOOD, media=("CD1",))
    for stance, refusals, remarks in (("refuse", 1, 0), ("remark", 0, 1), ("off", 0, 0)):
        rules = replace(RULES, stances={**RULES.stances, "virtual_media": stance})
        found = judged(guard, rules=rules)
        assert (len(found.refusals), len(found.remarks)) == (refusals, remarks)


def test_what_could_not_be_read_and_a_boot_that_is_ordered_once_are_remarks() -> None:
    """Neither refuses, and neither is lost; a check that is off has no gap."""
    guard = replace(GOOD, gaps=(("default_password", "/Accounts answers 403"),), boot_once="UefiHttp")
    assert judged(guard).remarks == (
        "not checked: /Accounts answers 403",
        "the next start takes UefiHttp: bring-up orders its own boot source",
    )
    off = replace(RULES, stances={**RULES.stances, "default_password": "off", "boot_override": "off"})
    assert judged(guard, rules=off) == SecurityJudgement((), ())
