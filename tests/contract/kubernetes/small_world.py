"""A tiny world for the lab's Kubernetes: three machines, no BMCs, a clock, and a record of effects."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.truth.clock import LabClock


@dataclass(frozen=True)
class Image:
    """A boot image as far as a kubelet knows it."""

    name: str = "validation-2026.11"
    os_image: str = "Ubuntu 24.04.3 LTS"
    kernel: str = "6.8.0-87-generic"
    kubelet_version: str = "v1.34.2"
    register_labels: dict[str, str] = field(default_factory=dict)
    register_taints: tuple[dict[str, str], ...] = ({"key": "nodeworthy.dev/unqualified", "effect": "NoSchedule"},)


@dataclass(frozen=True)
class MachineUp:
    """A machine's system runs."""

    node: str
    image: Image
    boot_id: str
    machine_id: str
    system_uuid: str


@dataclass(frozen=True)
class MachineDown:
    """A machine's system is gone."""

    node: str
    why: str = "crash"


class SmallWorld:
    """What `lab.kubernetes` needs of a world."""

    def __init__(self, state_dir: Path, names: tuple[str, ...], speed: float = 20.0) -> None:
        self.state_dir = state_dir
        self.clock = LabClock(speed)
        self.nodes: dict[str, Any] = dict.fromkeys(names)
        self.effects: list[tuple[str, str, str | None, dict[str, Any]]] = []
        self.faults: dict[str, tuple[str, ...]] = {}
        self._listeners: list[Callable[[Any], None]] = []
        self._boots: dict[str, str] = {}

    def subscribe(self, listener: Callable[[Any], None]) -> None:
        """As the real world."""
        self._listeners.append(listener)

    def view(self, name: str) -> dict[str, Any]:
        """A view with eight GPUs."""
        return {
            "schema": "lab.node-view/1",
            "simulated": True,
            "node": name,
            "serial": f"serial-{name}",
            "boot_id": self._boots.get(name),
            "machine_id": "0" * 32,
            "system_uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
            "image": {"name": "validation-2026.11"},
            "gpus": [{"index": index, "present": True} for index in range(8)],
            "kernel_log": ["<6>[    0.000000] Linux version 6.8.0-87-generic"],
        }

    def record_effect(self, kind: str, node: str, effect_id: str | None, **detail: Any) -> None:
        """As the real world."""
        self.effects.append((kind, node, effect_id, detail))

    def active_faults(self, name: str) -> tuple[str, ...]:
        """Names of faults."""
        return self.faults.get(name, ())

    def up(self, name: str, image: Image | None = None) -> str:
        """Boot a machine; returns its boot id."""
        self._boots[name] = str(uuid.uuid4())
        self._emit(MachineUp(name, image or Image(), self._boots[name], "0" * 32, self.view(name)["system_uuid"]))
        return self._boots[name]

    def down(self, name: str) -> None:
        """Lose a machine."""
        self._emit(MachineDown(name))

    def _emit(self, event: Any) -> None:
        for listener in self._listeners:
            listener(event)
