"""A waiting task beats for its run: at once, again and again, together with the run's other waits, and not after."""

from __future__ import annotations

import asyncio

from nodeworthy.tasks.heartbeat import heartbeat


def test_a_wait_beats_at_once_and_until_it_ends() -> None:
    """The first beat comes before the first pause, and none after the wait."""
    beaten: list[str] = []

    async def wait() -> None:
        async with heartbeat("run-1", every_seconds=0.05, beat=beaten.append):
            while len(beaten) < 3:
                await asyncio.sleep(0.01)
        told = len(beaten)
        await asyncio.sleep(0.2)
        assert len(beaten) == told

    asyncio.run(asyncio.wait_for(wait(), 30))
    assert set(beaten) == {"run-1"}


def test_many_waits_of_a_run_beat_as_one() -> None:
    """Fifty nodes of one run cost one beat, and another run has its own."""
    beaten: list[str] = []

    async def wait(run: str, over: asyncio.Event) -> None:
        async with heartbeat(run, every_seconds=3600.0, beat=beaten.append):
            await over.wait()

    async def end(over: asyncio.Event) -> None:
        while {"run-1", "run-2"} - set(beaten):
            await asyncio.sleep(0.01)
        over.set()

    async def all_of_them() -> None:
        over = asyncio.Event()
        await asyncio.gather(*(wait("run-1", over) for _ in range(50)), wait("run-2", over), end(over))

    asyncio.run(all_of_them())
    assert sorted(beaten) == ["run-1", "run-2"]


def test_a_wait_without_a_run_beats_for_nobody() -> None:
    """A trigger that was stored before it knew its run still waits."""
    beaten: list[str] = []

    async def wait() -> None:
        async with heartbeat("", every_seconds=0.01, beat=beaten.append):
            await asyncio.sleep(0.03)

    asyncio.run(wait())
    assert beaten == []
