"""What makes the ledger quick must not make it careless: many writers, dead connections, the benchmark's own check."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from nodeworthy.adapters.ledger_sql.store import ask_the_rested
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Hold

from benchmarks.advance import MOVES, measure
from tests.contract.ledger.support import Bench


def test_the_benchmark_loses_no_move(bench: Bench) -> None:
    """Two writers over six nodes: every move is a transition, an outbox row and an audit row, and all chains hold."""
    figures = measure(bench.url, nodes=6, writers=2)
    moves = 6 * len(MOVES)
    assert (figures["moves"], figures["audit"]) == (moves, "holds")
    for query in (
        "SELECT count(*) FROM transitions",
        "SELECT count(*) FROM outbox",
        "SELECT count(*) FROM audit WHERE action = 'moved'",
    ):
        assert [tuple(row) for row in bench.sql(query)] == [(moves,)]


def test_a_hold_stops_a_row_whose_other_facts_are_not_read(bench: Bench) -> None:
    """Facts are read as the row's guards ask for them; a hold that was placed under the lease is always seen."""
    lease = bench.take()
    bench.ledger.hold(Hold("n1", "ada", "look first", None, "automation"))
    with pytest.raises(Refused, match="held by ada until it is released: look first"):
        bench.ledger.advance(lease, "discover", {"system_id": "1"})


@pytest.mark.parametrize("rested", [0.0, 3600.0])
def test_a_connection_that_died_at_rest_is_replaced(bench: Bench, rested: float) -> None:
    """The server ended it: it is noticed before it is used, unless it was in use a moment ago."""
    if bench.url.startswith("sqlite"):
        pytest.skip("a file has no server that could end a connection")
    engine = sa.create_engine(bench.url, poolclass=sa.QueuePool, pool_size=1)
    ask_the_rested(engine, rested)
    with engine.connect() as connection:
        mine = connection.scalar(sa.text("SELECT pg_backend_pid()"))
    bench.sql("SELECT pg_terminate_backend(:pid)", pid=mine)
    if rested:
        with pytest.raises(sa.exc.OperationalError), engine.connect() as connection:
            connection.scalar(sa.text("SELECT 1"))
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT pg_backend_pid()")) != mine
    engine.dispose()
