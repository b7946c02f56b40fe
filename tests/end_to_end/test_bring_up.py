"""The main job against the lab, through real Airflow processes: what an operator is promised, seen from outside."""

from __future__ import annotations

from collections import Counter

import pytest

from stack.demo import wait_for_dag
from stack.rest import FINISHED
from tests.end_to_end.running import Running, counted_once

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

HEALTHY = ("gpu-a01", "gpu-a02", "gpu-a04", "gpu-a07")
REFUSED = {"gpu-a03": "inventoried", "gpu-a05": "provisioned", "gpu-a06": "quarantined", "gpu-a08": "conformant"}
REPAIRED = ("gpu-a05", "gpu-a06", "gpu-a08")


@pytest.fixture(scope="module")
def first_run(running: Running) -> tuple[str, str]:
    """The demonstration's batch, brought up once; one TPM more signs with a key that nobody vouches for."""
    running.stack.lab("inject", "gpu-a05", "tpm-wrong-key")
    return running.bring_up(batch="demo")


def squares(running: Running, run: str) -> set[str]:
    """Return the labels of the squares that ran: Airflow labels a square when it starts, not before."""
    ran = [task for task in running.tasks(run) if task["map_index"] >= 0 and task["start_date"] and task["pid"]]
    return {task["rendered_map_index"] for task in ran}


def test_the_healthy_nodes_reach_standby_and_the_faulty_ones_do_not(
    running: Running, first_run: tuple[str, str]
) -> None:
    """The run fails because four nodes did not arrive; the others did."""
    assert first_run[1] == "failed"
    assert running.milestones(*HEALTHY, *REFUSED) == {**dict.fromkeys(HEALTHY, "standby"), **REFUSED}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("gpu-a03", ("h100-sxm-8",)),
        ("gpu-a05", ("sign",)),
        ("gpu-a06", ("GB/s", "reference")),
        ("gpu-a08", ("firmware",)),
    ],
)
def test_each_refusal_says_what_was_seen(
    running: Running, first_run: tuple[str, str], node: str, words: tuple[str, ...]
) -> None:
    """The reason in the ledger is one sentence that names what differs."""
    reason = running.reason(node)
    assert all(word.lower() in reason.lower() for word in words), reason


def test_each_square_carries_its_nodes_name_and_a_red_one_ends_with_the_reason(
    running: Running, first_run: tuple[str, str]
) -> None:
    """Every square that ran is labelled with its node, and the last line of a failed one is the ledger's reason."""
    run, _ = first_run
    assert squares(running, run) == {*HEALTHY, *REFUSED}
    failed = {task["rendered_map_index"]: task for task in running.tasks(run, "finish") if task["state"] == "failed"}
    assert set(failed) == set(REFUSED)
    for node, task in failed.items():
        assert running.said(run, task)[-1] == running.reason(node)


def test_at_most_eight_task_instances_belong_to_a_node(running: Running, first_run: tuple[str, str]) -> None:
    """A task costs half a CPU second, so a node gets eight."""
    tasks = running.api.tasks("bring_up", first_run[0])
    per_node = Counter(task["map_index"] for task in tasks if task["map_index"] >= 0)
    assert max(per_node.values()) <= 8


def test_effects_are_done_once_and_customers_stay_out(running: Running, first_run: tuple[str, str]) -> None:
    """The lab counted, from outside: no effect id twice, two power cycles for boots, no customer's pod on any node."""
    for node in (*HEALTHY, *REFUSED):
        rows = running.effects(node=node)
        assert counted_once(rows)
        assert [row for row in rows if row["kind"] == "customer-pod-scheduled"] == []
    for node in HEALTHY:
        resets = [row["reset_type"] for row in running.effects(kind="reset", node=node)]
        assert [kind for kind in resets if kind == "PowerCycle"] == ["PowerCycle", "PowerCycle"]


def test_clear_failed_goes_on_with_repaired_nodes_in_the_same_run(running: Running, first_run: tuple[str, str]) -> None:
    """What failed is done again once its cause is gone, a bad verdict of either scope by measuring that node again."""
    run, _ = first_run
    before = {node: _resets(running, node) for node in (*HEALTHY, *REFUSED)}
    for node in REPAIRED:
        running.stack.lab("heal", node)
    running.clear_failed(run)
    running.until("the run to go on", lambda: running.api.run_state("bring_up", run) not in FINISHED)
    running.wait(run)
    for node in REPAIRED:
        assert running.milestones(node) == {node: "standby"}, running.reason(node)
    red = {task["rendered_map_index"] or task["task_id"] for task in running.tasks(run) if task["state"] == "failed"}
    assert red == {"gpu-a03", "judge_hardware", "judge_platform", "gate"}
    repeated = {node: _resets(running, node) - before[node] for node in (*HEALTHY, "gpu-a05", "gpu-a06")}
    assert repeated == {**dict.fromkeys(HEALTHY, 0), "gpu-a05": 0, "gpu-a06": 1}
    assert _judged(running, "gpu-a05") == ["hardware pass", "platform invalid", "platform pass"]
    assert _judged(running, "gpu-a06") == ["hardware fail", "hardware pass", "platform pass"]
    assert {len(_judged(running, node)) for node in HEALTHY} == {2}
    tries = (
        running.task(run, "provision", "gpu-a06")["try_number"],
        running.task(run, "finish", "gpu-a05")["try_number"],
    )
    assert tries == (2, 2)


def test_a_retry_takes_what_did_not_arrive(running: Running, first_run: tuple[str, str]) -> None:
    """`retry_of` leaves the standby nodes alone; a node whose part was exchanged reaches standby."""
    before = {node: _resets(running, node) for node in HEALTHY}
    running.stack.lab("heal", "gpu-a03")
    run, state = running.bring_up(retry_of=first_run[0])
    assert state == "success", running.reason("gpu-a03")
    assert squares(running, run) == {"gpu-a03"}
    assert running.milestones("gpu-a03") == {"gpu-a03": "standby"}
    assert {node: _resets(running, node) for node in HEALTHY} == before


def test_admission_alone_lets_customers_in(running: Running, first_run: tuple[str, str]) -> None:
    """After `admit` the node is in service and the customer's waiting pod is scheduled on it, and on no other."""
    wait_for_dag(running.api, "admit")
    run = running.api.trigger("admit", {"nodes": ["gpu-a01"]})
    running.api.approve_all("admit", run, 1, "the customer waits")
    assert running.api.wait("admit", run, patience_seconds=180) == "success"
    assert running.milestones("gpu-a01") == {"gpu-a01": "in_service"}
    placed = running.until("the customer's pod", lambda: running.effects(kind="customer-pod-scheduled", node="gpu-a01"))
    assert len(placed) == 1
    in_service = {node for node, milestone in running.milestones().items() if milestone == "in_service"}
    assert {row["node"] for row in running.effects(kind="customer-pod-scheduled")} <= in_service


def test_a_form_that_makes_no_sense_is_refused_with_one_sentence(running: Running, first_run: tuple[str, str]) -> None:
    """What the schema can refuse is answered 400; an unknown node alone fails the first task with its name."""
    with pytest.raises(RuntimeError, match="400"):
        running.api.trigger("bring_up", {"nodes": "gpu-a01"})
    run, state = running.bring_up(nodes=["gpu-z99"])
    assert state == "failed"
    (first,) = running.tasks(run, "open_wave")
    assert running.said(run, first)[-1] == "gpu-z99 is not in the fleet manifest and was left out."


def _resets(running: Running, node: str) -> int:
    return len(running.effects(kind="reset", node=node))


def _judged(running: Running, node: str) -> list[str]:
    """Return what was said of a node, oldest first."""
    return [f"{one.scope} {one.verdict}" for one in reversed(running.ledger.judgements(node))]
