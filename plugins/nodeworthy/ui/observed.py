"""The page of what policy `observe` would have done, against what happened to the nodes afterwards.

The last thirty days, of a pool (`?pool=`) or of all; `nodeworthy observed` has the same with more choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from html import escape
from typing import Any, Final

from nodeworthy.lifecycle.observed import ACTIONS, Agreement, Compared, compare, counts

MONTH: Final = timedelta(days=30)
WITHIN: Final = timedelta(days=1)
COUNTED: Final = ("action", *(end.value for end in Agreement))
HEADS: Final = ("when (UTC)", "node", "action", "agreement", "would", "what happened within a day")


def compared(pool: str = "") -> tuple[Compared, ...]:
    """Return the observations of the last thirty days with what followed them, newest first."""
    from nodeworthy.wiring import wiring

    made = wiring()
    ledger: Any = made.ledger
    deeds = ledger.deeds(ACTIONS, made.clock.now() - MONTH, pool)
    return tuple(reversed(compare(deeds, made.library.lifecycle(), WITHIN)))


def counted(found: Sequence[Compared]) -> list[str]:
    """Return a row of a table for each action: how often people agreed, did otherwise, or nothing."""
    return [
        f"<tr><td>{escape(action)}</td>{''.join(f'<td>{ends[end.value]}</td>' for end in Agreement)}</tr>"
        for action, ends in counts(found).items()
    ]


def rows(found: Sequence[Compared]) -> list[str]:
    """Return a row of a table for each observation."""
    return [
        f'<tr><td>{one.at:%Y-%m-%d %H:%M}</td><td><a href="nodes/{escape(one.node)}">{escape(one.node)}</a></td>'
        f"<td>{escape(one.action)}</td><td>{one.agreement.value}</td><td>{escape(one.what)}</td>"
        f"<td>{'<br>'.join(escape(deed) for deed in one.deeds) or '-'}</td></tr>"
        for one in found
    ]
