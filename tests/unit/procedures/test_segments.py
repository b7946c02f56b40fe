"""A soak is a chain of segment pods: an interruption costs one of them, and a boot nobody ordered ends the soak."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.procedures.finish import finish_soak
from nodeworthy.procedures.open_wave import WaveRequest, open_wave
from nodeworthy.procedures.segments import soaked
from nodeworthy.procedures.test_plan import Wanted, proven, unfinished
from nodeworthy.procedures.test_plan import test_plan as make_plan

from tests.doubles.bench import RUN, Bench, bench, library
from tests.unit.procedures.test_evidence import left_in_pod, result_of, take_in, validation_booted

L4 = Wanted(Scope.HARDWARE, "l4", soak=True)


def planned(one: Bench) -> dict[str, Any]:
    """Hand out the plan of the segment that comes next."""
    return make_plan(one.lease, one.node, one.work, L4)


def run_segment(one: Bench) -> int:
    """Run one segment to its end; return its number."""
    plan = planned(one)
    # As many results as segments would have, each with bytes of its own.
    left_in_pod(one, result_of(one, plan))
    take_in(one)
    return int(plan["segment"]["number"])


def qualified(one: Bench, suite: str) -> None:
    """Grant what a passing judgement of this episode would."""
    now = one.work.clock.now()
    dossier = EvidenceReference("nodes/x/dossier.json", "0" * 64, 1)
    granted = Qualification("gpu-a01", Scope.HARDWARE, suite, 1, now, now + timedelta(days=90), dossier, "b", "f")
    one.ledger._qualifications.append(granted)


def request(*, run: str = RUN) -> WaveRequest:
    """What the form of burn_in asks for."""
    return WaveRequest(run, ("gpu-a01",), "", "", "", "onboarding", "", reached="burned_in")


def test_segments_follow_each_other_until_all_are_home() -> None:
    """L4 is twelve pods: numbers 1 to 12, each with a nonce of its own, and then nothing is left to run."""
    one = validation_booted()
    numbers = [run_segment(one)]
    while unfinished(one.lease, one.node, one.work, L4):
        numbers.append(run_segment(one))
    assert numbers == list(range(1, 13))
    assert (
        len({result.document["nonce"] for result in one.ledger.results(run=RUN, scope=Scope.HARDWARE, every=True)})
        == 12
    )
    waits = proven(one.lease, one.ledger.nodes(["gpu-a01"])[0], one.work, L4)
    assert waits is not None
    assert "waits for its judgement" in waits


def test_a_task_that_runs_again_goes_on_behind_what_is_home() -> None:
    """Two segments in the ledger, the third interrupted: the next plan is the third's again, not the first's."""
    one = validation_booted()
    run_segment(one)
    run_segment(one)
    interrupted = planned(one)
    assert proven(one.lease, one.ledger.nodes(["gpu-a01"])[0], one.work, L4) is None
    assert planned(one) == interrupted
    assert interrupted["segment"] == {"number": 3, "of": 12}


def test_a_segment_whose_result_is_not_taken_in_is_run_again() -> None:
    """A result of another nonce is refused and costs this one segment."""
    one = validation_booted()
    run_segment(one)
    left_in_pod(one, {**result_of(one, planned(one)), "nonce": "0" * 64})
    with pytest.raises(Refused, match="nonce"):
        take_in(one)
    assert planned(one)["segment"]["number"] == 2


def test_a_boot_between_two_segments_ends_the_soak() -> None:
    """The node booted by itself: that is what a soak is there to find, and its proof is void."""
    one = bench("standby")
    one.machine.node = replace(validation_booted().machine.node or pytest.fail("no node"), name="gpu-a01")
    run_segment(one)
    one.machine.node = replace(one.machine.node, boot_id="another")
    with pytest.raises(Refused, match="it booted by itself"):
        planned(one)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "firmware_current"


def test_a_suite_of_one_pod_has_no_segment_in_its_plan() -> None:
    """Plans of L0 to L3 are as they were."""
    one = validation_booted()
    plan = make_plan(one.lease, one.node, one.work, Wanted(Scope.HARDWARE, "l2"))
    assert "segment" not in plan
    assert not unfinished(one.lease, one.node, one.work, Wanted(Scope.HARDWARE, "l2"))


@pytest.mark.parametrize("milestone", ["declared", "validation_booted", "burned_in", "verified", "standby"])
def test_a_soak_takes_nodes_up_to_standby_as_they_stand(milestone: str) -> None:
    """Nothing is voided by taking them."""
    one = bench(milestone)
    assert open_wave(request(), one.work).nodes == ("gpu-a01",)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == milestone


@pytest.mark.parametrize("milestone", ["in_service", "in_maintenance", "suspect", "cordoned", "drained", "unreachable"])
def test_a_soak_takes_no_node_that_serves_or_is_in_trouble(milestone: str) -> None:
    """An active test never touches a GPU that may be busy, nor a node that others work on."""
    one = bench(milestone)
    wave = open_wave(request(), one.work)
    assert wave.nodes == ()
    assert milestone in wave.left_out[0]


def test_a_quarantined_node_is_soaked_from_its_firmware_on() -> None:
    """As a bring-up does."""
    one = bench("quarantined")
    assert open_wave(request(), one.work).nodes == ("gpu-a01",)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "firmware_current"


def test_only_the_level_asked_for_counts_as_soaked() -> None:
    """A pass of L1 in this episode is no soak of L4."""
    one = bench("burned_in")
    qualified(one, "l1")
    (record,) = one.ledger.nodes(["gpu-a01"])
    assert soaked(record, "l4", one.work) is None
    qualified(one, "l4")
    assert soaked(record, "l4", one.work) is not None


def test_the_end_of_a_soak_says_until_when_and_who_goes_on() -> None:
    """Before standby the episode waits for a bring-up; the lease is given back."""
    one = bench("burned_in")
    qualified(one, "l4")
    end = finish_soak(lambda: one.lease, one.ledger.nodes(["gpu-a01"])[0], one.work, "l4")
    assert end.reached
    assert "passed l4 and is burned_in" in end.sentence
    assert "bring_up takes it on" in end.sentence
    with pytest.raises(Refused):
        one.ledger.lease("gpu-a01", RUN)


def test_every_soak_is_cut_into_pods_of_at_most_four_hours() -> None:
    """The loader refuses longer ones; the shipped ones are twelve and twenty-four pods."""
    assert [library().suite(name).segments for name in ("l3", "l4", "l5")] == [1, 12, 24]
