"""A node on the bench: the doubles put together as `Work`, and a runner that waits as Airflow would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.inventory import Component, FirmwareItem, Inventory, Neighbour
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.admit import admission
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.plan import plan
from nodeworthy.procedures.ready import ready

from tests.doubles.crash import Fuse, Killed, fused
from tests.doubles.ledger import MemoryLedger
from tests.doubles.machine import Machine, MachineBmcs, MachineClock, MachineCluster
from tests.doubles.ports import Ports

INCLUDE = Path(__file__).parents[2] / "include"
RUN = "bring_up/test"
SERIAL = "1571523000123"

Procedure = Callable[[Lease, FleetNode, Work], Done | Waiting]


@cache
def library() -> YamlLibrary:
    """The shipped files; tests run against what users get."""
    return YamlLibrary(INCLUDE)


def healthy_inventory(sku_name: str = "h100-sxm-8") -> Inventory:
    """What the BMC of a node shows that is built exactly as its SKU says, with current firmware and two cables."""
    sku = library().sku(sku_name)
    parts = [
        Component(
            rule.kind,
            f"{rule.kind.value}-{number}",
            rule.models[0],
            f"S{number}",
            "",
            rule.capacity_mib,
            speed_mts=rule.speed_mts,
        )
        for rule in sku.parts
        for number in range(rule.count)
    ]
    firmware = [
        FirmwareItem(entry.id, entry.target, True, f"/fw/{entry.id}")
        for entry in library().firmware_set(sku.firmware_set).entries
    ]
    cables = (Neighbour("eth0", "leaf-01", "swp1"), Neighbour("eth1", "leaf-02", "swp1"))
    return Inventory(
        SERIAL, "NVIDIA", sku.models[0], "DGX", tuple(parts), tuple(firmware), cables, raw={"redfish_version": "1.15"}
    )


def node_of(cabling: Sequence[Neighbour] = ()) -> FleetNode:
    """The manifest row of the node on the bench."""
    address = BmcAddress("https://10.0.0.1")
    return FleetNode("gpu-a01", SERIAL, "h100-sxm-8", "training", "A1", 1, address, cabling=tuple(cabling))


class MemoryStore:
    """The EvidenceStore port in memory, write-once."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def put(self, path: str, content: bytes) -> EvidenceReference:
        """Store bytes; other bytes at the same path are refused."""
        if self.content.setdefault(path, content) != content:
            raise Refused(f"{path} holds other bytes.")
        return EvidenceReference(path, sha256(content).hexdigest(), len(content))

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back."""
        if reference.path not in self.content:
            raise Permanent(f"{reference.path} is missing.")
        return self.content[reference.path]

    def read(self, path: str) -> bytes:
        """Read bytes of which no hash is at hand."""
        if path not in self.content:
            raise Permanent(f"{path} is missing.")
        return self.content[path]

    def files(self, prefix: str) -> dict[str, int]:
        """Return the size of every file below a folder."""
        return {path: len(content) for path, content in self.content.items() if path.startswith(f"{prefix}/")}

    def url(self, reference: EvidenceReference) -> str:
        """Return an address."""
        return f"memory://{reference.path}"


class TrustingAttestation:
    """The Attestation port that accepts all; what it was asked is kept."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    def verify(
        self, document: Mapping[str, Any], *, nonce: str, serial: str, golden: Mapping[int, Sequence[str]]
    ) -> None:
        """Accept."""
        self.asked.append({"nonce": nonce, "serial": serial, "golden": golden})

    def verify_measurements(
        self, signed: SignedMeasurements, *, node: str, nonce: str, references: Sequence[Mapping[int, str]]
    ) -> None:
        """Accept, but for those that are called changed."""
        self.asked.append({"component": signed.component, "nonce": nonce, "references": references})
        if signed.statement == "changed":
            raise Refused(f"The signed measurements of component {signed.component} of {node} are changed.")

    def references(self) -> Mapping[str, str]:
        """Reference measurements of two firmware items."""
        return {"spdm/HGX_FW_ERoT_BMC_0/01.04.0031.0000_n04/1": "ab", "spdm/HGX_FW_GPU_SXM_1/96.00.CE.00.01/2": "cd"}


@dataclass
class Bench:
    """One node with all its ports."""

    machine: Machine
    node: FleetNode
    work: Work
    lease: Lease
    ledger: MemoryLedger
    store: MemoryStore
    said: list[str]

    def approve(self) -> None:
        """Answer the node's present plan."""
        proposal = plan(self.lease, self.node, self.work)
        self.ledger.record_approval(self.lease, plan_sha256=proposal.sha256, who="ada", answer="approve", why="agreed")

    def approve_admission(self) -> None:
        """Answer the node's admission."""
        asked = admission(self.lease, self.node, self.work)
        self.ledger.record_approval(
            self.lease, plan_sha256=asked.plan_sha256, who="ada", answer="approve", why="agreed"
        )

    def run(self, procedure: Procedure, *, rounds: int = 20) -> Done:
        """Call until done, letting the world move on when the procedure waits."""
        for _ in range(rounds):
            outcome = procedure(self.lease, self.node, self.work)
            if isinstance(outcome, Done):
                return outcome
            self.wait(outcome)
        raise AssertionError(f"still waiting after {rounds} rounds: {outcome}")

    def wait(self, waiting: Waiting) -> None:
        """Look every few minutes until the check holds or the deadline has passed, as the trigger would."""
        while self.machine.now < waiting.deadline:
            self.machine.pass_time()
            if ready(waiting.check, self.node, self.work):
                return
        self.machine.now = max(self.machine.now, waiting.deadline + timedelta(seconds=1))

    def killed_at(self, procedure: Procedure, fuse: Fuse) -> bool:
        """Run with a fuse; tell whether it burned. The procedure may wait in between."""
        work = self.work
        self.work = fused(work, fuse)
        try:
            self.run(procedure)
        except Killed:
            return True
        finally:
            self.work = work
        return False


def bench(
    milestone: str = "declared",
    *,
    inventory: Inventory | None = None,
    cabling: Sequence[Neighbour] = (),
    misbehaves: Sequence[str] = (),
) -> Bench:
    """Put a node on the bench in a milestone, with its lease taken by this run."""
    machine = Machine(inventory or healthy_inventory(), misbehaves=frozenset(misbehaves))
    clock = MachineClock(machine)
    ledger = MemoryLedger(library().lifecycle(), clock)
    node = node_of(cabling)
    ledger.import_fleet([node])
    lease = ledger.open_episode(node.name, kind="onboarding", run=RUN, lifetime=timedelta(hours=2))
    ledger.put(node.name, milestone)
    store = MemoryStore()
    said: list[str] = []
    work = Ports(
        clock,
        ledger,
        MachineBmcs(machine),
        MachineCluster(machine),
        library(),
        store,
        TrustingAttestation(),
        said.append,
    )
    return Bench(machine, node, work, lease, ledger, store, said)


def behind(inventory: Inventory, **versions: str) -> Inventory:
    """Return an inventory with some firmware items at other versions."""
    firmware = tuple(replace(item, version=versions.get(item.id, item.version)) for item in inventory.firmware)
    return replace(inventory, firmware=firmware)
