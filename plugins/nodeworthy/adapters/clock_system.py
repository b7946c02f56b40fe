"""The Clock port: the machine's own clock, as aware UTC."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The present, from the system."""

    def now(self) -> datetime:
        """Return the present as aware UTC."""
        return datetime.now(tz=UTC)
