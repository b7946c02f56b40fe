"""The log of a probe run, written for the person who reads it as evidence."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from . import __version__
from .host import HostFacts
from .plan import Plan, TestSpec
from .records import Execution, Status
from .suite import Outcome


class Journal:
    """Prints what is tried, what was seen and what is missing, one test at a time."""

    def __init__(self, plan: Plan, stream: TextIO | None = None) -> None:
        self._plan = plan
        self._stream = stream or sys.stdout

    def opening(self, host: HostFacts) -> None:
        """Who is tested, on which boot of which image."""
        plan = self._plan
        self._say(f"Nodeworthy probe {__version__}: suite {plan.suite} on node {plan.node}, episode {plan.episode}, "
                  f"{len(plan.tests)} tests")  # fmt: skip
        seen = host.serial or "unreadable"
        note = "" if host.serial == plan.serial else f", while the plan was made for {plan.serial}"
        self._say(f"serial {seen}{note}; boot {host.boot_id or 'unknown'}; image {host.image or 'unknown'}; "
                  f"kernel {host.kernel or 'unknown'}")  # fmt: skip
        if host.simulated:
            self._say("this node is simulated: no figure below comes from real hardware")

    def started(self, number: int, spec: TestSpec, command: tuple[str, ...]) -> None:
        """Announce one test."""
        self._say(f"[{number}/{len(self._plan.tests)}] {spec.test}: {' '.join(command)} "
                  f"(time limit {spec.timeout_seconds:g} s)")  # fmt: skip

    def ended(self, outcome: Outcome) -> None:
        """What one test gave."""
        for line in outcome.reading.lines:
            self._say(f"      {line}")
        if outcome.reason:
            self._say(f"      note: {outcome.reason}")
        absent = [row for row in outcome.reading.measurements if row.status is not Status.OK]
        for line in _absent_lines(outcome):
            self._say(f"      {line}")
        figures = len(outcome.reading.measurements) - len(absent)
        self._say(f"      {outcome.execution} after {outcome.duration_seconds:.1f} s: {figures} figures, "
                  f"{len(absent)} without a number")  # fmt: skip

    def closing(self, receipt: dict[str, Any], outcomes: Sequence[Outcome]) -> None:
        """The one line that sums up the run."""
        completed = sum(outcome.execution is Execution.COMPLETED for outcome in outcomes)
        rows = [row for outcome in outcomes for row in outcome.reading.measurements]
        absent = sum(row.status is not Status.OK for row in rows)
        findings = sum(len(outcome.reading.findings) for outcome in outcomes)
        self._say(
            f"summary: {self._plan.node} {self._plan.suite}: {completed} of {len(outcomes)} tests completed, "
            f"{len(rows) - absent} figures, {absent} without a number, {findings} findings; "
            f"bundle {receipt['bundle_bytes']} bytes, sha256 {receipt['bundle_sha256']}"
        )

    def _say(self, line: str) -> None:
        printable = "".join(character if character.isprintable() else "?" for character in line)
        self._stream.write(printable + "\n")
        self._stream.flush()


def _absent_lines(outcome: Outcome) -> list[str]:
    """One line per metric and status: which components have no number."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in outcome.reading.measurements:
        if row.status is not Status.OK:
            groups.setdefault((row.metric, str(row.status)), []).append(row.component)
    return [f"{status}: {metric} of {_few(components)}" for (metric, status), components in groups.items()]


def _few(components: list[str]) -> str:
    shown = ", ".join(components[:8])
    return shown if len(components) <= 8 else f"{shown} and {len(components) - 8} more"
