"""Every fault of the lab in one wave: each faulty node is refused for its own reason, and no healthy node is."""

from __future__ import annotations

import pytest

from lab.truth.faults import catalogue
from tests.end_to_end.captures import CAPTURED
from tests.end_to_end.faults import BORNE, EXPECTED, REMARKED
from tests.end_to_end.fleet import HEALTHY_IN_WAVE
from tests.end_to_end.running import Running, counted_once

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wave(running: Running) -> str:
    """The wave of faulty nodes; it fails because its nodes do."""
    run, state = running.bring_up(batch="faults", patience_seconds=580)
    assert state == "failed"
    return run


def test_the_wave_has_a_node_for_every_fault() -> None:
    """A fault that is new in the lab needs a row here."""
    assert set(EXPECTED) | set(BORNE) == set(catalogue())


@pytest.mark.parametrize("fault", sorted(EXPECTED))
def test_a_faulty_node_is_refused_for_its_own_reason(running: Running, wave: str, fault: str) -> None:
    """The node's reason names what is wrong, and the node stands where that was found."""
    expected, node = EXPECTED[fault], f"f-{fault}"
    reason = running.reason(node)
    missing = [word for word in expected.words if word.lower() not in reason.lower()]
    assert not missing, f"{missing} not in: {reason}"
    assert running.milestones(node)[node] in expected.milestones


@pytest.mark.parametrize("node", sorted(CAPTURED))
def test_a_node_made_of_captures_runs_through_the_same_pipeline(running: Running, wave: str, node: str) -> None:
    """What its captures show is found where a real node would show it: by its BMC, its kernel's log, its tools."""
    reason = running.reason(node)
    missing = [word for word in CAPTURED[node] if word.lower() not in reason.lower()]
    assert not missing, f"{missing} not in: {reason}"


@pytest.mark.parametrize("node", [*HEALTHY_IN_WAVE, *(f"f-{name}" for name in BORNE)])
def test_no_healthy_node_is_refused(running: Running, wave: str, node: str) -> None:
    """Nodes without a fault, or with one that can be borne, arrive beside 42 that do not."""
    assert running.milestones(node) == {node: "standby"}, running.reason(node)


@pytest.mark.parametrize("fault", sorted(REMARKED))
def test_what_was_borne_is_on_record(running: Running, wave: str, fault: str) -> None:
    """A verdict that passed says what was noticed."""
    said = [remark.sentence for one in running.ledger.judgements(f"f-{fault}") for remark in one.remarks]
    assert any(all(words in sentence for words in REMARKED[fault]) for sentence in said), said


def test_customers_never_get_in_and_nothing_is_done_twice(running: Running, wave: str) -> None:
    """No customer's pod was ever placed on a node of the wave, and no effect was sent twice."""
    rows = [row for row in running.effects() if row["node"].startswith(("f-", "ok-"))]
    assert [row for row in rows if row["kind"] == "customer-pod-scheduled"] == []
    assert counted_once(rows)
