"""Container logs in the CRI format (`time stream tag text`): written as output comes, read with the API's options."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_FOLLOW_PATIENCE_SECONDS = 30.0
_BLOCK = 256 * 1024


def _stamp() -> str:
    # Nanoseconds as the runtime writes them; the last three digits are zero here.
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


class LogWriter:
    """One run of a container: turns chunks into stamped lines, tells readers about them."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._rest: dict[str, bytes] = {}
        self.closed = False
        self._readers: set[asyncio.Event] = set()

    def write(self, stream: str, data: bytes) -> None:
        """Append output of `stdout` or `stderr`; an unfinished line waits for its end."""
        *lines, rest = (self._rest.get(stream, b"") + data).split(b"\n")
        self._rest[stream] = rest
        if lines:
            head = f"{_stamp()} {stream} F ".encode()
            self._file.write(b"".join(head + line + b"\n" for line in lines))
            self._tell()

    def close(self) -> None:
        """Write what is left without a line end, and tell readers that there will be no more."""
        if self.closed:
            return
        for stream, rest in self._rest.items():
            if rest:
                self._file.write(f"{_stamp()} {stream} P ".encode() + rest + b"\n")
        self._file.close()
        self.closed = True
        self._tell()

    def _tell(self) -> None:
        for event in self._readers:
            event.set()

    async def changed(self, event: asyncio.Event) -> None:
        """Wait until something was written or the log was closed."""
        self._readers.add(event)
        try:
            await asyncio.wait_for(event.wait(), _FOLLOW_PATIENCE_SECONDS)
        except TimeoutError:
            return
        finally:
            self._readers.discard(event)
            event.clear()


def _lines(path: Path, since: datetime | None) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and (since is None or _time(line) >= since):
                yield line


def _time(line: bytes) -> datetime:
    text = line.partition(b" ")[0].decode()
    return datetime.fromisoformat(text[:26] + "+00:00")


def _shown(line: bytes, *, timestamps: bool) -> bytes:
    stamp, _, tag, text = line.rstrip(b"\n").split(b" ", 3)
    shown = stamp + b" " + text if timestamps else text
    return shown + b"\n" if tag == b"F" else shown


def _since(options: dict[str, Any]) -> datetime | None:
    if options.get("sinceSeconds"):
        return datetime.now(UTC) - timedelta(seconds=options["sinceSeconds"])
    text = options.get("sinceTime")
    return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None


async def read_log(path: Path, writer: LogWriter | None, options: dict[str, Any]) -> AsyncIterator[bytes]:
    """Chunks of a log by the options of pods/log; with `follow` until `writer` closes."""
    timestamps = bool(options.get("timestamps"))
    position = path.stat().st_size
    lines = list(_lines(path, _since(options)))
    tail, limit = options.get("tailLines"), options.get("limitBytes")
    if tail is not None:
        lines = lines[len(lines) - tail :] if tail < len(lines) else lines
        lines = lines if tail else []
    text = b"".join(_shown(line, timestamps=timestamps) for line in lines)
    if limit is not None:
        yield text[:limit]
        return
    if text:
        yield text
    if options.get("follow") and writer is not None:
        async for chunk in _follow(path, writer, position, timestamps=timestamps):
            yield chunk


async def _follow(path: Path, writer: LogWriter, position: int, *, timestamps: bool) -> AsyncIterator[bytes]:
    event = asyncio.Event()
    rest = b""
    with path.open("rb") as file:
        file.seek(position)
        while True:
            closed = writer.closed
            data = rest + file.read(_BLOCK)
            *lines, rest = data.split(b"\n")
            if lines:
                yield b"".join(_shown(line, timestamps=timestamps) for line in lines)
            elif closed:
                return
            else:
                await writer.changed(event)
