"""Another process with the same ledger: run as `python child.py URL VERB`, it says what it got in one line of JSON.

It uses the real clock, because two processes share no other.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from nodeworthy.adapters.ledger_sql import SqlLedger
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.table import Lifecycle


class RealClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """Return the present."""
        return datetime.now(UTC)


def ledger(url: str) -> SqlLedger:
    """Open the ledger as a task would."""
    table = Path(__file__).parents[3] / "include" / "lifecycle" / "default.yaml"
    return SqlLedger(url, RealClock(), Lifecycle.from_document(yaml.safe_load(table.read_text())))


def race(url: str, run: str) -> str:
    """Wait for the starting line, then try to take n1."""
    opened = ledger(url)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        lease = opened.open_episode("n1", kind="onboarding", run=run, lifetime=timedelta(hours=1))
    except Refused as refusal:
        return json.dumps({"refused": refusal.sentence})
    return json.dumps({"episode": lease.episode, "token": lease.token})


def die(url: str, run: str) -> str:
    """Intend an effect, say so, and be killed before it can be settled."""
    opened = ledger(url)
    lease = opened.open_episode("n1", kind="onboarding", run=run, lifetime=timedelta(seconds=1))
    effect = opened.intend(lease, "reset", "validation", {"boot_id": "b0"})
    print(json.dumps({"effect": effect.id}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


if __name__ == "__main__":
    address, verb, who = sys.argv[1:4]
    print({"race": race, "die": die}[verb](address, who), flush=True)
