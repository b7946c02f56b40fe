"""The lab's command line: errors are one sentence on standard error.

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 where the system denies the isolation that pods need.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.control import MARKER, IsolationDenied, LabError, call

_STATE = Path(".run/lab")
_READY_SECONDS = 120.0
_STOP_SECONDS = 20.0
_PID = "lab.pid"
_LOG = "lab.log"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(words)
    options.words = words
    try:
        code = options.run(options)
        return int(code or 0)
    except IsolationDenied as error:
        print(f"lab: {error}", file=sys.stderr)
        return 3
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description="The virtual fleet.")
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.add_argument("--state", type=Path, default=_STATE, help="the lab's directory (default .run/lab)")
        found.set_defaults(run=run)
        return found

    _up_options(command("up", _up, "start a lab and write what others need to find it"))
    command("down", _down, "stop the lab and remove its directory")
    status = command("status", _status, "show the machines, their faults and what was done to them")
    status.add_argument("--json", action="store_true")
    status.add_argument("--effects", action="store_true", help="list every effect, not only their counts")
    inject = command("inject", _inject, "lay a fault over a node")
    inject.add_argument("node")
    inject.add_argument("fault")
    inject.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of the fault")
    inject.add_argument("--cure", help="self:10m, reboot, reimage, reset-bmc or never")
    inject.add_argument("--at", help="a lab time: +10m or ISO 8601")
    heal = command("heal", _heal, "take a fault, or all of them, off a node")
    heal.add_argument("node")
    heal.add_argument("fault", nargs="?")
    command("faults", _faults, "list the faults that can be injected")
    quirk = command("quirk", _quirk, "switch a BMC quirk of a node on or off")
    quirk.add_argument("node")
    quirk.add_argument("quirk")
    quirk.add_argument("--off", action="store_true")
    clock = command("clock", _clock, "show or change the lab's clock")
    clock.add_argument("--speed", type=float, help="lab seconds per real second")
    clock.add_argument("--advance", help="move the lab time ahead: 90s, 10m, 1h")
    return parser


def _up_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fleet", default="demo", help="a shipped fleet or a file (default demo)")
    parser.add_argument("--nodes", type=int, help="generate this many healthy nodes instead of a fleet file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=float, default=60.0, help="lab seconds per real second (default 60)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--advertise", default="127.0.0.1", help="the address that others use")
    parser.add_argument("--port-redfish", type=int, default=0)
    parser.add_argument("--port-kubernetes", type=int, default=0)
    parser.add_argument("--latency", default="fast", help="fast or real")
    parser.add_argument("--bmcs-only", action="store_true", help="serve the BMCs without a Kubernetes API")
    parser.add_argument("--detach", action="store_true", help="return when the lab is ready")


def _up(options: argparse.Namespace) -> int:
    state = options.state.absolute()
    if _running(state) is not None:
        raise LabError(f"A lab already runs in {state}; stop it with `python -m lab down --state {state}`.")
    _prepare(state)
    return _up_detached(options.words, state) if options.detach else _up_here(options, state)


def _prepare(state: Path) -> None:
    """An empty directory that is marked as a lab's; what an earlier lab left in it is removed, but not its log."""
    if state.is_dir() and any(state.iterdir()) and not (state / MARKER).exists():
        raise LabError(f"{state} is not empty and no lab's directory; choose another --state.")
    state.mkdir(parents=True, exist_ok=True)
    for path in state.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _LOG:
            path.unlink()
    (state / MARKER).write_text("This directory belongs to a lab; `python -m lab down` removes it.\n", encoding="utf-8")


def _up_here(options: argparse.Namespace, state: Path) -> int:
    # The servers' imports cost a second that `status` need not pay.
    from lab.server import Settings, run
    from lab.truth.fleet import generate, load_fleet

    fleet = generate(options.nodes) if options.nodes else load_fleet(options.fleet)
    settings = Settings(
        fleet=fleet,
        state_dir=state,
        seed=options.seed,
        speed=options.speed,
        host=options.host,
        advertise=options.advertise,
        port_redfish=options.port_redfish,
        port_kubernetes=options.port_kubernetes,
        latency=options.latency,
        kubernetes=not options.bmcs_only,
    )
    (state / _PID).write_text(f"{os.getpid()}\n", encoding="utf-8")
    try:
        asyncio.run(_run(settings, run))
    finally:
        (state / _PID).unlink(missing_ok=True)
    return 0


async def _run(settings: Any, run: Any) -> None:
    ready = asyncio.Event()
    task = asyncio.create_task(run(settings, ready))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not task.done():
        print(_welcome(settings.state_dir), flush=True)
    await task


def _welcome(state: Path) -> str:
    endpoints = json.loads((state / "endpoints.json").read_text(encoding="utf-8"))
    lines = [f"{name}: {value}" for name, value in endpoints.items()]
    return "\n".join(["The lab is up (simulated).", *lines, f"files: {state}"])


def _up_detached(words: Sequence[str], state: Path) -> int:
    """Start the same command in a session of its own and wait until it is ready."""
    with (state / _LOG).open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "lab", *(word for word in words if word != "--detach")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    limit = time.monotonic() + _READY_SECONDS
    while time.monotonic() < limit:
        code = child.poll()
        if code is not None:
            print((state / _LOG).read_text(encoding="utf-8", errors="replace").strip(), file=sys.stderr)
            shutil.rmtree(state)
            return code or 1
        if _answers(state):
            print(_welcome(state))
            return 0
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    raise LabError(f"The lab was not ready after {_READY_SECONDS:g} s; its log is {state / _LOG}.")


def _answers(state: Path) -> bool:
    try:
        return bool(call(state, "ping", timeout_seconds=2.0) == "ready" and (state / "endpoints.json").is_file())
    except LabError:
        return False


def _running(state: Path) -> int | None:
    """The process id of the lab in `state`, if it lives."""
    try:
        pid = int((state / _PID).read_text(encoding="utf-8"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def _down(options: argparse.Namespace) -> int:
    state = options.state.absolute()
    if not state.exists():
        print("No lab runs here.")
        return 0
    pid = _running(state)
    if pid is not None:
        _end(state, pid)
    if (state / MARKER).exists():
        shutil.rmtree(state)
    print("The lab is down.")
    return 0


def _end(state: Path, pid: int) -> None:
    try:
        call(state, "shutdown", timeout_seconds=5.0)
    except LabError:
        os.kill(pid, signal.SIGTERM)
    limit = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < limit:
        if not _alive(pid):
            return
        time.sleep(0.05)
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z"


def _status(options: argparse.Namespace) -> None:
    status = call(options.state.absolute(), "status", effects=options.effects)
    if options.json:
        print(json.dumps(status, indent=1))
        return
    print(f"lab time {status['now']} (x{status['speed']:g}), simulated")
    for row in status["nodes"]:
        faults = ", ".join(fault["fault"] for fault in row["faults"]) or "-"
        print(f"{row['node']:12} {row['sku']:12} {row['power']:12} {row['stage']:40} {row['image'] or '-':20} {faults}")
    print("effects: " + (", ".join(f"{kind} {count}" for kind, count in status["effect_counts"].items()) or "none"))
    for effect in status.get("effects", ()):
        print(json.dumps(effect))


def _inject(options: argparse.Namespace) -> None:
    import yaml

    parameters = {}
    for word in options.set:
        name, equals, value = word.partition("=")
        if not equals:
            raise LabError(f"{word!r} is no parameter; write NAME=VALUE.")
        parameters[name] = yaml.safe_load(value)
    print(
        call(
            options.state.absolute(),
            "inject",
            node=options.node,
            fault=options.fault,
            parameters=parameters,
            cure=options.cure,
            at=options.at,
        )
    )


def _heal(options: argparse.Namespace) -> None:
    print(call(options.state.absolute(), "heal", node=options.node, fault=options.fault))


def _quirk(options: argparse.Namespace) -> None:
    print(call(options.state.absolute(), "quirk", node=options.node, quirk=options.quirk, on=not options.off))


def _clock(options: argparse.Namespace) -> None:
    now = call(options.state.absolute(), "clock", speed=options.speed, advance=options.advance)
    print(f"{now['now']} (x{now['speed']:g})")


def _faults(options: argparse.Namespace) -> None:
    from lab.truth.faults import catalogue

    for kind in catalogue().values():
        parameters = ", ".join(f"{name}={value}" for name, value in kind.parameters.items())
        print(f"{kind.name:24} {kind.description} [cure {kind.cure}] {parameters}")
