"""Reads the kernel log by cursor, so that what happened during the tests can be told apart.

Three sources, tried in this order: the file or device named by ``NODEWORTHY_KERNEL_LOG``,
``/dev/kmsg``, and the ``dmesg`` command. The ring buffer forgets old records: if the cursor's
record is gone, what happened in between is unknown and the caller is told so.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from .parsers.kernel_log import sequence_number
from .process import run_tool

_RECORD_BYTES = 16_384
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class KernelLog:
    """All lines that are readable now; ``problem`` says why there are none."""

    source: str
    lines: tuple[str, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Split:
    """Lines before and after a cursor; ``problem`` is set when the boundary is lost."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    problem: str | None = None


def read_log() -> KernelLog:
    """Read the whole log from the first source that can be read."""
    named = os.environ.get("NODEWORTHY_KERNEL_LOG")
    for path in [Path(named)] if named else [Path("/dev/kmsg")]:
        log = _read_path(path)
        if log.problem is None or named:
            return log
    run = run_tool(["dmesg"], 30, {})
    if run.exit_code != 0:
        return KernelLog("dmesg", (), "neither /dev/kmsg nor dmesg can be read; give the pod the kernel log")
    return KernelLog("dmesg", tuple(run.text.splitlines()))


def split_at(earlier: KernelLog, later: KernelLog) -> Split:
    """Cut ``later`` where ``earlier`` ended."""
    problem = earlier.problem or later.problem
    if problem or earlier.source != later.source:
        return Split((), (), problem or "the kernel log was read from two different sources")
    if not earlier.lines:
        return Split((), later.lines)
    last = sequence_number(earlier.lines[-1])
    if last is not None:
        return _split_by_sequence(last, later.lines)
    return _split_by_text(earlier.lines, later.lines)


def _split_by_sequence(last: int, lines: tuple[str, ...]) -> Split:
    numbers = [sequence_number(line) for line in lines]
    before = tuple(line for line, number in zip(lines, numbers, strict=True) if number is not None and number <= last)
    after = tuple(line for line, number in zip(lines, numbers, strict=True) if number is None or number > last)
    first_new = next((number for number in numbers if number is not None and number > last), last + 1)
    lost = first_new != last + 1 or (not before and not after)
    return Split(before, after, "the kernel log wrapped during the tests: records are lost" if lost else None)


def _split_by_text(earlier: tuple[str, ...], lines: tuple[str, ...]) -> Split:
    count = len(earlier)
    if lines[:count] == earlier:
        return Split(lines[:count], lines[count:])
    # The ring may have dropped its head: the last lines read before must still be there, in order.
    tail = earlier[-20:]
    for end in range(len(lines), len(tail) - 1, -1):
        if lines[end - len(tail) : end] == tail:
            return Split(lines[:end], lines[end:])
    return Split((), lines, "the kernel log wrapped during the tests: records are lost")


def _read_path(path: Path) -> KernelLog:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return KernelLog(str(path), (), f"the kernel log {path} cannot be read ({error.strerror})")
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            with os.fdopen(os.dup(descriptor), "rb") as stream:
                blob = stream.read(_MOST_BYTES)
        else:
            blob = _read_records(descriptor)
    except OSError as error:
        return KernelLog(str(path), (), f"the kernel log {path} cannot be read ({error.strerror})")
    finally:
        os.close(descriptor)
    return KernelLog(str(path), tuple(blob.decode("utf-8", "replace").splitlines()))


def _read_records(descriptor: int) -> bytes:
    """Each read of ``/dev/kmsg`` gives one record; EPIPE says that some were overwritten."""
    records = bytearray()
    while len(records) < _MOST_BYTES:
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        except BlockingIOError:
            break
        except BrokenPipeError:
            continue
        if not record:
            break
        records += record.split(b"\n", 1)[0] + b"\n"
    return bytes(records)
