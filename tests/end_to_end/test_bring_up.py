"""The main job against the lab, through real Airflow processes: what an operator is promised, seen from outside."""

from __future__ import annotations

from collections import Counter

import pytest

from stack.demo import wait_for_dag
from tests.end_to_end.conftest import Running

pytestmark = pytest.mark.live

HEALTHY = ("gpu-a01", "gpu-a02", "gpu-a04", "gpu-a05", "gpu-a07")
REFUSED = {"gpu-a03": "inventoried", "gpu-a06": "quarantined", "gpu-a08": "conformant"}


@pytest.fixture(scope="module")
def first_run(running: Running) -> tuple[str, str]:
    """The demonstration's batch, brought up once."""
    return running.bring_up(batch="demo")


def test_five_healthy_nodes_reach_standby_and_three_faulty_ones_do_not(
    running: Running, first_run: tuple[str, str]
) -> None:
    """The run fails because three nodes did not arrive; the five others did."""
    assert first_run[1] == "failed"
    assert running.milestones() == {**dict.fromkeys(HEALTHY, "standby"), **REFUSED}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("gpu-a03", ("h100-sxm-8",)),
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
    tasks = running.api.tasks("bring_up", run)
    mapped = [task for task in tasks if task["map_index"] >= 0 and task["state"] in ("success", "failed")]
    names = set(HEALTHY) | set(REFUSED)
    assert {task["rendered_map_index"] for task in mapped} == names
    failed = {
        task["rendered_map_index"]: task for task in mapped if task["task_id"] == "finish" and task["state"] == "failed"
    }
    assert set(failed) == set(REFUSED)
    for node, task in failed.items():
        lines = running.api.log("bring_up", run, "finish", map_index=task["map_index"], attempt=task["try_number"])
        said = [line for line in lines if line and not line.startswith("::")]
        assert said[-1] == running.reason(node)


def test_at_most_eight_task_instances_belong_to_a_node(running: Running, first_run: tuple[str, str]) -> None:
    """A task costs half a CPU second, so a node gets eight."""
    tasks = running.api.tasks("bring_up", first_run[0])
    per_node = Counter(task["map_index"] for task in tasks if task["map_index"] >= 0)
    assert max(per_node.values()) <= 8


def test_effects_are_done_once_and_customers_stay_out(running: Running, first_run: tuple[str, str]) -> None:
    """The lab counted, from outside: no effect id twice, two resets for boots, and no customer's pod on any node."""
    effects = running.effects()
    ids = Counter(
        (e["kind"], e["effect_id"]) for e in effects if e["effect_id"] and e["kind"] in ("reset", "firmware-update")
    )
    assert ids
    assert max(ids.values()) == 1
    assert [e for e in effects if e["kind"] == "customer-pod-scheduled"] == []


def test_a_second_run_of_the_same_batch_repeats_nothing_that_is_proven(
    running: Running, first_run: tuple[str, str]
) -> None:
    """`retry_of` takes only the nodes that did not arrive, and the standby ones get no effect."""
    before = {node: _resets(running, node) for node in HEALTHY}
    run, state = running.bring_up(retry_of=first_run[0])
    assert state == "failed"
    names = {t["rendered_map_index"] for t in running.api.tasks("bring_up", run) if t["map_index"] >= 0}
    assert names - {None} <= set(REFUSED)
    assert {node: _resets(running, node) for node in HEALTHY} == before


def test_a_healed_node_arrives_in_the_next_run(running: Running, first_run: tuple[str, str]) -> None:
    """When the cause is gone the same node goes on from where it stands and reaches standby."""
    running.stack.lab("heal", "gpu-a06")
    running.stack.lab("heal", "gpu-a08")
    _, state = running.bring_up(nodes=["gpu-a06", "gpu-a08"])
    assert state == "success"
    assert running.milestones()["gpu-a06"] == "standby"
    assert running.milestones()["gpu-a08"] == "standby"


def test_admission_alone_lets_customers_in(running: Running, first_run: tuple[str, str]) -> None:
    """After `admit` the node is in service and the customer's waiting pod is scheduled on it, and on no other."""
    wait_for_dag(running.api, "admit")
    run = running.api.trigger("admit", {"nodes": ["gpu-a01"]})
    assert running.api.wait("admit", run, patience_seconds=180) == "success"
    assert running.milestones()["gpu-a01"] == "in_service"
    assert {e["node"] for e in running.effects() if e["kind"] == "customer-pod-scheduled"} <= {"gpu-a01"}


def test_a_form_that_makes_no_sense_is_refused_with_one_sentence(running: Running, first_run: tuple[str, str]) -> None:
    """What the schema can refuse is answered 400; an unknown node alone fails the first task with its name."""
    with pytest.raises(RuntimeError, match="400"):
        running.api.trigger("bring_up", {"nodes": "gpu-a01"})
    run, state = running.bring_up(nodes=["gpu-z99"])
    assert state == "failed"
    said = [line for line in running.api.log("bring_up", run, "open_wave") if line and not line.startswith("::")]
    assert said[-1] == "gpu-z99 is not in the fleet manifest and was left out."


def _resets(running: Running, node: str) -> int:
    return sum(1 for effect in running.effects() if effect["kind"] == "reset" and effect["node"] == node)
