"""The fleet of the crash harness: a lab of its own over Redfish and Kubernetes, a ledger, and a clock that is moved.

The lab runs in a process of its own with its clock standing still, so that nothing happens between two steps that the
harness did not ask for. Whoever acts on the fleet is a forked child with ports of its own: the real ledger, the real
BMC and cluster adapters and the real evidence folder.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from mmap import mmap
from pathlib import Path
from typing import Any

import yaml
from nodeworthy.adapters.bmc_redfish import RedfishDirectory
from nodeworthy.adapters.cluster_kubernetes import ClusterKubernetes
from nodeworthy.adapters.evidence_folder import FolderStore
from nodeworthy.adapters.housekeeping_yaml import read_rules
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.procedures.upkeep import House
from nodeworthy.qualification.bmc_security import OFF

from lab.control import LabError, call
from lab.server import Settings, run
from lab.truth.fleet import load_fleet
from tests.doubles.bench import TrustingAttestation
from tests.doubles.ports import Ports

INCLUDE = Path(__file__).parents[1] / "include"
SKU = "h100-sxm-8"
OUTDATED = {"HostBIOS_0": "1.05.03"}
NAMESPACE = "nodeworthy-tests"
START_SECONDS = 60

PATIENCE_SECONDS = 600.0
"""A month of heartbeats takes the lab a while on a machine with other work."""


class SharedClock:
    """The product's time, one number that every child sees; moved by the harness alone."""

    def __init__(self) -> None:
        self._memory = mmap(-1, 8)

    def now(self) -> datetime:
        """Return the present as aware UTC."""
        return datetime.fromtimestamp(struct.unpack("d", self._memory[:8])[0], UTC)

    def set(self, moment: datetime) -> None:
        """Make it this time for everybody."""
        self._memory[:8] = struct.pack("d", moment.timestamp())


class MovedClock(YamlLibrary):
    """The shipped files, but for the look at the BMC's clock: the harness moves the product's away from it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shipped = self.security_rules()
        allowing = replace(shipped, stances={**shipped.stances, "clock": OFF})
        self.security_rules = cache(lambda: allowing)


@cache
def library() -> YamlLibrary:
    """Those files, read once before anybody forks."""
    return MovedClock(INCLUDE)


@dataclass
class CrashFleet:
    """A running lab with its ledger. `skew` is how far the product's clock is from the lab's."""

    folder: Path
    names: tuple[str, ...]
    clock: SharedClock
    process: Any
    opened: SqlLedger
    """The harness's own ledger. A child goes on with it on new connections: its statements are compiled already."""
    skew: timedelta = timedelta()

    @property
    def state(self) -> Path:
        """The lab's own folder."""
        return self.folder / "lab"

    def part(self) -> SqlLedger:
        """Return the ledger for a process that was just forked: its own connections, its parent's untouched."""
        self.opened._engine.dispose(close=False)
        return self.opened

    def cluster(self) -> ClusterKubernetes:
        """Open the cluster as one process does."""
        return ClusterKubernetes(str(self.state / "kubeconfig"), namespace=NAMESPACE)

    def ports(self, ledger: SqlLedger, say: Callable[[str], None]) -> Ports:
        """Return what a procedure gets; every adapter is new, as in a new process."""
        secret = json.loads((self.state / "credentials.json").read_text())
        bmcs = RedfishDirectory(lambda: (secret["username"], secret["password"]), self.clock)
        store = FolderStore(self.folder / "evidence")
        return Ports(self.clock, ledger, bmcs, self.cluster(), library(), store, TrustingAttestation(), say)

    def house(self, ports: Ports, ledger: Any, run_name: str) -> House:
        """Return what housekeeping gets."""
        return House(ports, ledger, FolderStore(self.folder / "evidence"), read_rules(INCLUDE), run_name)

    def pass_(self, time_: timedelta) -> None:
        """Let time pass, in the lab and for the product."""
        answer = call(self.state, "clock", PATIENCE_SECONDS, advance=f"{time_.total_seconds():.3f}s")
        self.clock.set(datetime.fromisoformat(answer["now"]) + self.skew)

    def set_skew(self, skew: timedelta) -> None:
        """Set the product's clock ahead of, or behind, the lab's."""
        self.skew = skew
        self.pass_(timedelta(seconds=1))

    def effects(self, since: int = 0) -> list[dict[str, Any]]:
        """Return what the lab counted, from outside, after the effect of this number."""
        found: list[dict[str, Any]] = call(self.state, "effects", since=since)
        return found

    def crash(self, name: str) -> None:
        """Let a node's system die and come back by itself, as after a lost power feed."""
        call(self.state, "crash", node=name, then="reboot")
        self.pass_(timedelta(hours=1))

    def close(self) -> None:
        """Stop the lab."""
        self.opened.close()
        call(self.state, "shutdown")
        self.process.join(20)
        if self.process.is_alive():
            self.process.kill()


def start(folder: Path, nodes: int, seed: int) -> CrashFleet:
    """Start a lab of `nodes` servers with outdated firmware, every third without power, and declare them."""
    names = tuple(f"node-{number:02d}" for number in range(1, nodes + 1))
    rows = [
        {"name": name, "sku": SKU, "rack": "crash", "position": number, "firmware": OUTDATED}
        | ({"power": "off"} if number % 3 == 0 else {})
        for number, name in enumerate(names, 1)
    ]
    fleet_file = folder / "fleet.yaml"
    fleet_file.write_text(yaml.safe_dump({"schema": "lab.fleet/1", "site": "crash", "nodes": rows}))
    settings = Settings(load_fleet(str(fleet_file)), folder / "lab", seed=seed, speed=0)
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(settings,), daemon=True)
    process.start()
    url, clock = f"sqlite:///{folder / 'ledger.db'}", SharedClock()
    upgrade(url)
    opened = SqlLedger(url, clock, library().lifecycle(), library().pool_policy)
    fleet = CrashFleet(folder, names, clock, process, opened)
    _await(fleet)
    fleet.pass_(timedelta(minutes=10))
    opened.import_fleet(library().fleet(str(fleet.state / "fleet.yaml")))
    return fleet


def _serve(settings: Settings) -> None:
    asyncio.run(run(settings))


def _await(fleet: CrashFleet) -> None:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and fleet.process.is_alive():
        try:
            call(fleet.state, "ping")
            if (fleet.state / "endpoints.json").exists():
                return
        except LabError:
            pass
        time.sleep(0.1)
    raise LabError("The crash harness's lab did not start: see what it wrote above.")
