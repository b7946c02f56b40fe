"""Which entries of a BMC's event log refuse a node, which are remarks, and which are over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from nodeworthy.evidence.bmc_log import EventLog, LogEntry, LogJudgement, judge_log

from tests.doubles.bench import library

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RULES = library().log_rules()
CATALOGUE = library().catalogue("training")
MEMORY = LogEntry(
    "DGX/EventLog",
    "7",
    NOW - timedelta(hours=2),
    "Critical",
    "OpenBMC.0.1.0.MemoryECCUncorrectable",
    "Memory ECC uncorrectable error. Socket=0 Channel=A DIMM=1 Rank=0.",
    ("0", "A", "1", "0"),
)
SUPPLY = LogEntry("BMC/SEL", "1", NOW, "Critical", "", "PSU2 failure detected - Asserted", sensor="Power Supply 5")


def judged(*entries: LogEntry, **exchanged: datetime) -> LogJudgement:
    """Judge a log of these entries, oldest first."""
    return judge_log(EventLog(entries), RULES, CATALOGUE, NOW, exchanged)


def test_an_uncorrectable_memory_error_refuses_with_entry_time_message_and_advice() -> None:
    """The phrase is all that an operator needs to find the entry and to act."""
    assert judged(MEMORY) == LogJudgement(
        (
            "the BMC's DGX/EventLog has entry 7 of 2026-11-30 10:00 UTC, Memory ECC uncorrectable error. Socket=0 "
            "Channel=A DIMM=1 Rank=0 (OpenBMC.MemoryECCUncorrectable, Critical), and nothing says that it is over: run "
            "the field diagnostic; exchange the part, or clear the log after looking",
        ),
        (),
    )


@pytest.mark.parametrize(
    ("message_id", "severity", "outcome"),
    [
        ("OpenBMC.0.1.0.MemoryECCUncorrectable", "Critical", "refused"),
        ("OpenBMC.0.1.0.MemoryECCUncorrectable", "OK", "refused"),
        ("OpenBMC.0.1.0.MemoryECCUncorrectable", "", "refused"),
        ("OpenBMC.0.1.0.PowerSupplyPowerGoodFailed", "Critical", "refused"),
        ("ResourceEvent.1.0.3.ResourceStatusChangedCritical", "Critical", "refused"),
        ("Environmental.1.1.0.LeakDetectedWarning", "Warning", "refused"),
        ("Vendor.1.0.GpuDied", "Critical", "refused"),
        ("0x592A28", "Critical", "refused"),
        ("", "Critical", "refused"),
        ("", "Fatal", "refused"),
        ("OpenBMC.0.1.0.DriveError", "Warning", "remarked"),
        ("Vendor.1.0.Odd", "Warning", "remarked"),
        ("Base.1.8.InternalError", "Critical", "remarked"),
        ("Platform.1.0.1.OperatingSystemCrash", "Critical", "remarked"),
        ("ResourceEvent.1.0.3.ResourceCreated", "OK", "silent"),
        ("", "OK", "silent"),
        ("", "", "silent"),
    ],
)
def test_the_graver_of_entry_and_registry_counts(message_id: str, severity: str, outcome: str) -> None:
    """Critical hardware refuses, whoever says so; what needs no repair or is a warning is remarked on."""
    found = judged(replace(MEMORY, message_id=message_id, severity=severity))
    assert (bool(found.refusals), bool(found.remarks)) == (outcome == "refused", outcome == "remarked")


def test_a_resolved_entry_is_over() -> None:
    """LogEntry.Resolved is the BMC's own word."""
    assert judged(replace(MEMORY, resolved=True)) == LogJudgement((), ())


def test_an_assertion_ends_with_its_own_deassertion_only() -> None:
    """The same condition of the same sensor; another sensor's, or one that came before, ends nothing."""
    over = replace(SUPPLY, id="2", severity="OK", message="PSU2 failure detected - Deasserted")
    assert judged(SUPPLY, over).refusals == ()
    assert len(judged(SUPPLY, replace(over, sensor="Power Supply 6")).refusals) == 1
    assert len(judged(SUPPLY, replace(over, message="PSU2 presence - Deasserted")).refusals) == 1
    assert len(judged(over, SUPPLY).refusals) == 1
    assert judged(replace(over, severity="Critical")).refusals == ()


def test_readings_of_a_sensor_may_differ_and_names_without_a_sensor_may_not() -> None:
    """With a number of a sensor the text's numbers are readings; without one they tell PSU1 from PSU2."""
    hot = replace(SUPPLY, message="Inlet 47 above 45 asserted", code="Upper Critical - going high")
    cool = replace(hot, message="Inlet 44 above 45 deasserted", severity="OK")
    assert judged(hot, cool).refusals == ()
    first = replace(SUPPLY, sensor="", message="PSU1 failed, asserted")
    other = replace(first, message="PSU2 failed, deasserted", severity="OK")
    assert len(judged(first, other).refusals) == 1


def test_a_message_of_recovery_ends_what_it_answers_for_the_same_part() -> None:
    """Power that came back ends the loss of the same supply, named by origin or first argument."""
    lost = replace(MEMORY, message_id="OpenBMC.0.1.0.PowerSupplyPowerGoodFailed", arguments=("PSU2",))
    back = replace(MEMORY, message_id="OpenBMC.0.1.0.PowerSupplyPowerRestored", severity="OK", arguments=("PSU2",))
    assert judged(lost, back).refusals == ()
    assert len(judged(lost, replace(back, arguments=("PSU1",))).refusals) == 1


def test_what_stands_before_a_clearing_of_its_log_is_not_looked_at() -> None:
    """BMCs write that they were cleared; another log's clearing says nothing of this one."""
    cleared = replace(MEMORY, message_id="OpenBMC.0.1.0.EventLogCleared", severity="OK", message="Event Log Cleared.")
    assert judged(MEMORY, cleared) == LogJudgement((), ())
    assert len(judged(MEMORY, replace(cleared, log="BMC/SEL")).refusals) == 1


def test_an_entry_about_a_part_that_was_exchanged_since_is_a_remark() -> None:
    """The slot that the entry names holds another serial now; another slot's exchange forgives nothing."""
    entry = replace(MEMORY, origin="DIMM_1")
    found = judged(entry, DIMM_1=NOW - timedelta(hours=1))
    assert found.refusals == ()
    assert found.remarks[0].endswith("before DIMM_1 was exchanged")
    assert len(judged(entry, DIMM_1=NOW - timedelta(hours=3)).refusals) == 1
    assert len(judged(entry, DIMM_2=NOW - timedelta(hours=1)).refusals) == 1


@pytest.mark.parametrize(
    ("at", "said"), [(None, "at an unknown time"), (NOW + timedelta(days=3), "a time to come: set the BMC's clock")]
)
def test_a_wrong_clock_never_makes_an_entry_old(at: datetime | None, said: str) -> None:
    """Without a time that can be, the entry counts, also when the part was exchanged."""
    (phrase,) = judged(replace(MEMORY, at=at, origin="DIMM_1"), DIMM_1=NOW).refusals
    assert said in phrase


def test_entries_that_are_alike_are_one_phrase_which_names_the_newest() -> None:
    """A log of fifty equal entries is one reason."""
    (phrase,) = judged(*(replace(MEMORY, id=str(number)) for number in range(1, 51))).refusals
    assert "entry 50 " in phrase
    assert phrase.endswith("(the newest of 50 alike)")


def test_a_pool_may_bear_a_code_and_its_entries_are_remarks_then() -> None:
    """The pool's override decides, as for every other catalogue."""
    own = CATALOGUE.overridden(
        "training",
        [
            {"kind": "redfish", "code": "OpenBMC.MemoryECCUncorrectable", "action": "monitor",
             "reason": "known bug of this BMC's firmware", "by": "ada", "date": "2026-11-30"}
        ],
    )  # fmt: skip
    found = judge_log(EventLog((MEMORY,)), RULES, own, NOW, {})
    assert (found.refusals, len(found.remarks)) == ((), 1)


def test_messages_that_end_others_stand_in_the_catalogue() -> None:
    """A name that is misspelt in bmc_log.yaml would end nothing."""
    listed = {code.lower() for kind, code in CATALOGUE.faults if kind == "redfish"}
    assert {code.lower() for code in RULES.ends} | {code for codes in RULES.ends.values() for code in codes} <= listed
