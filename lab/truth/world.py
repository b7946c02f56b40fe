"""The world: every node of the fleet, the clock, the faults and the record of what was done to it.

All other parts of the lab (Redfish, Kubernetes, kubelet, tools, TPM) hold one World, read it and act through it.
Everything runs in one event loop; there are no locks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lab.truth import view_faults
from lab.truth.boot import BootEngine
from lab.truth.clock import LabClock
from lab.truth.effects import EffectLog
from lab.truth.faults import ActiveFault, Cure, FaultBoard, parse_cure, parse_duration
from lab.truth.fleet import FleetFile
from lab.truth.images import load_images
from lab.truth.machine import MachineDown, MachineUp, WorldEvent
from lab.truth.node import LabNode
from lab.truth.overlays import overlaid
from lab.truth.parts import Parts, base_parts
from lab.truth.view import base_view

__all__ = ["ActiveFault", "LabClock", "LabNode", "MachineDown", "MachineUp", "World", "WorldEvent"]

_CACHED_PARTS = 128


class World:
    """The ground truth. `state_dir` is where the lab keeps files; `view` is what software on a node sees."""

    def __init__(self, fleet: FleetFile, state_dir: Path, seed: int = 1, clock: LabClock | None = None) -> None:
        self.clock = clock or LabClock()
        self.state_dir = state_dir
        self.site = fleet.site
        self.images = load_images()
        self.nodes: Mapping[str, LabNode] = {
            spec.name: LabNode(spec, index, seed) for index, spec in enumerate(fleet.nodes)
        }
        self.faults = FaultBoard(self.clock)
        self.effects = EffectLog()
        self.boot = BootEngine(self.clock, self.images, self.faults, self._emit)
        self._listeners: list[Callable[[WorldEvent], None]] = []
        self._parts: OrderedDict[str, tuple[int, Parts]] = OrderedDict()

    def start(self) -> None:
        """Lay the fleet file's faults and let its machines be on, off or running; call once, after subscribing."""
        for node in self.nodes.values():
            for row in node.spec.faults:
                self.inject(node.name, row["fault"], row.get("set"), cure=row.get("cure"), at=row.get("at"))
            if node.spec.image:
                self.boot.start_running(node, self.images[node.spec.image])
            elif node.spec.power == "on":
                self.boot.start_idle(node)

    def subscribe(self, listener: Callable[[WorldEvent], None]) -> None:
        """Call `listener` in the event loop whenever a machine's system comes up or goes down."""
        self._listeners.append(listener)

    def parts(self, name: str) -> Parts:
        """What is built into a node, as seen with its faults."""
        version, parts = self._parts.get(name, (-1, None))
        if parts is None or version != self.faults.version:
            parts = overlaid(base_parts(self.nodes[name]), self.faults.active(name))
            self._parts[name] = (self.faults.version, parts)
        self._parts.move_to_end(name)
        if len(self._parts) > _CACHED_PARTS:
            self._parts.popitem(last=False)
        return parts

    def view(self, name: str) -> dict[str, Any]:
        """The node view `lab.node-view/1` of node `name` with its faults applied; KeyError if there is none."""
        node = self.nodes[name]
        image = self.images.get(node.machine.image or "")
        view = base_view(node, self.parts(name), image, self.clock.now(), self.clock.speed)
        return view_faults.apply(view, self.faults.active(name))

    def active_faults(self, name: str) -> tuple[ActiveFault, ...]:
        """The faults that lie over a node now."""
        return self.faults.active(name)

    def inject(
        self,
        name: str,
        fault: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        cure: str | None = None,
        at: str | None = None,
    ) -> ActiveFault | None:
        """Lay a fault over a node, now or `at` a lab time (`+10m` or ISO 8601); None when it is only scheduled."""
        if name not in self.nodes:
            raise ValueError(f"There is no node {name} in the lab; `status` lists them.")
        rule: Cure | None = parse_cure(cure) if cure else None
        if at is None:
            return self.faults.inject(name, fault, parameters, rule)
        self.faults.check(fault, parameters)

        def due() -> None:
            self.faults.inject(name, fault, parameters, rule)

        self.clock.call_later(self._delay(at), due)
        return None

    def record_effect(self, kind: str, node: str, effect_id: str | None, **detail: Any) -> None:
        """Count one change that somebody made to the fleet from outside."""
        self.effects.add(self.clock.now(), kind, node, effect_id, detail)
        if kind == "pod-run":
            self._pod_started(node)

    def set_quirk(self, name: str, quirk: str, *, on: bool) -> None:
        """Switch a BMC quirk of a node on or off (names: lab/data/quirks.yaml)."""
        node = self.nodes[name]
        node.quirks = node.quirks | {quirk} if on else node.quirks - {quirk}

    def _pod_started(self, name: str) -> None:
        fault = self.faults.fires(name, "node-dies-in-test")
        if fault is not None:
            delay = timedelta(seconds=float(fault.parameters["after_seconds"]))
            self.clock.call_later(delay, lambda: self.boot.crash(self.nodes[name], str(fault.parameters["then"])))

    def _delay(self, at: str) -> timedelta:
        if at.startswith("+"):
            return parse_duration(at[1:])
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError(f"{at} has no time zone; write it as ISO 8601 with an offset, or as +10m.")
        return moment - self.clock.now()

    def _emit(self, event: WorldEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)
