"""A node that a verdict refused is measured again once a person clears the task that refused it, and not before."""

from __future__ import annotations

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import Stage, onboarding_stages
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.procedures.again import Start, asked_again, begin_again, is_bad, is_passed, judge_again, next_stage
from nodeworthy.procedures.again import was_refused as refused_in
from nodeworthy.procedures.finish import REFUSED_BY_PERSON

from tests.contract.judge.test_judge_wave import Court, court, slow
from tests.doubles.bench import RUN, library
from tests.unit.qualification.written_results import healthy

FIRST, RETRIED, CLEARED = Start("provision", 2), Start("provision", 2), Start("provision", 3)
"""Airflow gives a task two retries; a clear at its first try gives it a third, a retry of its own gives nothing."""


def asked(one: Court, start: Start) -> bool:
    """Start the task behind the judge."""
    return asked_again(one.bench.lease, one.bench.work, start)


def record(one: Court) -> NodeRecord:
    """Read the node's record."""
    return one.bench.ledger.nodes(["gpu-a01"])[0]


def refused() -> Court:
    """A node that failed its judgement, and whose next step has met that."""
    one = court()
    one.bring(slow())
    one.run()
    assert not asked(one, FIRST)
    return one


def stages(*, upto: str) -> tuple[Stage, ...]:
    """Return the stages that lead to a milestone."""
    path = onboarding_stages(library().lifecycle())
    return path[: next(number for number, stage in enumerate(path, 1) if stage.ends == upto)]


def test_a_retry_of_airflows_own_measures_nothing() -> None:
    """The task was killed after it had refused: Airflow starts it again, and it refuses again."""
    assert not asked(refused(), RETRIED)


def test_a_clear_measures_again_and_so_does_whatever_starts_it_after_a_kill() -> None:
    """The wish outlives the process: each start after the clear goes on, until there is a newer verdict."""
    one = refused()
    assert [asked(one, CLEARED), asked(one, CLEARED)] == [True, True]


def test_a_clear_before_anything_was_refused_is_no_wish_to_measure() -> None:
    """Cleared while the judge still ran: the verdict is read for the first time, so it is refused first."""
    one = court()
    one.bring(slow())
    one.run()
    assert not asked(one, CLEARED)
    assert asked(one, Start("provision", 4))


def test_only_the_step_that_refused_first_measures_again() -> None:
    """All steps behind the judge are red and cleared together; the node is measured by one of them."""
    one = refused()
    finish = Start("finish", 2)
    assert not asked(one, finish)
    assert not asked(one, Start("finish", 3))
    assert asked(one, CLEARED)


def test_a_second_bad_verdict_needs_a_second_clear() -> None:
    """Measured again and bad again: a retry after that refuses, the next clear measures."""
    one = refused()
    assert asked(one, CLEARED)
    one.bench.ledger.put("gpu-a01", "validation_booted")
    one.bring(slow(gpu=5))
    with pytest.raises(Refused, match="gpu/5"):
        judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    assert not asked(one, CLEARED)
    assert asked(one, Start("provision", 4))


def test_a_quarantined_node_goes_on_from_its_firmware_and_is_judged_by_itself() -> None:
    """Retest, new result, one validation of this node alone, burned in: the old verdict refuses nothing any more."""
    one = refused()
    begin_again(one.bench.lease, record(one), one.bench.work, "run x tests it again")
    assert one.milestone == "firmware_current"
    assert next_stage(record(one), stages(upto="burned_in"), one.bench.work).name == "boot_validation"
    one.bench.ledger.put("gpu-a01", "validation_booted")
    assert next_stage(record(one), stages(upto="burned_in"), one.bench.work).name == "burn_in"
    one.bring(healthy())
    assert judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    assert one.milestone == "burned_in"
    assert len(one.judge.batches) == 2
    assert is_passed(record(one), Scope.HARDWARE, one.bench.work)
    assert not refused_in(record(one), RUN, one.bench.work)


def test_a_node_that_failed_on_the_approved_image_is_led_through_both_scopes() -> None:
    """Quarantine voids both, so the way to `verified` begins with the validation image and ends with the platform."""
    one = refused()
    begin_again(one.bench.lease, record(one), one.bench.work, "run x tests it again")
    names = []
    for milestone in ("firmware_current", "validation_booted", "burned_in", "provisioned", "attested"):
        one.bench.ledger.put("gpu-a01", milestone)
        names.append(next_stage(record(one), stages(upto="verified"), one.bench.work).name)
    assert names == ["boot_validation", "burn_in", "provision", "verify", "verify"]


def test_the_way_through_both_scopes_does_not_end_with_the_first_pass() -> None:
    """The hardware has passed again and the approved image boots: the task that was cleared goes on when it resumes."""
    one = refused()
    assert asked(one, CLEARED)
    one.bench.ledger.put("gpu-a01", "validation_booted")
    one.bring(healthy())
    judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    assert asked(one, CLEARED)
    assert not asked(one, Start("finish", 3))
    assert not is_passed(record(one), Scope.PLATFORM, one.bench.work)


def test_a_node_that_a_person_has_taken_elsewhere_is_left_there() -> None:
    """With its vendor: no test leads on from there, and the sentence says where it is."""
    one = refused()
    one.bench.ledger.put("gpu-a01", "rma")
    with pytest.raises(Refused, match="gpu-a01 is rma"):
        next_stage(record(one), stages(upto="burned_in"), one.bench.work)


def test_the_judge_knows_whom_the_next_step_measures_again() -> None:
    """Only after the step has refused the newest verdict, and only in this run."""
    one = court()
    one.bring(slow())
    one.run()
    assert not refused_in(record(one), RUN, one.bench.work)
    asked(one, FIRST)
    assert refused_in(record(one), RUN, one.bench.work)
    assert not refused_in(record(one), "bring_up/another", one.bench.work)


def test_what_a_person_stopped_is_no_verdict() -> None:
    """Someone said no to the node's plan after its verdict: its squares are skipped, and no lease is taken for it."""
    one = refused()
    one.bench.ledger.release(one.bench.lease, close=False, reason=f"{REFUSED_BY_PERSON} by ada: not this one.")
    assert not is_bad(record(one), one.bench.work)


def test_what_was_judged_and_not_moved_is_moved_without_a_new_test() -> None:
    """Killed between the record of a pass and the move: the next start moves the node by that record."""
    one = refused()
    one.bench.ledger.put("gpu-a01", "validation_booted")
    one.bring(healthy())
    judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    one.bench.ledger.put("gpu-a01", "validation_booted")
    assert judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    assert one.milestone == "burned_in"
    assert len(one.judge.batches) == 2


def test_nothing_to_judge_is_said() -> None:
    """No result of this node waits: nothing is judged and nothing is claimed."""
    one = court()
    assert not judge_again("gpu-a01", RUN, Scope.HARDWARE, one.bench.work, one.judging())
    assert one.judge.batches == []
