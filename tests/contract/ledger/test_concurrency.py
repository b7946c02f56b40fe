"""Many writers: one wins a node, all others learn why not; nothing is lost, nothing is written twice."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import IO

from nodeworthy.adapters.ledger_sql import SqlLedger
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Lease

from tests.contract.ledger.child import RealClock
from tests.contract.ledger.support import LIFECYCLE, Bench, node

HERE = Path(__file__)
PATHS = {"PYTHONPATH": f"{HERE.parents[3] / 'plugins'}:{HERE.parents[3]}"}


def start(url: str, verb: str, run: str) -> subprocess.Popen[str]:
    """Start a child on the ledger."""
    command = [sys.executable, str(HERE.with_name("child.py")), url, verb, run]
    return subprocess.Popen(
        command, env=PATHS, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def pipe(stream: IO[str] | None) -> IO[str]:
    """Return a pipe that was asked for."""
    assert stream is not None
    return stream


def test_two_processes_open_one_episode(bench: Bench) -> None:
    """Of two processes that take the same node at the same moment one gets it, the other learns who has it."""
    bench.ledger.import_fleet([node("n1")])
    children = {run: start(bench.url, "race", run) for run in ("run-1", "run-2")}
    for child in children.values():
        assert pipe(child.stdout).readline() == "ready\n"
    for child in children.values():
        pipe(child.stdin).write("go\n")
        pipe(child.stdin).flush()
    answers = {run: json.loads(child.communicate(timeout=30)[0]) for run, child in children.items()}
    won = [run for run, answer in answers.items() if "token" in answer]
    lost = [answer["refused"] for answer in answers.values() if "refused" in answer]
    assert len(won) == 1
    assert lost == [sentence for sentence in lost if f"n1 is held by {won[0]} until" in sentence]
    assert [tuple(row) for row in bench.sql("SELECT count(*) FROM episodes WHERE closed_at IS NULL")] == [(1,)]


def test_eight_threads_move_a_node_once(bench: Bench) -> None:
    """Eight threads that report the same event make one transition, and the chain holds."""
    lease = bench.take()
    with ThreadPoolExecutor(8) as pool:
        moves = list(pool.map(lambda _: bench.ledger.advance(lease, "discover", {"system_id": "1"}), range(8)))
    assert sorted(moved.changed for moved in moves) == [False] * 7 + [True]
    assert [row["action"] for row in bench.ledger.history("n1")].count("moved") == 1
    assert bench.ledger.verify_audit() == ()


def test_eight_threads_intend_one_effect(bench: Bench) -> None:
    """Eight threads that intend the same effect share one id, and exactly one of them may act."""
    lease = bench.take()
    with ThreadPoolExecutor(8) as pool:
        effects = list(pool.map(lambda _: bench.ledger.intend(lease, "reset", "k", {}), range(8)))
    assert len({effect.id for effect in effects}) == 1
    assert [effect.fresh for effect in effects].count(True) == 1


def test_eight_threads_bring_up_eight_nodes(bench: Bench) -> None:
    """Nodes do not wait for each other for ever, and every chain holds."""
    names = [f"n{number}" for number in range(8)]
    bench.ledger.import_fleet([node(name) for name in names])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: bench.bring(bench.take(name), "standby"), names))
    assert {record.milestone for record in bench.ledger.nodes()} == {"standby"}
    assert bench.ledger.verify_audit() == ()


def test_a_killed_process_leaves_its_intent(bench: Bench) -> None:
    """Killed between intent and outcome, a run leaves the intent; the next run finds it and knows it is not new."""
    bench.ledger.import_fleet([node("n1")])
    child = start(bench.url, "die", "run-1")
    said, _ = child.communicate(timeout=30)
    assert child.returncode == -9
    heir = SqlLedger(bench.url, RealClock(), LIFECYCLE)
    found = heir.effects("n1")
    assert [(effect.id, effect.status) for effect in found] == [(json.loads(said)["effect"], "intended")]
    lease = _take_after_expiry(heir)
    again = heir.intend(lease, "reset", "validation", {"boot_id": "b1"})
    assert (again.id, again.fresh, again.detail) == (found[0].id, False, {"boot_id": "b0"})
    assert heir.verify_audit() == ()
    heir.close()


def _take_after_expiry(ledger: SqlLedger) -> Lease:
    for _ in range(40):
        try:
            return ledger.open_episode("n1", kind="onboarding", run="run-2", lifetime=timedelta(minutes=5))
        except Refused:
            sleep(0.1)
    raise AssertionError("the dead run's lease never expired")
