"""The heartbeat of a run whose tasks wait: its leases are renewed from the triggerer, all of them at once.

A pod or a boot may take longer than a lease lives. While something of the run waits there, the run is alive
and its nodes are not stranded; when nothing of it is left, its leases expire as those of a dead run. What must not take
for ever has a deadline of its own: the wait, the milestone. A request to a person is parked where nothing can beat: it
keeps its node by itself, until its own time (`ledger_sql/orphans.py`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

EVERY_SECONDS = 60.0
"""Far below any life of a lease; what was renewed a short while ago costs one look."""

log = logging.getLogger("nodeworthy")
_beaten: dict[str, float] = {}


def beat(run: str) -> None:
    """Renew the leases of a run once. A ledger that is away now is tried again at the next beat."""
    from nodeworthy.errors import NodeworthyError
    from nodeworthy.wiring import wiring

    try:
        wiring().ledger.beat(run)
    except NodeworthyError as error:
        log.warning("The leases of %s could not be renewed: %s", run, error.sentence)


@asynccontextmanager
async def heartbeat(
    run: str, *, every_seconds: float = EVERY_SECONDS, beat: Callable[[str], None] = beat
) -> AsyncIterator[None]:
    """Beat for a run while the block waits; many waits of a run beat as one. Without a run nothing beats."""
    beating = asyncio.ensure_future(_beat_on(run, every_seconds, beat)) if run else None
    try:
        yield
    finally:
        if beating is not None:
            beating.cancel()
            _beaten.pop(run, None)


async def _beat_on(run: str, every_seconds: float, beat: Callable[[str], None]) -> None:
    while True:
        if time.monotonic() - _beaten.get(run, -math.inf) >= every_seconds:
            _beaten[run] = time.monotonic()
            await asyncio.to_thread(beat, run)
        await asyncio.sleep(every_seconds)
