"""Deadline check and reconcile diff over 10,000 nodes.

Run as `python -m benchmarks housekeeping URL [NODES]` on an empty database; it prints one JSON document. API calls are
left out: the cluster's answer is made beforehand, and nothing is written to it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.adapters.ledger_sql import SqlLedger, schema, upgrade
from nodeworthy.adapters.ledger_sql.chain import GENESIS
from nodeworthy.adapters.ledger_sql.schema_upkeep import identities, outbox
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.lifecycle.upkeep import Limit, Notice
from nodeworthy.ports import ClusterNode, Taint
from nodeworthy.procedures.drift import Reader

INCLUDE = Path(__file__).parents[1] / "include"
STANDBY = Taint("nodeworthy.dev/standby", "NoSchedule")


@cache
def lifecycle() -> Lifecycle:
    """Return the shipped lifecycle."""
    return YamlLibrary(INCLUDE).lifecycle()


def main(arguments: Sequence[str]) -> int:
    """Measure on the database at the given URL."""
    url, nodes = arguments[0], int(arguments[1]) if len(arguments) > 1 else 10_000
    upgrade(url)
    ledger = SqlLedger(url, SystemClock(), lifecycle())
    found: dict[str, Any] = {"benchmark": "housekeeping", "database": sa.make_url(url).get_backend_name()}
    found["nodes"] = nodes
    _stand_by(url, [f"n{number:05}" for number in range(nodes)])
    found |= _deadlines(ledger) | _reconcile(ledger, nodes)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


def _node(name: str) -> FleetNode:
    address = BmcAddress(f"https://bmc-{name}.example")
    return FleetNode(name, name.upper(), "h100-sxm-8", "pool", f"r{name[-2:]}", 1, address)


def _timed(act: Callable[[], Any]) -> dict[str, float]:
    """Return wall seconds, and CPU seconds of this process: on a machine with other work the first tells little."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return {"wall": round(time.perf_counter() - wall, 2), "cpu": round(time.process_time() - cpu, 2)}


def _stand_by(url: str, names: Sequence[str]) -> None:
    """Write nodes in standby past the ledger's own methods, as if they had been brought up yesterday."""
    engine, at, numbers = engine_of(url), SystemClock().now() - timedelta(days=1), count(1_000_000)
    state = {"milestone": "standby", "since": at, "row_version": 9, "audit_sequence": 0, "audit_head": GENESIS}
    empty = {"batch": "", "tenant": "", "fabric_domain": "", "cabling": [], "reason": ""}
    rows = [{**state, **empty, **_declared(_node(name))} for name in names]
    episodes = [{"id": next(numbers), "node": row["serial"], "kind": "onboarding", "opened_at": at} for row in rows]
    with engine.begin() as connection:
        connection.execute(sa.insert(schema.nodes), rows)
        connection.execute(sa.insert(schema.episodes), [{**row, "closed_at": at} for row in episodes])
        connection.execute(sa.insert(outbox), [_told(row, at) for row in episodes])
        connection.execute(sa.insert(identities), [_known(row["node"], at) for row in episodes])
    engine.dispose()


def _declared(node: FleetNode) -> dict[str, Any]:
    plain = {name: getattr(node, name) for name in ("serial", "name", "sku", "pool", "rack", "position")}
    return {**plain, "bmc": asdict(node.bmc)}


def _told(episode: dict[str, Any], at: datetime) -> dict[str, Any]:
    named = {"node": episode["node"], "episode": episode["id"], "milestone": "standby"}
    return {**named, "at": at, "delivered_at": at, "outcome": "shown"}


def _known(serial: str, at: datetime) -> dict[str, Any]:
    name = serial.lower()
    return {
        "node": serial,
        "at": at,
        **{key: f"{key}-{name}" for key in ("boot_id", "machine_id", "uid", "system_uuid")},
    }


def _deadlines(ledger: SqlLedger) -> dict[str, dict[str, float]]:
    """Time the check when nobody is overdue, when all are, and the notices of all."""
    now = SystemClock().now()
    none = [Limit(row.name, now - timedelta(days=400)) for row in lifecycle().milestones]
    everyone = [Limit(row.name, now) for row in lifecycle().milestones]
    told = [Notice("deadline", one.serial, "overdue", one.name) for one in ledger.overdue(everyone)]
    return {
        "deadlines_nobody_overdue_seconds": _timed(lambda: ledger.overdue(none)),
        "deadlines_all_overdue_seconds": _timed(lambda: ledger.overdue(everyone)),
        "notices_of_all_seconds": _timed(lambda: ledger.raise_notices(told)),
        "notices_of_all_again_seconds": _timed(lambda: ledger.raise_notices(told)),
    }


def _reconcile(ledger: SqlLedger, nodes: int) -> dict[str, dict[str, float]]:
    """Time reading the ledger and comparing: a fleet that agrees, and one of which every hundredth drifted."""
    good = [_seen(f"n{number:05}") for number in range(nodes)]
    bad = [_seen(node.name, STANDBY if number % 100 else None) for number, node in enumerate(good)]
    standings = ledger.standings()
    reader = Reader(lifecycle())
    assert len(reader.differences([one for one in standings if one.milestone == "standby"], bad)) == nodes // 100
    return {
        "standings_seconds": _timed(ledger.standings),
        "compare_agreeing_seconds": _timed(lambda: reader.differences(standings, good)),
        "compare_drifted_seconds": _timed(lambda: reader.differences(standings, bad)),
    }


def _seen(name: str, taint: Taint | None = STANDBY) -> ClusterNode:
    known = _known(name.upper(), SystemClock().now())
    taints = (taint,) if taint else ()
    ids = (known["boot_id"], known["machine_id"], known["system_uuid"])
    return ClusterNode(name, known["uid"], True, True, *ids, "image", "6.8", taints, {}, {}, "1")
