"""Statements compiled before they are needed, for processes that are forked and live for a second.

SQLAlchemy compiles a statement when it is first said and keeps it with its engine. A task process is forked anew for
every task, so each would compile some twenty statements, which costs it more than saying them all. Here a node that
does not exist lives a short life in a ledger in memory; what is said to that one is compiled for the engine of the
real one, which is not connected: a connection must not be shared by two processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.sql import compiler

from nodeworthy.adapters.ledger_sql import SqlLedger, schema
from nodeworthy.adapters.ledger_sql.store import engine_of, keep
from nodeworthy.adapters.ledger_sql.together import Together
from nodeworthy.errors import NodeworthyError
from nodeworthy.evidence.inventory import Component, ComponentKind, Inventory
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.table import Lifecycle

NAME: Final = "rehearsal"
RUN: Final = "rehearsal/1"
HOUR: Final = timedelta(hours=1)
BUNDLE: Final = EvidenceReference("rehearsal", "0" * 64, 0)

Said = tuple[Any, tuple[str, ...], bool]
"""A statement, the names of the values that come with it, and whether many rows of them do."""


class _StoppedClock:
    """A clock of the port's shape that stands still."""

    def now(self) -> datetime:
        """Return any moment."""
        return datetime(2026, 1, 1, tzinfo=UTC)


def compile_ahead(url: str, lifecycle: Lifecycle) -> int:
    """Compile what a bring-up says to the ledger at `url` and keep the engine for whoever opens it; return how much.

    Reads and writes nothing there, and need not reach it. What was not foreseen is compiled when it is said, as ever.
    """
    engine: Any = engine_of(url)
    said = list(_said(engine, lifecycle))
    for statement, names, many in said:
        # There is no public way to compile into an engine's memory without a connection to its database.
        statement._compile_w_cache(
            engine.dialect,
            compiled_cache=engine._compiled_cache,
            column_keys=list(names),
            for_executemany=many,
            linting=engine.dialect.compiler_linting | compiler.WARN_LINTING,
        )
    keep(url, engine)
    return len(said)


def _said(engine: Any, lifecycle: Lifecycle) -> Iterator[Said]:
    """Yield what is said during a node's life, and the whole of what SQLite takes in parts."""
    ledger = SqlLedger("sqlite://", _StoppedClock(), lifecycle)
    stage: Any = ledger.engine
    schema.metadata.create_all(stage)
    if engine.dialect.name == stage.dialect.name:
        # Then the statements are also said with the real one's memory, which learns how their answers are read.
        stage.dialect, stage._compiled_cache = engine.dialect, engine._compiled_cache
    said: list[Said] = []
    event.listen(stage, "before_execute", partial(_hear, said))
    _live(ledger, lifecycle)
    ledger.close()
    yield from said
    for together in Together.all:
        yield together.whole, together.names, False


def _hear(said: list[Said], _connection: Any, statement: Any, many: Any, one: Any, _options: Any) -> None:
    rows = many or ([one] if one else [])
    said.append((statement, tuple(sorted(rows[0])) if rows else (), len(rows) > 1))


def _live(ledger: SqlLedger, lifecycle: Lifecycle) -> None:
    """Bring a node up as far as the ledger alone lets it; a step that is refused was said all the same."""
    bmc = BmcAddress("https://rehearsal.invalid")
    ledger.import_fleet([FleetNode(NAME, NAME, "sku", "pool", rack="rack", position=1, bmc=bmc, batch="batch")])
    lease = ledger.open_episode(NAME, kind="onboarding", run=RUN, lifetime=HOUR)
    for step in (*_work(ledger, lease, lifecycle), *_reads(ledger), *_end(ledger, lease)):
        with suppress(NodeworthyError):
            step()


def _work(ledger: SqlLedger, lease: Lease, lifecycle: Lifecycle) -> Iterator[Callable[[], Any]]:
    """Yield what steps write."""
    yield partial(ledger.open_episode, NAME, kind="onboarding", run=RUN, lifetime=HOUR)
    yield partial(ledger.lease, NAME, RUN)
    yield partial(ledger.beat, RUN)
    yield partial(ledger.nonce, lease, "hardware")
    yield lambda: ledger.settle(lease, ledger.intend(lease, "reset", "boot/1", {"kind": "On"}), "proven", {"at": "now"})
    yield partial(ledger.intend, lease, "reset", "boot/1", {})
    parts = tuple(Component(ComponentKind.GPU, str(slot), "model", f"serial-{slot}") for slot in range(2))
    inventory = Inventory(NAME, "maker", "model", "1", parts, ())
    yield partial(ledger.record_inventory, lease, inventory, BUNDLE)
    plan = "0" * 64
    yield partial(ledger.record_approval, lease, plan_sha256=plan, who="policy", answer="approve", why="auto")
    for row in lifecycle.path:
        yield partial(ledger.advance, lease, row.event, {"plan_sha256": plan, "reason": ""}, BUNDLE)
    document: dict[str, Any] = {"measurements": [], "tests": []}
    yield partial(
        ledger.record_result, lease, StoredResult(NAME, lease.episode, Scope.HARDWARE, "l1", BUNDLE, document, False)
    )


def _reads(ledger: SqlLedger) -> Iterator[Callable[[], Any]]:
    """Yield what steps ask."""
    episode = 1
    yield partial(ledger.nodes, [NAME])
    yield partial(ledger.effects, NAME, episode=episode)
    yield partial(ledger.answers, NAME, episode)
    yield partial(ledger.answers, NAME, episode, "0" * 64)
    yield partial(ledger.judgements, NAME, episode=episode)
    yield partial(ledger.qualifications, NAME)
    yield partial(ledger.certificate, NAME)
    yield partial(ledger.holds, NAME)
    yield partial(ledger.baseline_versions, "sku")
    yield partial(ledger.results, run=RUN, scope=Scope.HARDWARE, unjudged=False, every=True)
    yield lambda: ledger.delivered({NAME: due.revision}) if (due := ledger.due(NAME)) else None


def _end(ledger: SqlLedger, lease: Lease) -> Iterator[Callable[[], Any]]:
    yield partial(ledger.release, lease, close=True, reason="the rehearsal is over")
