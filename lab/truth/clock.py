"""The lab's clock: lab time runs `speed` times faster than real time and can be moved ahead.

Everything that takes time in the lab (boot stages, firmware tasks, cures, latency of a flashing BMC) is a timer on
this clock, so a 48 h soak fits into seconds. With speed 0 the clock stands and only `advance` moves it: unit tests
step through hours without sleeping, in a fixed order.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Timer:
    """A callback that is due at a lab time; `cancel` makes it never run."""

    __slots__ = ("callback", "due")

    def __init__(self, due: datetime, callback: Callable[[], None]) -> None:
        self.due = due
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Forget the callback; harmless after it has run."""
        self.callback = None

    def fire(self) -> None:
        """Run the callback once."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()


class LabClock:
    """Aware UTC lab time with a changeable speed; timers run in order of their due time."""

    def __init__(
        self, speed: float = 1.0, start: datetime | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._base = start or datetime.now(UTC)
        self._base_real = monotonic()
        self._speed = speed
        self._queue: list[tuple[datetime, int, Timer]] = []
        self._numbers = itertools.count()
        self._wake: asyncio.TimerHandle | None = None

    @property
    def speed(self) -> float:
        """Lab seconds per real second."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if value < 0:
            raise ValueError(f"The clock cannot run backwards: speed {value} is below 0.")
        self._rebase(self.now())
        self._speed = value
        self._arm()

    def now(self) -> datetime:
        """The lab time, aware UTC."""
        return self._base + timedelta(seconds=(self._monotonic() - self._base_real) * self._speed)

    def real_seconds(self, duration: timedelta) -> float:
        """How many real seconds a lab duration takes at the present speed; infinite while the clock stands."""
        return duration.total_seconds() / self._speed if self._speed else float("inf")

    def call_later(self, delay: timedelta, callback: Callable[[], None]) -> Timer:
        """Run `callback` once the lab time has moved on by `delay`."""
        timer = Timer(self.now() + max(delay, timedelta(0)), callback)
        heapq.heappush(self._queue, (timer.due, next(self._numbers), timer))
        self._arm()
        return timer

    async def sleep(self, duration: timedelta) -> None:
        """Wait for `duration` of lab time; a change of speed or an advance is felt at once."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        timer = self.call_later(duration, wake)
        try:
            await future
        finally:
            timer.cancel()

    def advance(self, by: timedelta) -> None:
        """Move the lab time ahead; every timer on the way runs at its own due time, in order."""
        target = self.now() + by
        while self._queue and self._queue[0][0] <= target:
            due, _, timer = heapq.heappop(self._queue)
            if due > self.now():
                self._rebase(due)
            timer.fire()
        if target > self.now():
            self._rebase(target)
        self._arm()

    def _rebase(self, now: datetime) -> None:
        self._base, self._base_real = now, self._monotonic()

    def _run_due(self) -> None:
        self._wake = None
        while self._queue and self._queue[0][0] <= self.now():
            heapq.heappop(self._queue)[2].fire()
        self._arm()

    def _arm(self) -> None:
        """One event-loop timer for the earliest due time; without a running loop only `advance` moves things."""
        while self._queue and self._queue[0][2].callback is None:
            heapq.heappop(self._queue)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        if self._queue and self._speed:
            wait = max(0.0, self.real_seconds(self._queue[0][0] - self.now()))
            self._wake = loop.call_later(wait, self._run_due)
