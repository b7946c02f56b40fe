"""What the ledger's tests share: a clock that moves by hand, nodes, and a bench with one database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml
from nodeworthy.adapters.ledger_sql import SqlLedger
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.table import Lifecycle

START = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
LIFECYCLE = Lifecycle.from_document(
    yaml.safe_load((Path(__file__).parents[3] / "include" / "lifecycle" / "default.yaml").read_text())
)
ONBOARDING: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("discover", {"system_id": "System_0"}),
    ("inventory", {"components": 3}),
    ("conform", {"sku": "h100-sxm-8"}),
    ("firmware", {"firmware_set": "2026.11"}),
    ("boot_validation", {"boot_id": "b1", "image": "validation"}),
    ("qualify_hardware", {}),
    ("provision", {"boot_id": "b2", "image": "approved", "machine_id": "m1", "node_uid": "u1"}),
    ("attest", {"nonce": "ab"}),
    ("qualify_platform", {}),
    ("enter_standby", {}),
)


@dataclass
class ManualClock:
    """A clock that moves when it is told to."""

    time: datetime = START

    def now(self) -> datetime:
        """Return the present."""
        return self.time

    def pass_(self, time: timedelta) -> None:
        """Let time pass."""
        self.time += time


def node(name: str, serial: str = "", **more: Any) -> FleetNode:
    """Return a manifest row; its serial is its name in capitals when none is given."""
    bmc = BmcAddress(f"https://bmc-{name}.example")
    return replace(FleetNode(name, serial or name.upper(), "h100-sxm-8", "pool-a", "r1", 1, bmc), **more)


def reference(name: str) -> EvidenceReference:
    """Return a reference whose hash differs by name."""
    return EvidenceReference(f"evidence/{name}", name.encode().hex().rjust(64, "0")[-64:], len(name))


def result(lease: Lease, scope: Scope = Scope.HARDWARE, name: str = "bundle-1", **more: Any) -> StoredResult:
    """Return a stored result of the lease's node with two measurements, one of them missing."""
    rows = [
        {"test": "nvlink.bandwidth", "component": "gpu/0-gpu/1", "metric": "peer_bandwidth", "value": 361.5}
        | {"unit": "GB/s", "statistic": "single", "status": "ok", "parameters": {"size_bytes": 1024}},
        {"test": "gpu.identity", "component": "gpu/7", "metric": "nvlinks_up", "value": None}
        | {"unit": "count", "statistic": "single", "status": "missing"},
    ]
    document = {"schema": "nodeworthy.result/1", "node": lease.node, "measurements": rows}
    stored = StoredResult(lease.node, lease.episode, scope, "l1", reference(f"{lease.node}-{name}"), document, False)
    return replace(stored, **more)


def judgement(
    lease: Lease, scope: Scope, verdict: Verdict = Verdict.PASS, sentence: str = "As it should be."
) -> Judgement:
    """Return a judgement without reasons."""
    return Judgement(lease.node, scope, "l1", verdict, (), sentence)


def qualification(lease: Lease, scope: Scope, now: datetime, life: timedelta = timedelta(days=30)) -> Qualification:
    """Return what a pass grants."""
    dossier = reference(f"dossier-{scope}")
    return Qualification(lease.node, scope, "l1", lease.episode, now, now + life, dossier, "b1", "2026.11")


@dataclass
class Bench:
    """One migrated database and a ledger on it."""

    url: str
    clock: ManualClock = field(default_factory=ManualClock)
    ledger: SqlLedger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.another()

    def another(self) -> SqlLedger:
        """Open a second ledger on the same database, as another process would."""
        return SqlLedger(self.url, self.clock, LIFECYCLE)

    def take(self, name: str = "n1", run: str = "run-1", kind: str = "onboarding") -> Lease:
        """Declare a node and take its lease for an hour."""
        if not self.ledger.nodes([name]):
            self.ledger.import_fleet([node(name)])
        return self.ledger.open_episode(name, kind=kind, run=run, lifetime=HOUR)

    def qualify(self, lease: Lease, scope: Scope) -> None:
        """Judge a scope as passed."""
        self.ledger.record_judgement(lease, judgement(lease, scope), qualification(lease, scope, self.clock.now()))

    def bring(self, lease: Lease, to: str) -> None:
        """Bring a declared node to a milestone of onboarding, as bring-up does."""
        self.approve(lease)
        for event, facts in ONBOARDING:
            if self.milestone(lease.node) == to:
                return
            if event in ("qualify_hardware", "qualify_platform"):
                self.qualify(lease, Scope(event.removeprefix("qualify_")))
            if event == "enter_standby":
                self.ledger.record_certificate(lease, reference("certificate"), self.clock.now() + timedelta(days=30))
            self.ledger.advance(lease, event, facts)

    def approve(self, lease: Lease) -> None:
        """Answer for the plan of an episode, as policy or a person does."""
        self.ledger.record_approval(lease, plan_sha256="p" * 64, who="policy", answer="approve", why="lab")

    def admit(self, lease: Lease, facts: Mapping[str, Any] | None = None) -> Moved:
        """Let a spare into service, which is answered for."""
        self.approve(lease)
        return self.ledger.advance(lease, "admit", facts or {})

    def milestone(self, name: str = "n1") -> str:
        """Return where a node stands."""
        return self.ledger.nodes([name])[0].milestone

    def reason(self, name: str = "n1") -> str:
        """Return why a node stopped."""
        return self.ledger.nodes([name])[0].reason

    def sql(self, statement: str, **values: Any) -> list[Any]:
        """Reach past the ledger, as a vandal or a database administrator would."""
        engine = engine_of(self.url)
        try:
            with engine.begin() as connection:
                found = connection.execute(sa.text(statement), values)
                return list(found) if found.returns_rows else []
        finally:
            engine.dispose()
