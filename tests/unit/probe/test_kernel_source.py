"""The kernel log is cut at a cursor, and a lost cursor is an unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodeworthy_probe.kernel_source import KernelLog, read_log, split_at


def _log(*lines: str) -> KernelLog:
    return KernelLog("kmsg", lines)


def _records(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"6,{number},1,-;line {number}" for number in range(first, last + 1))


def test_text_is_cut_after_the_lines_seen_before() -> None:
    """A growing file: the new lines are those behind the old ones."""
    split = split_at(_log("a", "b"), _log("a", "b", "c"))

    assert (split.before, split.after, split.problem) == (("a", "b"), ("c",), None)


def test_a_ring_that_dropped_its_head_is_cut_by_the_last_lines() -> None:
    """The oldest lines are gone, the cursor is still there."""
    split = split_at(_log("a", "b", "c"), _log("z", "a", "b", "c", "d"))

    assert (split.after, split.problem) == (("d",), None)


def test_records_are_cut_by_their_number() -> None:
    """``/dev/kmsg`` numbers its records; the head may be gone."""
    split = split_at(KernelLog("kmsg", _records(1, 5)), KernelLog("kmsg", _records(4, 8)))

    assert split.problem is None
    assert split.after == _records(6, 8)


def test_a_gap_after_the_cursor_is_an_unknown() -> None:
    """Records between cursor and now were overwritten: nobody knows what they said."""
    split = split_at(KernelLog("kmsg", _records(1, 5)), KernelLog("kmsg", _records(9, 12)))

    assert split.problem is not None
    assert "wrapped" in split.problem


def test_a_vanished_text_cursor_is_an_unknown() -> None:
    """The same for a log without numbers, and for one that was emptied."""
    for later in (_log("x", "y"), _log()):
        assert split_at(_log("a", "b"), later).problem is not None


def test_an_unreadable_log_is_an_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The named file is not there: no lines, and a reason."""
    monkeypatch.setenv("NODEWORTHY_KERNEL_LOG", str(tmp_path / "nothing"))

    log = read_log()

    assert log.lines == ()
    assert split_at(log, log).problem is not None
