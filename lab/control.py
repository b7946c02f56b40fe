"""The lab's control door: one JSON line in, one JSON line out, over a unix socket in the state directory.

The command line talks to it, and so may tests: `call(state_dir, "inject", node="gpu-a01", fault="nvlink-down")`.
Errors come back as one sentence.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab.truth.faults import catalogue, parse_duration
from lab.truth.world import World

SOCKET = "control.sock"
MARKER = ".nodeworthy-lab"
_PATH_LIMIT = 100  # sun_path holds 107 bytes; longer paths are refused with a reason instead of an OSError
_LINE_LIMIT = 64 * 1024 * 1024


class LabError(Exception):
    """Something an operator can act on, in one sentence."""


def call(state_dir: Path, command: str, timeout_seconds: float = 30.0, **arguments: Any) -> Any:
    """Send one command to a running lab and return its result; LabError in one sentence otherwise."""
    path = state_dir / SOCKET
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_seconds)
            connection.connect(str(path))
            connection.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer = json.loads(answers.readline())
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise LabError(f"No lab runs in {state_dir}; start one with `python -m lab up --state {state_dir}`.") from error
    except (OSError, ValueError) as error:
        raise LabError(f"The lab in {state_dir} did not answer {command}: {error}.") from error
    if not answer["ok"]:
        raise LabError(answer["error"])
    return answer["result"]


class IsolationDenied(LabError):
    """The system does not let the lab isolate the processes of pods."""


class Control:
    """Answers commands about one world; `stop` is called by `shutdown`."""

    def __init__(self, world: World, endpoints: Mapping[str, Any], stop: Callable[[], None]) -> None:
        self._world = world
        self._endpoints = endpoints
        self._stop = stop
        self._server: asyncio.Server | None = None

    async def open(self, path: Path) -> None:
        """Listen on the unix socket `path`, readable by its owner alone."""
        if len(str(path)) > _PATH_LIMIT:
            raise LabError(f"The path {path} is too long for a socket; choose a shorter --state directory.")
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, path, limit=_LINE_LIMIT)
        path.chmod(0o600)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self.answer(line), default=str).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one line, as a mapping."""
        try:
            request = json.loads(line)
            handler = getattr(self, "_do_" + str(request.pop("command")).replace("-", "_"), None)
            if handler is None:
                return {"ok": False, "error": "The lab does not know this command."}
            return {"ok": True, "result": handler(**request)}
        except (ValueError, TypeError, KeyError) as error:
            text = str(error) if isinstance(error, ValueError) else f"The lab cannot use this request: {error}."
            return {"ok": False, "error": text}

    def _do_ping(self) -> str:
        return "ready"

    def _do_status(self, *, effects: bool = False) -> dict[str, Any]:
        world = self._world
        status: dict[str, Any] = {
            "simulated": True,
            "now": world.clock.now().isoformat(),
            "speed": world.clock.speed,
            "endpoints": dict(self._endpoints),
            "effect_counts": world.effects.counts(),
            "nodes": [self._node(name) for name in world.nodes],
        }
        if effects:
            status["effects"] = [effect.document() for effect in world.effects]
        return status

    def _do_effects(self, *, since: int = 0) -> list[dict[str, Any]]:
        return [effect.document() for effect in self._world.effects.after(since)]

    def _node(self, name: str) -> dict[str, Any]:
        node = self._world.nodes[name]
        machine = node.machine
        return {
            "node": name,
            "sku": node.sku,
            "rack": node.rack,
            "power": machine.power,
            "stage": machine.stage,
            "image": machine.image,
            "boot_id": machine.boot_id,
            "boots": machine.boots,
            "faults": [fault.document() for fault in self._world.active_faults(name)],
        }

    def _do_view(self, node: str) -> dict[str, Any]:
        return self._world.view(self._known(node))

    def _do_inject(self, node: str, fault: str, **rest: Any) -> str:
        active = self._world.inject(node, fault, rest.get("parameters"), cure=rest.get("cure"), at=rest.get("at"))
        return f"{fault} lies over {node}" + ("." if active else f" from {rest.get('at')} on.")

    def _do_heal(self, node: str, fault: str | None = None) -> str:
        healed = self._world.faults.heal(self._known(node), fault)
        return f"{healed} fault(s) taken off {node}."

    def _do_quirk(self, node: str, quirk: str, *, on: bool = True) -> str:
        self._world.set_quirk(self._known(node), quirk, on=on)
        return f"{quirk} is {'on' if on else 'off'} at {node}."

    def _do_crash(self, node: str, then: str = "hang") -> str:
        self._world.boot.crash(self._world.nodes[self._known(node)], then)
        return f"{node} has crashed."

    def _do_clock(self, speed: float | None = None, advance: str | None = None) -> dict[str, Any]:
        clock = self._world.clock
        if speed is not None:
            clock.speed = speed
        if advance is not None:
            clock.advance(parse_duration(advance))
        return {"now": clock.now().isoformat(), "speed": clock.speed}

    def _do_faults(self) -> list[dict[str, Any]]:
        return [
            {"name": kind.name, "description": kind.description, "cure": str(kind.cure), "parameters": kind.parameters}
            for kind in catalogue().values()
        ]

    def _do_shutdown(self) -> str:
        self._stop()
        return "stopping"

    def _known(self, node: str) -> str:
        if node not in self._world.nodes:
            raise ValueError(f"There is no node {node} in the lab; `python -m lab status` lists them.")
        return node
