"""The lab's clock: speed, jumps and the order of timers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from lab.truth.clock import LabClock

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_speed_stretches_time() -> None:
    """At speed 60 ten real seconds are ten lab minutes; a change of speed keeps what has passed."""
    real = [100.0]
    clock = LabClock(speed=60, start=START, monotonic=lambda: real[0])
    real[0] += 10
    assert clock.now() == START + timedelta(minutes=10)
    clock.speed = 1
    real[0] += 5
    assert clock.now() == START + timedelta(minutes=10, seconds=5)


def test_advance_runs_timers_in_order_at_their_own_time() -> None:
    """Each timer on the way sees the lab time it was due at, even one that another timer has set."""
    clock = LabClock(speed=0, start=START)
    seen: list[tuple[str, timedelta]] = []

    def note(name: str) -> None:
        seen.append((name, clock.now() - START))

    def first() -> None:
        note("first")
        clock.call_later(timedelta(minutes=1), lambda: note("nested"))

    clock.call_later(timedelta(minutes=5), lambda: note("late"))
    clock.call_later(timedelta(minutes=2), first)
    clock.call_later(timedelta(minutes=4), lambda: note("cancelled")).cancel()
    clock.advance(timedelta(minutes=10))
    assert seen == [
        ("first", timedelta(minutes=2)),
        ("nested", timedelta(minutes=3)),
        ("late", timedelta(minutes=5)),
    ]
    assert clock.now() == START + timedelta(minutes=10)


def test_a_sleeper_wakes_when_the_clock_jumps() -> None:
    """A sleep of an hour on a standing clock ends with an advance of an hour."""

    async def scenario() -> timedelta:
        clock = LabClock(speed=0, start=START)
        sleeper = asyncio.create_task(clock.sleep(timedelta(hours=1)))
        await asyncio.sleep(0)
        clock.advance(timedelta(hours=1))
        await asyncio.wait_for(sleeper, 1)
        return clock.now() - START

    assert asyncio.run(scenario()) == timedelta(hours=1)


def test_a_running_clock_wakes_its_sleepers() -> None:
    """At speed 36000 an hour of lab time is a tenth of a second."""

    async def scenario() -> timedelta:
        clock = LabClock(speed=36000, start=START)
        await asyncio.wait_for(clock.sleep(timedelta(hours=1)), 5)
        return clock.now() - START

    assert asyncio.run(scenario()) >= timedelta(hours=1)


def test_time_does_not_run_backwards() -> None:
    """A negative speed is refused."""
    with pytest.raises(ValueError, match="backwards"):
        LabClock().speed = -1
