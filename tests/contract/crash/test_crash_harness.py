"""The crash harness: a hundred processes die and nothing is wrong, and what would be wrong is found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.store import engine_of

from benchmarks.crash import crash, table
from benchmarks.crash_books import WORDS, Books
from benchmarks.crash_fleet import CrashFleet, library, start
from lab.kubelet import sandbox

KILLS, MANY = 100, 10_000


@pytest.fixture(autouse=True)
def _isolation() -> None:
    denied = sandbox.check()
    if denied:
        pytest.skip(denied)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [KILLS, pytest.param(MANY, marks=[pytest.mark.long, pytest.mark.timeout(20_000)])])
def test_processes_that_die_anywhere_leave_nothing_wrong(kills: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed, stopped, woken too late, run again: no effect twice or under a stale token, no row of the audit lost."""
    result = crash(kills, seed=20261130)
    with capsys.disabled():
        print(f"\n{table(result)}")
    assert result["kills"] >= kills
    assert result["wrong"] == dict.fromkeys(sorted(WORDS), 0)
    # Which steps they hit hangs on the machine's pace; that somebody came too late does not.
    assert result["processes"]["twin that woke too late"] + result["processes"].get("actor with an old lease", 0) > 0


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[CrashFleet]:
    """Two nodes on which nothing went wrong yet."""
    one = start(tmp_path, 2, seed=1)
    yield one
    one.close()


def reset(fleet: CrashFleet, name: str, *effect_ids: str) -> None:
    """Reset a node once for each id, past the ledger."""
    node = fleet.opened.nodes([name])[0].node
    ports = fleet.ports(fleet.opened, lambda _: None)
    for effect_id in effect_ids:
        with ports.bmcs.open(node, library().sku(node.sku)) as bmc:
            bmc.reset("ForceRestart", effect_id=effect_id)


def test_the_books_find_what_is_wrong(fleet: CrashFleet) -> None:
    """A reset sent twice, one nobody wrote down, one of a stale actor, a row of the audit rewritten, a lease kept."""
    books, ledger = Books(fleet, library().lifecycle()), fleet.opened
    lease = ledger.open_episode("node-01", kind="onboarding", run="r", lifetime=timedelta(days=9))
    effect = ledger.intend(lease, "reset", "boot/1", {"last_reset": None})
    reset(fleet, "node-01", effect.id, effect.id, "fx-nobody")
    since, head = len(fleet.effects()), books.head("node-01")
    reset(fleet, "node-01", "fx-stale")
    books.check_stale("node-01", since, head, "the test")
    engine = engine_of(f"sqlite:///{fleet.folder / 'ledger.db'}")
    with engine.begin() as connection:
        connection.execute(sa.update(schema.audit).where(schema.audit.c.sequence == 1).values(action="nothing"))
    engine.dispose()
    books.close()
    assert books.found["effects under a stale token"] == 1
    assert books.found["repeated effects"] == 2
    assert books.found["effects nobody wrote down"] == 2
    assert books.found["audit rows lost or unverifiable"] >= 2
    assert books.found["nodes without an owner"] >= 1


def test_an_admission_is_checked_against_both_scopes(fleet: CrashFleet) -> None:
    """A node that somebody put into service past the ledger's guards is found."""
    engine = engine_of(f"sqlite:///{fleet.folder / 'ledger.db'}")
    with engine.begin() as connection:
        connection.execute(sa.update(schema.nodes).values(milestone="in_service"))
    engine.dispose()
    books = Books(fleet, library().lifecycle())
    books.check_admission("node-02")
    assert books.found["admissions without both scopes"] == 1
