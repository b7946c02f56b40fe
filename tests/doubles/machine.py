"""One machine in memory behind the Bmc and Cluster ports: it takes effects, counts them, and lets time pass.

It behaves as the ports promise of real ones: a reset is felt at once and a boot takes time; a kubelet that finds its
Node object updates it and keeps its taints, one that finds none registers with its image's taint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from nodeworthy.errors import OutcomeUnknown, Permanent
from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_health import Health, Leaks, Machinery
from nodeworthy.evidence.bmc_log import EventLog, LogRules
from nodeworthy.evidence.inventory import FirmwareItem, Inventory
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.rows import Projection
from nodeworthy.lifecycle.upkeep import Due
from nodeworthy.ports import Agent, Bmc, ClusterNode, Device, Power, SystemState, Taint, UpdateState
from nodeworthy.qualification.bmc_health import HealthRules
from nodeworthy.qualification.bmc_security import SecurityRules
from nodeworthy.qualification.sku import Sku

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
UNQUALIFIED = Taint("nodeworthy.dev/unqualified", "NoSchedule")
IMAGES = {
    "http://images.lab/validation-2026.11.efi": "validation-2026.11",
    "http://images.lab/service-2026.11.efi": "service-2026.11",
}


@dataclass
class Machine:
    """What the machine is now, what was done to it (`sent`), and how it misbehaves."""

    inventory: Inventory
    log: EventLog = field(default_factory=lambda: EventLog(logs={"DGX/EventLog": 0}))
    guard: BmcGuard = field(default_factory=lambda: BmcGuard(clock_ahead_seconds=0.0, secure_boot="Enabled"))
    components: dict[str, SignedMeasurements] = field(default_factory=dict)
    nonces: list[dict[str, str]] = field(default_factory=list)
    leaks: Leaks = field(default_factory=Leaks)
    health: Health = field(
        default_factory=lambda: Health(
            fans=tuple(Machinery(f"FAN_{n}", f"/fans/{n}", "Enabled", "OK") for n in range(12))
        )
    )
    now: datetime = START
    power: Power = Power.ON
    progress: str = "SetupEntered"
    last_reset: datetime | None = START - timedelta(days=1)
    override: str = ""
    node: ClusterNode | None = None
    boots: int = 0
    uids: int = 0
    booting: bool = False
    staged: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, tuple[str, bool]] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)
    effect_ids: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    agents: tuple[Agent, ...] = ()
    devices: tuple[Device, ...] = ()
    misbehaves: frozenset[str] = frozenset()
    """Any of: reset-ignored, reset-unanswered, old-image, no-taint, same-machine-id, no-boot, no-last-reset, stuck,
    task-fails, task-vanishes."""

    def took(self, kind: str, effect_id: str = "") -> None:
        """Count one effect, as the lab does from outside."""
        self.sent[kind] += 1
        self.effect_ids.append((kind, effect_id))

    def pass_time(self, minutes: float = 5) -> None:
        """Let everything that is under way come to its end."""
        self.now += timedelta(minutes=minutes)
        self.tasks = {name: (component, False) for name, (component, _) in self.tasks.items()}
        if self.booting and "no-boot" not in self.misbehaves:
            self._come_up()

    def reset(self) -> None:
        """Lose the running system and begin to boot."""
        if "reset-ignored" in self.misbehaves:
            return
        self.last_reset = self.now
        self.power = Power.ON
        self.progress = "MemoryInitializationStarted"
        self.booting = True
        if self.node is not None:
            self.node = replace(self.node, ready=False)
        if "stuck" not in self.misbehaves:
            firmware = tuple(
                replace(item, version=self.staged.get(item.id, item.version)) for item in self.inventory.firmware
            )
            self.inventory = replace(self.inventory, firmware=firmware)
        self.staged.clear()

    def _come_up(self) -> None:
        self.booting = False
        self.boots += 1
        image = "service-2026.08" if "old-image" in self.misbehaves else IMAGES.get(self.override, "")
        self.override = ""
        self.progress = "OSRunning" if image else "SetupEntered"
        if image:
            self._register(image)

    def _register(self, image: str) -> None:
        if self.node is None:
            self.uids += 1
            taints = () if "no-taint" in self.misbehaves else (UNQUALIFIED,)
            self.node = ClusterNode(
                "gpu-a01", f"uid-{self.uids}", True, True, "", "", "", "", "6.8", taints, {}, {}, "1"
            )
        machine_id = "machine-1" if "same-machine-id" in self.misbehaves else f"machine-{self.boots}"
        self.node = replace(
            self.node, ready=True, boot_id=f"boot-{self.boots}", machine_id=machine_id, image=image, labels={}
        )


class MachineClock:
    """The machine's time is the only time."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def now(self) -> datetime:
        """Return the present."""
        return self._machine.now


class MachineBmcs:
    """The machine's BMC; counts open sessions."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.open_sessions = 0

    @contextmanager
    def open(self, node: FleetNode, sku: Sku) -> Iterator[Bmc]:
        """Open a session."""
        self.open_sessions += 1
        try:
            yield MachineBmc(self._machine)
        finally:
            self.open_sessions -= 1


class MachineBmc:
    """The Bmc port."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def inventory(self) -> Inventory:
        """Read everything."""
        return self._machine.inventory

    def leaks(self, rules: HealthRules) -> Leaks:
        """Read the leak detectors."""
        return self._machine.leaks

    def health(self, rules: HealthRules) -> Health:
        """Read the rest."""
        return self._machine.health

    def guard(self, rules: SecurityRules, *, secure_boot: bool) -> BmcGuard:
        """Read how it is guarded."""
        return self._machine.guard

    def event_log(self, rules: LogRules) -> EventLog:
        """Read the log."""
        return self._machine.log

    def sign_measurements(self, nonces: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Answer at once, or by a task where the component's answer is one."""
        self._machine.nonces.append(dict(nonces))
        return tuple(replace(self._machine.components[name], component=name) for name in nonces)

    def signed_measurements(self, tasks: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Answer what the machine's tasks came to."""
        return tuple(replace(self._machine.components[name], component=name) for name in tasks)

    def firmware(self) -> tuple[FirmwareItem, ...]:
        """Read firmware."""
        return self._machine.inventory.firmware

    def state(self) -> SystemState:
        """Read the state."""
        one = self._machine
        last_reset = None if "no-last-reset" in one.misbehaves else one.last_reset
        return SystemState(one.power, one.progress, last_reset, "Once" if one.override else "Disabled", one.override)

    def set_boot(self, image_uri: str, *, effect_id: str) -> None:
        """Order an image."""
        self._machine.took("boot-override", effect_id)
        self._machine.override = image_uri

    def reset(self, kind: str, *, effect_id: str) -> None:
        """Reset."""
        if kind not in ("On", "ForceRestart", "PowerCycle"):
            raise Permanent(f"{kind} is not allowed.")
        self._machine.took("reset", effect_id)
        self._machine.reset()
        if "reset-unanswered" in self._machine.misbehaves:
            raise OutcomeUnknown("The reset got no answer.")

    def start_update(self, item: FirmwareItem, image_uri: str, *, effect_id: str) -> str:
        """Start an update whose version is the last but one part of the address."""
        one = self._machine
        one.took("firmware-update", effect_id)
        task = f"/tasks/{len(one.tasks) + 1}"
        one.tasks[task] = (item.id, True)
        if "task-fails" not in one.misbehaves:
            one.staged[item.id] = image_uri.rsplit("/", 1)[1].removesuffix(".bin")
        return task

    def update_state(self, task: str) -> UpdateState:
        """Read a task."""
        _, running = self._machine.tasks.get(task, ("", False))
        if not running and "task-vanishes" in self._machine.misbehaves:
            return UpdateState(task, False, False, "the BMC no longer knows the task", unclear=True)
        fails = "task-fails" in self._machine.misbehaves
        return UpdateState(task, running, not running and not fails, "Exception: bad image" if fails else "Completed")

    def updates(self) -> tuple[UpdateState, ...]:
        """Read all tasks."""
        return tuple(self.update_state(task) for task in self._machine.tasks)


class MachineCluster:
    """The Cluster port over the machine's Node object."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def node(self, name: str) -> ClusterNode | None:
        """Read the Node."""
        return self._machine.node

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Read the one Node."""
        return () if self._machine.node is None else (self._machine.node,)

    def follow(self, name: str, projection: Projection, due: Due) -> None:
        """Show a milestone."""
        self.project(name, taints=projection.taints, labels=projection.labels, episode=due.episode)

    def tell_milestone(self, name: str, milestone: str, message: str) -> None:
        """Set the condition."""
        assert self._machine.node is not None
        self._machine.node = replace(self._machine.node, milestone=milestone)

    def project(self, name: str, *, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int) -> None:
        """Write our taints and labels."""
        node = self._machine.node
        assert node is not None
        others = tuple(taint for taint in node.taints if not taint.key.startswith("nodeworthy.dev/"))
        merged = {**node.labels, **{key: value for key, value in labels.items() if value is not None}}
        for key, value in labels.items():
            if value is None:
                merged.pop(key, None)
        new = replace(node, taints=(*others, *taints), labels=merged)
        if new != node:
            self._machine.took("project")
        self._machine.node = new

    def delete_node(self, name: str, *, uid: str) -> None:
        """Delete the Node of this uid."""
        if self._machine.node is not None and self._machine.node.uid == uid:
            self._machine.took("node-delete")
            self._machine.node = None

    def agents(self, node: str, *, namespace: str, selector: str) -> tuple[Agent, ...]:
        """Return the device plugin's pods."""
        return self._machine.agents

    def devices(self, node: str, *, driver: str) -> tuple[Device, ...]:
        """Return the devices of the node's slices."""
        return self._machine.devices

    def images(self, pod: str) -> Mapping[str, str]:
        """Return what the pod's probe runs."""
        return {"base": "nodeworthy/probe@sha256:" + "ab" * 32}

    def read_file(self, pod: str, container: str, path: str, *, limit_bytes: int) -> bytes:
        """Read a file of the pod."""
        content = self._machine.files[path]
        if len(content) > limit_bytes:
            raise Permanent(f"{path} is too large.")
        return content
