"""Statements compiled ahead: a forked task finds them, and nothing was reached for it."""

from __future__ import annotations

from typing import Any

import pytest
from nodeworthy.adapters.ledger_sql import SqlLedger
from nodeworthy.adapters.ledger_sql.ahead import compile_ahead
from nodeworthy.errors import Transient
from sqlalchemy import event

from tests.contract.ledger.support import LIFECYCLE, Bench, ManualClock

NOBODY_THERE = "postgresql+psycopg2://nobody@127.0.0.1:1/none"


def compiled_by(ledger: SqlLedger) -> list[str]:
    """Return a list that grows by each statement for which nothing compiled was found."""
    missed: list[str] = []

    def hear(_connection: Any, _cursor: Any, text: str, _values: Any, context: Any, _many: bool) -> None:
        hit = getattr(context, "cache_hit", None)
        if hit is not None and hit.name == "CACHE_MISS":
            missed.append(text)

    event.listen(ledger.engine, "before_cursor_execute", hear)
    return missed


def test_what_a_step_says_is_found_compiled(bench: Bench) -> None:
    """Lease, effect, nonce and the reads of a step compile nothing on either database, and mean what they always do."""
    assert compile_ahead(bench.url, LIFECYCLE) > 40
    bench.take("n1", run="run-1")
    ledger = bench.another()
    missed = compiled_by(ledger)
    lease = ledger.lease("n1", "run-1")
    ledger.beat("run-1")
    effect = ledger.settle(lease, ledger.intend(lease, "reset", "boot/1", {"kind": "On"}), "proven", {"boot_id": "b"})
    ledger.nonce(lease, "hardware")
    assert ledger.effects("n1", episode=lease.episode) == (effect,)
    assert [record.node.name for record in ledger.nodes(["n1"])] == ["n1"]
    assert (ledger.holds("n1"), ledger.judgements("n1", episode=lease.episode)) == ((), ())
    ledger.close()
    assert missed == []


def test_a_kept_engine_has_one_taker(bench: Bench) -> None:
    """Two ledgers at one URL have connections of their own, whatever was compiled for it."""
    compile_ahead(bench.url, LIFECYCLE)
    first, second = bench.another(), bench.another()
    assert first.engine is not second.engine


def test_the_database_is_not_reached() -> None:
    """Compiling ahead for a database that is away works; only who speaks to it is told."""
    compile_ahead(NOBODY_THERE, LIFECYCLE)
    ledger = SqlLedger(NOBODY_THERE, ManualClock(), LIFECYCLE)
    with pytest.raises(Transient):
        ledger.nodes(["n1"])
