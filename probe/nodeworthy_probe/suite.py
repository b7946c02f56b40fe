"""Runs the tests of a plan one after another and gathers what they say.

One tool runs at a time. A tool that is missing, hangs, crashes or prints something unreadable
costs its own rows and nothing else. The kernel log is marked and the counters are read before the
first tool starts, and the counters again after each; both are told after the last one has ended,
wherever their tests stand in the plan.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import counters, group, kernel_source, own_check, plain
from .budget import Budget
from .counters import Watch
from .kernel_source import KernelLog
from .plan import Plan, TestSpec
from .process import ToolRun, run_tool
from .readings import (
    amd_identity,
    amd_topology,
    attestation,
    bandwidth,
    cabling,
    collective,
    devices,
    gpu_diag,
    gpu_identity,
    host,
    iterations,
    kernel,
    memory_stream,
    ports,
    tcp,
    topology,
    training,
    transferbench,
    wire,
)
from .readings import counters as counters_reading
from .readings import own_check as own_check_reading
from .readings.context import Context, Interpreter
from .records import Execution, Reading, SecondTry
from .repeats import carried_out

_INTERPRETERS: dict[str, Interpreter] = {
    "nvml": gpu_identity.read,
    "amdsmi": amd_identity.read,
    "amd-smi": amd_topology.read,
    "dcgmi": gpu_diag.read,
    "nvbandwidth": bandwidth.read,
    "all_reduce_perf": collective.read,
    "all_gather_perf": collective.read,
    "reduce_scatter_perf": collective.read,
    "alltoall_perf": collective.read,
    "lldpcli": cabling.read,
    "chronyc": host.read_clock,
    "stress-ng": host.read_stress,
    "gpu_burn": host.read_burn,
    "ibstat": ports.read,
    "nvidia-smi": topology.read,
    "train_step": training.read,
    "gpu_stream": memory_stream.read_gpus,
    "stream": memory_stream.read_host,
}
_WIRE = {"ib_write_bw": wire.read, "ib_write_lat": wire.read, "iperf3": tcp.read}
"""Tools that need a partner: the other node in a pair, the loopback on one node."""
_MODULES = {"nvml": "nvml_snapshot", "amdsmi": "amd_snapshot"}
"""Tools that are programs of our own, each a process, so that what hangs in a driver can be ended."""
_IDENTITY = ("nvml", "amdsmi")
KERNEL_LOG = "kernel-log"
SERVE = "serve"
"""What a member of a group does that does not lead it: run what the leader asks for. It measures nothing itself."""
_AROUND = (KERNEL_LOG, counters.TOOL)
"""Tests that are no tool of their own: they tell what happened while the others ran."""
_QUOTE = "tpm2_quote"
_Command = Callable[[Context, Path], list[str]]
_Read = Callable[[str, Context, Path], Reading]
_NOT_FOUND = 127
"""What a shell ends with when a command does not exist; our own processes end so when what they need is not there."""


@dataclass(frozen=True)
class Outcome:
    """One test: how its tool ended and what the output says."""

    number: int
    spec: TestSpec
    command: tuple[str, ...]
    execution: Execution
    exit_code: int | None
    duration_seconds: float
    reason: str | None
    raw: bytes
    reading: Reading
    second_try: tuple[SecondTry, ...] = ()


@dataclass
class Suite:
    """One run of a plan. ``stopping`` turns true when the probe is asked to end early."""

    plan: Plan
    stopping: Callable[[], bool] = lambda: False
    started: Callable[[int, TestSpec, tuple[str, ...]], None] = lambda number, spec, command: None
    ended: Callable[[Outcome], None] = lambda outcome: None
    _gpu_by_pci: dict[str, int] = field(default_factory=dict)
    _budget: Budget = field(default_factory=lambda: Budget(None))

    def run(self) -> list[Outcome]:
        """All outcomes, in the order of the plan."""
        mark, watch, self._budget = kernel_source.read_log(), Watch.of(self.plan), Budget.of(self.plan)
        numbered = list(enumerate(self.plan.tests, start=1))
        outcomes = []
        for number, spec in numbered:
            self._budget.begin(spec)
            if spec.tool not in _AROUND:
                outcomes.append(self._run_one(number, spec))
                watch.look(spec.test)
        watch.end()
        if self.plan.group is not None and self.plan.group.leads:
            group.release(self.plan.group)
        outcomes += [self._read_kernel(number, spec, mark) for number, spec in numbered if spec.tool == KERNEL_LOG]
        outcomes += [
            self._read_counters(number, spec, watch) for number, spec in numbered if spec.tool == counters.TOOL
        ]
        return sorted(outcomes, key=lambda outcome: outcome.number)

    def _run_one(self, number: int, spec: TestSpec) -> Outcome:
        context = Context(self.plan, spec, self._gpu_by_pci)
        with tempfile.TemporaryDirectory(prefix="nodeworthy-") as folder:
            command, interpret = _prepare(context, Path(folder))
            self.started(number, spec, command)
            if self.stopping() or interpret is None:
                reason = (
                    f"this probe knows no tool {spec.tool!r}" if interpret is None else "the probe was asked to end"
                )
                outcome = Outcome(number, spec, command, Execution.SKIPPED, None, 0.0, reason, b"",
                                  interpret("", context) if interpret else Reading())  # fmt: skip
            else:
                reader = interpret
                outcome = carried_out(
                    spec,
                    lambda: _judge_run(number, context, self._run_tool(command, spec), reader),
                    self.stopping,
                    self._budget.allows,
                )
        if spec.tool in _IDENTITY:
            self._gpu_by_pci.update(gpu_identity.gpu_by_pci(outcome.reading))
        self.ended(outcome)
        return outcome

    def _run_tool(self, command: tuple[str, ...], spec: TestSpec) -> ToolRun:
        if spec.tool == own_check.TOOL:
            return own_check.run_check(spec, self.stopping)
        if plain.is_plain(spec.tool):
            return plain.read_files(spec)
        return run_tool(command, spec.timeout_seconds, spec.environment, self.stopping)

    def _read_kernel(self, number: int, spec: TestSpec, mark: KernelLog) -> Outcome:
        self.started(number, spec, (KERNEL_LOG, mark.source))
        later = kernel_source.read_log()
        split = kernel_source.split_at(mark, later)
        reading = kernel.read(split, Context(self.plan, spec, self._gpu_by_pci))
        raw = "\n".join([*split.after, "--- lines from before the plan ---", *split.before]) + "\n"
        execution = Execution.COMPLETED if reading.problem is None else Execution.UNPARSABLE
        if later.problem:
            execution = Execution.TOOL_MISSING
        outcome = Outcome(number, spec, (KERNEL_LOG, later.source), execution, None, 0.0, reading.problem,
                          raw.encode("utf-8"), reading)  # fmt: skip
        self.ended(outcome)
        return outcome

    def _read_counters(self, number: int, spec: TestSpec, watch: Watch) -> Outcome:
        command = (counters.TOOL, *spec.arguments)
        self.started(number, spec, command)
        reading = counters_reading.read(watch.looks, watch.problem, Context(self.plan, spec, self._gpu_by_pci))
        raw = "".join(f"{json.dumps(one)}\n" for one in counters_reading.shown(watch.looks, spec.arguments))
        execution = Execution.COMPLETED if reading.problem is None else Execution.CRASHED
        if reading.lacking:
            execution = Execution.SKIPPED
        reason = reading.problem or reading.lacking
        outcome = Outcome(number, spec, command, execution, None, 0.0, reason, raw.encode("utf-8"), reading)
        self.ended(outcome)
        return outcome


def _prepare(context: Context, folder: Path) -> tuple[tuple[str, ...], Interpreter | None]:
    spec = context.test
    if spec.tool in _MODULES:
        return (sys.executable, "-m", f"nodeworthy_probe.{_MODULES[spec.tool]}"), _INTERPRETERS[spec.tool]
    if plain.is_plain(spec.tool):
        return (spec.tool, *spec.arguments), plain.interpreter(spec.tool)
    with_files = _with_files(context)
    if with_files is not None:
        command, read = with_files
        return tuple(command(context, folder)), lambda text, given: read(text, given, folder)
    if spec.tool == own_check.TOOL:
        return spec.arguments, own_check_reading.read
    if spec.tool == SERVE:
        return (sys.executable, "-m", "nodeworthy_probe.group", SERVE), lambda text, given: Reading()
    in_group = _in_group(spec) if context.plan.group is not None else None
    if in_group is not None:
        return in_group
    if devices.is_per_device(spec.tool) and spec.arguments:
        each, *rest = spec.arguments
        return (sys.executable, "-m", "nodeworthy_probe.each_device", each, spec.tool, *rest), devices.read
    return (spec.tool, *spec.arguments), _INTERPRETERS.get(spec.tool)


def _in_group(spec: TestSpec) -> tuple[tuple[str, ...], Interpreter] | None:
    """How a test of several nodes is carried out; None for one that looks at the leader alone."""
    if spec.tool in _WIRE and spec.arguments:
        each, *rest = spec.arguments
        return (sys.executable, "-m", "nodeworthy_probe.wire", each, spec.tool, *rest), _WIRE[spec.tool]
    if spec.tool in _INTERPRETERS:
        line = (sys.executable, "-m", "nodeworthy_probe.group", "launch", spec.tool, *spec.arguments)
        return line, _INTERPRETERS[spec.tool]
    return None


def _with_files(context: Context) -> tuple[_Command, _Read] | None:
    """How a tool is called and read that leaves files beside what it prints."""
    if context.test.tool == _QUOTE:
        return attestation.command, attestation.read
    if context.test.tool == transferbench.TOOL:
        return transferbench.command, transferbench.read
    return (iterations.command, iterations.read) if iterations.is_asked(context) else None


def _judge_run(number: int, context: Context, run: ToolRun, interpret: Interpreter) -> Outcome:
    execution, reason = _execution_of(run, context.test)
    # The output of a tool that did not end by itself is kept as evidence and never read as figures.
    reading = interpret(run.text if execution is Execution.COMPLETED else "", context)
    if execution is Execution.COMPLETED and reading.lacking:
        execution, reason = Execution.TOOL_MISSING, reading.lacking
    elif execution is Execution.COMPLETED and reading.problem:
        execution = Execution.CRASHED if run.exit_code and not run.stdout.strip() else Execution.UNPARSABLE
        reason = reading.problem if execution is Execution.UNPARSABLE else _last_words(run)
    elif execution is Execution.COMPLETED and run.exit_code:
        reason = f"{context.test.tool} ended with exit code {run.exit_code} and a complete output"
    return Outcome(number, context.test, run.command, execution, run.exit_code, round(run.duration_seconds, 3), reason,
                   run.raw, reading)  # fmt: skip


def _execution_of(run: ToolRun, spec: TestSpec) -> tuple[Execution, str | None]:
    if run.exit_code is None or (run.exit_code == _NOT_FOUND and spec.tool != own_check.TOOL):
        return _never_ran(run, spec)
    if run.interrupted:
        return Execution.SKIPPED, "the probe was asked to end while the tool ran"
    if run.timed_out:
        return Execution.TIMED_OUT, f"no end after {spec.timeout_seconds:g} s; the tool was stopped"
    if run.exit_code < 0:
        return Execution.CRASHED, f"the tool was ended by signal {-run.exit_code}"
    if run.overflowed:
        return Execution.UNPARSABLE, "the tool printed more than the probe keeps"
    return Execution.COMPLETED, None


def _never_ran(run: ToolRun, spec: TestSpec) -> tuple[Execution, str | None]:
    if spec.tool == own_check.TOOL:
        return Execution.TOOL_MISSING, run.start_error
    if run.exit_code == _NOT_FOUND:
        return Execution.TOOL_MISSING, _last_words(run)
    if shutil.which(run.command[0]) is None:
        return Execution.TOOL_MISSING, f"{run.command[0]} is not on this node's PATH"
    return Execution.CRASHED, f"{run.command[0]} cannot be started: {run.start_error}"


def _last_words(run: ToolRun) -> str:
    words = run.stderr.decode("utf-8", "replace").strip().splitlines()
    if run.exit_code == _NOT_FOUND and words:
        return words[-1][:200]
    return f"exit code {run.exit_code} without output" + (f": {words[-1][:200]}" if words else "")
