"""`nodeworthy node NAME`: where a node stands, what waits for a person, and its life as a timeline.

--now leaves the timeline out; --last N shows its last N lines.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nodeworthy.errors import Refused
from nodeworthy.ui.timeline import as_text, timeline
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger


def add(commands: Any) -> None:
    """Add the commands to the parser's subcommands."""
    node = commands.add_parser("node", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    node.add_argument("name")
    node.add_argument("--now", action="store_true")
    node.add_argument("--last", type=int, default=0, metavar="N")
    node.set_defaults(act=_node)
    commands.add_parser("notices", help="what waits for a person, newest first").set_defaults(act=_notices)


def _node(given: argparse.Namespace) -> None:
    ledger = _ledger()
    records = ledger.nodes([given.name])
    if not records:
        raise Refused(f"The ledger knows no node {given.name}: correct the name or import the fleet manifest.")
    record = records[0]
    since = f" since {record.since:%Y-%m-%d %H:%M} UTC" if record.since else ""
    print(f"{record.node.name} (serial {record.node.serial}, {record.node.sku}): {record.milestone}{since}")
    if record.reason:
        print(f"  {record.reason}")
    print(*_overlays(ledger, given.name), sep="\n")
    if not given.now:
        lines = timeline(ledger.history(given.name))
        print(f"\n{as_text(lines[-given.last :] if given.last else lines)}")


def _overlays(ledger: SqlLedger, name: str) -> list[str]:
    """Return what holds, qualifies and concerns the node now."""
    lines = [
        f"  held ({one.scope}) by {one.who} until {f'{one.until:%Y-%m-%d %H:%M} UTC' if one.until else 'released'}: "
        f"{one.why}"
        for one in ledger.holds(name)
    ]
    lines.extend(
        f"  qualified ({one.scope.value}) until {one.expires_at:%Y-%m-%d %H:%M} UTC [{one.dossier.path}]"
        for one in ledger.qualifications(name)
    )
    certificate = ledger.certificate(name)
    if certificate is not None:
        lines.append(f"  certificate until {certificate[1]:%Y-%m-%d %H:%M} UTC [{certificate[0].path}]")
    lines.extend(f"  waits for a person: {one.sentence}" for one in ledger.notices(name))
    return lines


def _notices(_: argparse.Namespace) -> None:
    found = _ledger().notices()
    for one in found:
        print(f"{one.raised_at:%Y-%m-%d %H:%M} UTC  {one.kind}: {one.sentence}")
    if not found:
        print("Nothing waits for a person.")


def _ledger() -> SqlLedger:
    from nodeworthy.adapters.ledger_sql import SqlLedger

    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    return ledger
