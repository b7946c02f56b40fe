"""`nodeworthy observed`: what policy `observe` would have done, against what happened to the node afterwards.

observed [--since ISO] [--pool POOL] [--within DAYS] [--json]

Counts by action, then a row each: `same` when the node made a move which the action leads to, `otherwise` when a person
did something else to it, `nothing` when neither happened within the time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.observed import ACTIONS, Compared, compare, counts
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger

MONTH: Final = timedelta(days=30)


def add(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    observed = commands.add_parser(
        "observed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    observed.add_argument("--since", type=datetime.fromisoformat, help="ISO 8601 (UTC without a zone); 30 days ago")
    observed.add_argument("--pool", default="")
    observed.add_argument("--within", type=float, default=1.0, metavar="DAYS", help="how long afterwards counts; 1")
    observed.add_argument("--json", action="store_true")
    observed.set_defaults(act=_observed)


def _observed(given: argparse.Namespace) -> None:
    made = wiring()
    since = given.since or made.clock.now() - MONTH
    since = since.replace(tzinfo=UTC) if since.tzinfo is None else since
    if given.within <= 0:
        raise Refused("--within is how long after an observation counts: give a positive number of days.")
    ledger: SqlLedger = made.ledger  # type: ignore[assignment]  # reports read more of it than procedures may
    within = timedelta(days=given.within)
    compared = compare(ledger.deeds(ACTIONS, since, given.pool), made.library.lifecycle(), within)
    print(as_json(compared, since, within) if given.json else as_text(compared, since))


def as_text(compared: Sequence[Compared], since: datetime) -> str:
    """Return the report for a terminal."""
    if not compared:
        return f"Policy observed nothing since {since:%Y-%m-%d %H:%M} UTC."
    lines = []
    for action, ends in counts(compared).items():
        told = ", ".join(f"{count} {end}" for end, count in ends.items())
        lines.append(f"{action}: {sum(ends.values())} observed since {since:%Y-%m-%d %H:%M} UTC: {told}")
    for row in compared:
        lines.append(f"{row.at:%Y-%m-%d %H:%M} UTC  {row.node}  {row.action}  {row.agreement.value}: would {row.what}")
        lines.extend(f"    {deed}" for deed in row.deeds)
    return "\n".join(lines)


def as_json(compared: Sequence[Compared], since: datetime, within: timedelta) -> str:
    """Return the report for a program."""
    rows = [
        {
            "node": row.node,
            "at": row.at.isoformat(),
            "action": row.action,
            "would": row.what,
            "agreement": row.agreement.value,
            "deeds": list(row.deeds),
        }
        for row in compared
    ]
    head = {"schema": "nodeworthy.observed/1", "since": since.isoformat(), "within_seconds": within.total_seconds()}
    return json.dumps({**head, "counts": counts(compared), "rows": rows}, indent=2)
