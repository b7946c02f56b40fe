"""One collective over several nodes, without an operator for it: one probe per node, the first of them leads.

Every probe of a group gets the same members in its plan, and in its environment a key of this test alone. All but the
first *serve*: they listen on their own node's address and run what the leader asks for, which proves with the key that
it is the leader. The leader starts each tool with `mpirun`, whose remote agent is this module's `reach`. When its last
test has ended it releases the others. A member that is never released ends by its time limit.

    serve                  wait for the leader, run its commands, end when released
    launch TOOL [...]      wait for all members, then run the tool over all of them with mpirun
    reach HOST COMMAND     what mpirun calls for each other node: run one command there, print what it prints
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

PLAN_VARIABLE = "NODEWORTHY_PLAN"
KEY_VARIABLE = "NODEWORTHY_GROUP_KEY"
"""Not in the plan, because plans are kept as evidence."""
PATIENCE_SECONDS = 120.0
"""How long the leader waits for the other members: the time between the starts of the first and the last pod."""
_LINE_LIMIT = 1 << 20
_ANSWER_SECONDS = 5.0
_BETWEEN_TRIES_SECONDS = 0.5
_MISSING = 4
_DENIED = 5


@dataclass(frozen=True)
class Group:
    """Who takes part: addresses by rank, this probe's rank, the port that members listen on, and the test's key."""

    rank: int
    nodes: tuple[str, ...]
    addresses: tuple[str, ...]
    port: int
    key: str

    @property
    def leads(self) -> bool:
        """Whether this probe starts the tools."""
        return self.rank == 0

    @property
    def others(self) -> tuple[str, ...]:
        """The addresses of all other members."""
        return tuple(address for rank, address in enumerate(self.addresses) if rank != self.rank)


def group_of(document: Mapping[str, Any]) -> Group | None:
    """The plan's group; None for a plan of one node. Raises ValueError, KeyError or TypeError when it is none."""
    row = document.get("group")
    if row is None:
        return None
    members = row["members"]
    group = Group(
        int(row["rank"]),
        tuple(str(member["node"]) for member in members),
        tuple(str(member["address"]) for member in members),
        int(row["port"]),
        os.environ.get(KEY_VARIABLE, ""),
    )
    if not 0 <= group.rank < len(group.nodes) or len(group.key) < 32 or not 0 < group.port < 65536:
        raise ValueError(f"its rank or port does not fit its members, or {KEY_VARIABLE} holds no key")
    return group


def release(group: Group) -> None:
    """Tell every other member that the last test has ended. One that cannot be reached ends by its own limit."""
    for address in group.others:
        try:
            ask(group, address, "", sys.stdout.buffer)
        except OSError as error:
            sys.stderr.write(f"{address} could not be released ({error})\n")


def main(arguments: Sequence[str]) -> int:
    """Play one part; the exit code is the command's."""
    document = json.loads(os.environ[PLAN_VARIABLE])
    group = group_of(document)
    if group is None:
        sys.stderr.write("The plan names no group.\n")
        return 2
    part, *rest = arguments
    if part == "serve":
        return _serve(group)
    if part == "reach":
        try:
            return ask(group, rest[0], " ".join(rest[1:]), sys.stdout.buffer)
        except OSError as error:
            sys.stderr.write(f"{rest[0]} cannot be reached ({error})\n")
            return _MISSING
    return _launch(group, rest, int(document["expect"]["gpus"]))


def joined(group: Group) -> str:
    """Wait until every other member answers; empty when all do, else one line that names who did not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for node, address in zip(group.nodes[1:], group.addresses[1:], strict=True):
        while not _answers(group, address):
            if time.monotonic() > deadline:
                return f"{node} at {address} did not join the group within {PATIENCE_SECONDS:.0f} s\n"
            time.sleep(_BETWEEN_TRIES_SECONDS)
    return ""


def _launch(group: Group, command: Sequence[str], gpus: int) -> int:
    problem = joined(group)
    if problem:
        sys.stderr.write(problem)
        return _MISSING
    agent = f"{sys.executable} -m nodeworthy_probe.group reach"
    meeting = {"MASTER_ADDR": group.addresses[0], "MASTER_PORT": str(group.port + 1)}
    names = [*meeting, *(name for name in sorted(os.environ) if name.startswith("NCCL_"))]
    exported = [word for name in names for word in ("-x", name)]
    line = ["mpirun", "--allow-run-as-root", "--host", ",".join(f"{address}:{gpus}" for address in group.addresses),
            "-np", str(gpus * len(group.addresses)), "--bind-to", "none", "--mca", "plm_rsh_agent", agent,
            "--mca", "plm_rsh_no_tree_spawn", "1", *exported, *command]  # fmt: skip
    try:
        return subprocess.run(line, env={**os.environ, **meeting}, check=False).returncode
    except OSError as error:
        sys.stderr.write(f"mpirun cannot be started ({error})\n")
        return _MISSING


def _answers(group: Group, address: str) -> bool:
    try:
        return ask(group, address, "true", sys.stderr.buffer) == 0
    except OSError:
        return False


def ask(group: Group, address: str, command: str, output: BinaryIO) -> int:
    """Have one member run a command; its output goes to `output`. An empty command releases it."""
    with socket.create_connection((address, group.port), _ANSWER_SECONDS) as connection:
        stream = connection.makefile("rwb")
        challenge = stream.readline(_LINE_LIMIT).strip().decode()
        proof = _proof(group, challenge, command)
        stream.write(json.dumps({"proof": proof, "command": command}).encode() + b"\n")
        stream.flush()
        connection.settimeout(None)  # a command may take as long as it likes; mpirun and the probe watch the time
        while line := stream.readline(_LINE_LIMIT):
            row = json.loads(line)
            if "exit" in row:
                return int(row["exit"])
            output.write(str(row["line"]).encode("utf-8", "surrogateescape"))
            output.flush()
    raise ConnectionError("the member hung up")


def _proof(group: Group, challenge: str, command: str) -> str:
    return hmac.new(group.key.encode(), f"{challenge} {command}".encode(), "sha256").hexdigest()


def _serve(group: Group) -> int:
    released = threading.Event()
    with socket.create_server((group.addresses[group.rank], group.port)) as listener:
        print(f"Rank {group.rank} waits on {group.addresses[group.rank]}:{group.port} for its leader", flush=True)
        listener.settimeout(_BETWEEN_TRIES_SECONDS)
        while not released.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            threading.Thread(target=_attend, args=(group, connection, released), daemon=True).start()
    return 0


def _attend(group: Group, connection: socket.socket, released: threading.Event) -> None:
    """Check one caller's proof and run its command. What a caller does wrong ends its own connection only."""
    try:
        connection.settimeout(_ANSWER_SECONDS)
        with connection, connection.makefile("rwb") as stream:
            challenge = secrets.token_hex(16)
            stream.write(f"{challenge}\n".encode())
            stream.flush()
            request = json.loads(stream.readline(_LINE_LIMIT))
            command = str(request["command"])
            if not hmac.compare_digest(str(request["proof"]), _proof(group, challenge, command)):
                print("A caller without the group's key was turned away", flush=True)
                code = _DENIED
            else:
                connection.settimeout(None)
                code = _run(command, stream) if command else 0
            stream.write(json.dumps({"exit": code}).encode() + b"\n")
            stream.flush()
            if code == 0 and not command:
                released.set()
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"A caller was lost ({error})", flush=True)


def _run(command: str, stream: Any) -> int:
    print(f"Runs: {command[:200]}", flush=True)
    process = subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    for line in process.stdout:
        stream.write(json.dumps({"line": line.decode("utf-8", "surrogateescape")}).encode() + b"\n")
        stream.flush()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
