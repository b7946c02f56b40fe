"""How many moves a second the ledger writes over many nodes: transition, audit, outbox, each in its own transaction.

Run as `python -m benchmarks advance [URL...] [--writers 4] [--nodes 400] [--write]`, each URL an empty database, or on
a SQLite file and a private PostgreSQL that keeps every commit. Writers are processes with nodes of their own, leases
and approvals taken beforehand. Each node makes the first five moves of bring-up; two of them void qualifications, one
proves a boot. On a machine with other work the CPU seconds tell more than the clock: the writers' own, and those of a
PostgreSQL server on this machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.table import Lifecycle

from benchmarks.results import write
from stack.postgres import binaries, server

INCLUDE = Path(__file__).parents[1] / "include"
RUN = "bench"
MOVES: Sequence[tuple[str, dict[str, Any]]] = (
    ("discover", {"system_id": "1"}),
    ("inventory", {"components": 73}),
    ("conform", {"sku": "h100-sxm-8"}),
    ("firmware", {"firmware_set": "2026.11"}),
    ("boot_validation", {"boot_id": "b1", "image": "validation", "machine_id": "m1", "node_uid": "u1"}),
)


@dataclass(frozen=True, slots=True)
class Share:
    """What one writer did: from when to when, its CPU seconds, and how long each move took it."""

    began: float
    ended: float
    cpu_seconds: float
    seconds: tuple[float, ...]


@cache
def lifecycle() -> Lifecycle:
    """Return the shipped lifecycle, read once, before the processes part."""
    return YamlLibrary(INCLUDE).lifecycle()


def main(arguments: Sequence[str]) -> int:
    """Measure on each database and print a table; with `--write` keep the figures as a dated result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks advance", description=__doc__)
    parser.add_argument("urls", nargs="*", metavar="URL")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    with _databases(given.urls) as urls:
        runs = [measure(url, given.nodes, given.writers) for url in urls]
    load = round(os.getloadavg()[0], 1)
    result = {"benchmark": "advance", "cpus": os.cpu_count(), "load_at_end": load, "runs": runs}
    write(result, _table(result), keep=given.write)
    return 0


@contextmanager
def _databases(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    """Give these databases, or new ones of each kind."""
    with ExitStack() as kept:
        if not urls:
            folder = kept.enter_context(TemporaryDirectory(prefix="nodeworthy-advance-"))
            urls = [f"sqlite:///{folder}/ledger.db"]
            installed = binaries()
            if installed is not None:
                place = kept.enter_context(server(installed, durable=True))
                urls.append(f"postgresql+psycopg2://nodeworthy@/postgres{place}")
        yield urls


def measure(url: str, nodes: int, writers: int) -> dict[str, Any]:
    """Return the figures of one database: moves a second by the clock, CPU milliseconds a move, latencies."""
    upgrade(url)
    names = [f"m{number:05}" for number in range(nodes)]
    _ready(url, names)
    server = _server_cpu(url)
    lifecycle()
    with ProcessPoolExecutor(writers) as pool:
        shares = list(pool.map(_move, [(url, names[start::writers]) for start in range(writers)]))
    moves = len(MOVES) * nodes
    wall = max(one.ended for one in shares) - min(one.began for one in shares)
    each = sorted(one for share in shares for one in share.seconds)
    spent = (_server_cpu(url) or 0.0) - (server or 0.0)
    figures = {
        "moves_per_second": round(moves / wall, 1),
        "writer_cpu_ms_per_move": _milliseconds(sum(one.cpu_seconds for one in shares) / moves),
        "server_cpu_ms_per_move": None if server is None else _milliseconds(spent / moves),
        "median_ms": _milliseconds(statistics.median(each)),
        "p99_ms": _milliseconds(each[int(len(each) * 0.99)]),
    }
    return {**_database(url), "nodes": nodes, "moves": moves, "writers": writers, **figures, "audit": _audit(url)}


def _ready(url: str, names: Sequence[str]) -> None:
    """Declare the nodes, take their leases and answer for their plans."""
    ledger = SqlLedger(url, SystemClock(), lifecycle())
    ledger.import_fleet([_node(name) for name in names])
    for name in names:
        lease = ledger.open_episode(name, kind="onboarding", run=RUN, lifetime=timedelta(hours=1))
        ledger.record_approval(lease, plan_sha256="p" * 64, who="policy", answer="approve", why="bench")
    ledger.close()


def _move(share: tuple[str, Sequence[str]]) -> Share:
    url, names = share
    ledger = SqlLedger(url, SystemClock(), lifecycle())
    leases = [ledger.lease(name, RUN) for name in names]
    seconds: list[float] = []
    began, cpu = time.time(), time.process_time()
    for event, facts in MOVES:
        for lease in leases:
            start = time.perf_counter()
            ledger.advance(lease, event, facts)
            seconds.append(time.perf_counter() - start)
    ended, used = time.time(), time.process_time() - cpu
    ledger.close()
    return Share(began, ended, used, tuple(seconds))


def _audit(url: str) -> str:
    """Check every chain that was written: a fast ledger that lost a row is none."""
    ledger = SqlLedger(url, SystemClock(), lifecycle())
    problems = ledger.verify_audit()
    ledger.close()
    return problems[0] if problems else "holds"


def _database(url: str) -> dict[str, Any]:
    """Return the database's kind and what decides how durable its commits are."""
    engine = engine_of(url)
    backend = engine.dialect.name
    words = ("SHOW synchronous_commit", "SHOW fsync") if backend == "postgresql" else ("PRAGMA synchronous",)
    with engine.connect() as connection:
        settings = {word.split()[-1]: connection.scalar(sa.text(word)) for word in words}
    engine.dispose()
    return {"database": backend, "settings": settings}


def _server_cpu(url: str) -> float | None:
    """Return the CPU seconds of the PostgreSQL server and its children so far; None where it is not on this machine."""
    if not url.startswith("postgresql"):
        return None
    engine = engine_of(url)
    with engine.connect() as connection:
        mine = connection.scalar(sa.text("SELECT pg_backend_pid()"))
    stat = _stat(str(mine))
    engine.dispose()
    if stat is None:
        return None
    parent = stat[1]
    # Backends that ended are in the postmaster's account of its children.
    found = [fields for path in Path("/proc").glob("[0-9]*") if (fields := _stat(path.name)) is not None]
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in found if fields[1] == parent)
    main_ = _stat(parent)
    ticks += sum(int(one) for one in main_[11:15]) if main_ else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: str) -> list[str] | None:
    """Return proc(5)'s fields of a process from its state on; None when it is gone or is no PostgreSQL."""
    try:
        name, _, rest = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")
    except OSError:
        return None
    return rest.split() if "postgres" in name else None


def _table(result: dict[str, Any]) -> str:
    columns = ("database", "writers", "moves", "moves_per_second", "writer_cpu_ms_per_move", "server_cpu_ms_per_move")
    columns = (*columns, "median_ms", "p99_ms", "audit")
    lines = ["# Moves a second", "", f"{result['cpus']} CPUs, load {result['load_at_end']} at the end.", ""]
    lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(str(run[name]) for name in columns)} |" for run in result["runs"]]
    return "\n".join(lines) + "\n"


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _node(name: str) -> FleetNode:
    address = BmcAddress(f"https://bmc-{name}.example")
    return FleetNode(name, name.upper(), "h100-sxm-8", "pool", f"r{name[-2:]}", 1, address)
