"""From a path to the function that renders or changes it.

A resource module declares `@get("Systems/{system}/Bios")`; a name in braces matches one path segment and is handed over
as a keyword argument. Writes are declared with `@post`, `@patch` and `@delete`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.redfish.bmc import Bmc, Door
from lab.truth.node import LabNode
from lab.truth.parts import Parts
from lab.truth.platforms import Platform
from lab.truth.world import World

Document = dict[str, Any]
Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a write gives back."""

    status: int = 204
    body: Document | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """Everything a handler may use: the world, the node whose BMC was asked, and the BMC's own state."""

    world: World
    node: LabNode
    bmc: Bmc
    door: Door
    path: str = ""
    body: Document = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> Parts:
        """What is built into the node, faults applied."""
        return self.world.parts(self.node.name)

    @property
    def platform(self) -> Platform:
        """The node's platform."""
        return self.node.platform

    def has(self, quirk: str) -> bool:
        """Whether the BMC has this quirk."""
        return quirk in self.node.quirks

    @property
    def host_system(self) -> str:
        """The id of the host's system."""
        return "Self" if self.has("system-id-unexpected") else self.platform.host_system

    def effect(self, kind: str, **detail: Any) -> None:
        """Record a change that a client asked for, with the effect id it sent."""
        self.world.record_effect(kind, self.node.name, self.headers.get("x-nodeworthy-effect"), **detail)


@dataclass(slots=True)
class _Step:
    literal: dict[str, _Step] = field(default_factory=dict)
    named: dict[str, _Step] = field(default_factory=dict)
    handlers: dict[str, Handler] = field(default_factory=dict)


_ROOT = _Step()


def _declare(method: str, pattern: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        step = _ROOT
        for segment in filter(None, pattern.split("/")):
            branch = step.named if segment.startswith("{") else step.literal
            step = branch.setdefault(segment.strip("{}"), _Step())
        step.handlers[method] = handler
        return handler

    return register


def get(pattern: str) -> Callable[[Handler], Handler]:
    """Declare how a resource is rendered: `(context, **names) -> Document`."""
    return _declare("GET", pattern)


def post(pattern: str) -> Callable[[Handler], Handler]:
    """Declare a POST: `(context, **names) -> Answer`."""
    return _declare("POST", pattern)


def patch(pattern: str) -> Callable[[Handler], Handler]:
    """Declare a PATCH: `(context, **names) -> Answer`."""
    return _declare("PATCH", pattern)


def delete(pattern: str) -> Callable[[Handler], Handler]:
    """Declare a DELETE: `(context, **names) -> Answer`."""
    return _declare("DELETE", pattern)


def find(path: str) -> tuple[Mapping[str, Handler], dict[str, str]]:
    """The handlers of a path below the service root, by method, and the names in it; no handlers = no resource."""
    return _find(_ROOT, [segment for segment in path.split("/") if segment], {}) or ({}, {})


def _find(
    step: _Step, segments: list[str], names: dict[str, str]
) -> tuple[Mapping[str, Handler], dict[str, str]] | None:
    if not segments:
        return (step.handlers, names) if step.handlers else None
    head, rest = segments[0], segments[1:]
    if head in step.literal:
        found = _find(step.literal[head], rest, names)
        if found is not None:
            return found
    for name, branch in step.named.items():
        found = _find(branch, rest, {**names, name: head})
        if found is not None:
            return found
    return None
