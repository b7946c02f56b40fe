"""Workers die by SIGKILL in the middle of every step; what runs afterwards completes and does no effect twice.

The lab counts from outside: per node one update of the outdated component, one reset to activate it, one power cycle
into each image, one installation, one admission.
"""

from __future__ import annotations

import random
import signal
import sys
import time

import pytest

from benchmarks.airflow_kills import strike
from stack.demo import wait_for_dag
from stack.layout import REPOSITORY
from tests.end_to_end.blows import ONCE, QUICK, blows, done
from tests.end_to_end.fleet import CRASH_NODES
from tests.end_to_end.killer import Blow, Killer
from tests.end_to_end.running import Running, counted_once

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

NODES = CRASH_NODES[:8]
LEAST_KILLS = 8
BLOWS = blows(NODES)


def assert_done_once(running: Running, node: str) -> None:
    """Assert what the lab counted for a node that arrived."""
    rows = running.effects(node=node)
    assert counted_once(rows)
    assert done(rows) == ONCE
    assert len([row for row in rows if row["kind"] == "node-delete"]) == 1
    assert [row for row in rows if row["kind"] == "customer-pod-scheduled"] == []


@pytest.fixture(scope="module")
def struck(running: Running) -> list[Blow]:
    """Bring eight nodes up while a worker of every step is killed; return the blows that hit."""
    run = running.trigger(nodes=list(NODES))
    killer = Killer(running, "bring_up", run, NODES, seed=20261130)
    state, hit = killer.follow(BLOWS, patience_seconds=560)
    assert state == "success", {node: running.reason(node) for node in NODES}
    return hit


def test_every_step_was_struck(struck: list[Blow], capsys: pytest.CaptureFixture[str]) -> None:
    """A test that kills nothing shows nothing: at least one blow hit a living worker of each step."""
    assert {blow.step for blow in struck} == {blow.step for blow in BLOWS}
    assert len(struck) >= LEAST_KILLS
    with capsys.disabled():
        print("\n| step | processes of Airflow killed | with the executor's worker |\n| --- | --- | --- |")
        for step in dict.fromkeys(blow.step for blow in struck):
            mine = [blow for blow in struck if blow.step == step]
            print(f"| {step} | {len(mine)} | {sum(blow.with_worker for blow in mine)} |")


@pytest.mark.parametrize("node", NODES)
def test_a_node_whose_workers_died_arrives_with_each_effect_done_once(
    running: Running, struck: list[Blow], node: str
) -> None:
    """It is in standby, and the lab counted one update, one activation and one power cycle per image."""
    assert running.milestones(node) == {node: "standby"}
    assert_done_once(running, node)


def test_an_admission_whose_worker_died_admits_once(running: Running, struck: list[Blow]) -> None:
    """Each taint goes once, by one effect, and the nodes are in service; at least one worker was hit."""
    nodes = NODES[:4]
    wait_for_dag(running.api, "admit")
    run = running.api.trigger("admit", {"nodes": list(nodes)})
    running.api.approve_all("admit", run, len(nodes), "struck on purpose")
    blows = [Blow("admit", node, latest_seconds=QUICK) for node in nodes]
    state, hit = Killer(running, "admit", run, nodes, seed=7).follow(blows, patience_seconds=180)
    assert state == "success"
    assert hit
    assert running.milestones(*nodes) == dict.fromkeys(nodes, "in_service")
    for node in nodes:
        gone = [row for row in running.effects(kind="taint-removed", node=node) if "standby" in row["taint"]]
        assert len(gone) == 1


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_two_hundred_processes_of_airflow_die_and_nothing_happens_twice() -> None:
    """On a stack of its own, wave after wave, each struck as above at other moments."""
    result = strike(kills=200, seed=1)
    assert result["kills"] >= 200
    assert not any(result["wrong"].values()), result


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_a_scheduler_that_dies_with_all_its_workers_repeats_no_effect(running: Running, seed: int) -> None:
    """The whole scheduler group is killed three times at moments that the seed chooses, and started again."""
    nodes = CRASH_NODES[8 + 4 * seed : 12 + 4 * seed]
    moments = random.Random(seed)
    run = running.trigger(nodes=list(nodes))
    for _ in range(3):
        time.sleep(moments.uniform(4, 30))
        running.stack.groups.stop("scheduler", how=signal.SIGKILL)
        running.stack.groups.start(
            "scheduler",
            [sys.executable, "-m", "airflow", "scheduler"],
            environment=running.stack.environment(),
            folder=REPOSITORY,
        )
    assert running.wait(run, patience_seconds=900) == "success"
    for node in nodes:
        assert_done_once(running, node)
