"""Command line of the probe: plan from the environment, result into a folder.

``NODEWORTHY_PLAN`` holds the plan, ``NODEWORTHY_OUTPUT`` the folder (default ``/airflow/xcom``).
Exit codes: 0 the plan was run and the result written, whatever the figures; 2 the plan is not
usable; 3 the result could not be written; 4 the probe was asked to end before the last test
(the result is written and says which tests were skipped). ``parse KIND FILE`` runs nothing and
reads a tool's output that is already there.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from . import bundle
from .content import command as content_command
from .host import read_host
from .journal import Journal
from .plan import PlanRefused, read_plan
from .records import Execution
from .suite import Suite

_DEFAULT_OUTPUT = "/airflow/xcom"


class _StopFlag:
    """Turns true on SIGTERM or SIGINT; the running tool is then ended by its own group."""

    def __init__(self) -> None:
        self.raised = False

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        self.raised = True


def main() -> int:
    """Run the plan; see the module for the exit codes."""
    if sys.argv[1:2] == ["parse"]:
        return content_command.main(sys.argv[2:])
    try:
        plan = read_plan(os.environ.get("NODEWORTHY_PLAN"))
    except PlanRefused as refused:
        sys.stderr.write(f"{refused}\n")
        return 2
    flag = _StopFlag()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, flag.handle)
    journal = Journal(plan)
    host = read_host()
    journal.opening(host)
    started_at = _now()
    suite = Suite(plan, stopping=lambda: flag.raised, started=journal.started, ended=journal.ended)
    outcomes = suite.run()
    folder = Path(os.environ.get("NODEWORTHY_OUTPUT") or _DEFAULT_OUTPUT)
    try:
        receipt = bundle.write(folder, plan, host, bundle.Times(started_at, _now()), outcomes)
    except OSError as error:
        sys.stderr.write(f"The result cannot be written to {folder} ({error}); free space there or mount the volume.\n")
        return 3
    journal.closing(receipt.document, outcomes)
    skipped = flag.raised and any(outcome.execution is Execution.SKIPPED for outcome in outcomes)
    return 4 if skipped else 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    sys.exit(main())
