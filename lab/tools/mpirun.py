"""Open MPI's `mpirun` and the daemon that it starts on each node, as far as a collective over several nodes needs them.

As the real one, it reaches the other nodes through the agent of `plm_rsh_agent`; what runs there tells what that node
would bring into the collective, so a node that is not reached takes no part and the job fails.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.tools import all_reduce_perf, train_step
from lab.tools.all_reduce_perf import Member
from lab.tools.view import NodeView, Output

_TELL = "LAB-MEMBER "
_FLAGS = {"--allow-run-as-root": 0, "--mca": 2, "-x": 1, "--host": 1, "-np": 1, "--bind-to": 1, "--map-by": 1}
_NOT_STARTED = (
    "--------------------------------------------------------------------------\nORTE was unable to reliably "
)


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Play `orted` (tell what this node brings) or `mpirun` (gather that of all nodes, then render the collective)."""
    if tool == "orted":
        return Output(_TELL + json.dumps(_member(view)._asdict()) + "\n", uses_gpu=True)
    given, command = _options(arguments)
    agent = next((value for name, value in given["--mca"] if name == "plm_rsh_agent"), "ssh")
    hosts = [row.partition(":")[0] for row in given["--host"][0][0].split(",")]
    members = [_member(view)]  # the first host is the one that mpirun runs on
    for host in hosts[1:]:
        done = subprocess.run([*agent.split(), host, "orted", "-mca", "ess", "env"], capture_output=True, check=False)
        told = [line for line in done.stdout.decode().splitlines() if line.startswith(_TELL)]
        if done.returncode or not told:
            return Output("", 1, 2.0, error=f"{_NOT_STARTED}start a daemon on {host}: {done.stderr.decode()}\n")
        members.append(Member(**json.loads(told[0].removeprefix(_TELL))))
    name, *rest = command
    if Path(name).name == "train_step":
        return train_step.run(name, rest, view, members)
    return all_reduce_perf.run(Path(name).name, rest, view, members)


def _member(view: NodeView) -> Member:
    document = view.document
    bandwidth = document["bandwidth"]
    return Member(
        document["node"],
        all_reduce_perf.gpu_lines(view),
        [float(rail["port_gbps"]) for rail in document["rdma"]],
        bool(document.get("rdma_usable", True)),
        bandwidth["groups"],
        int(bandwidth["all_reduce"].get("wrong", 0)),
        str(document.get("rack", "")),
        float(document.get("uplink_share", 1.0)),
        tuple(float(gpu.get("late_ms", 0.0)) for gpu in view.gpus),
    )


def _options(arguments: list[str]) -> tuple[dict[str, list[Any]], list[str]]:
    """Return mpirun's own options, each with all its values, and the command that it starts."""
    found: dict[str, list[Any]] = {name: [] for name in _FLAGS}
    place = 0
    while place < len(arguments) and arguments[place] in _FLAGS:
        name, count = arguments[place], _FLAGS[arguments[place]]
        found[name].append(tuple(arguments[place + 1 : place + 1 + count]))
        place += 1 + count
    return found, arguments[place:]
