"""The table that people watch says for each node where it stands and why it stopped."""

from __future__ import annotations

from stack.table import Row, render


def test_the_final_table_shows_verdict_and_wraps_long_reasons() -> None:
    """A reason longer than its column goes on in the next line, under itself."""
    reason = "word " * 30
    text = render([Row("gpu-a01", "standby", verdict="pass"), Row("gpu-a02", "conformant", reason=reason)], final=True)
    lines = text.splitlines()
    assert lines[0].split() == ["NODE", "MILESTONE", "VERDICT", "REASON"]
    assert lines[1].split() == ["gpu-a01", "standby", "pass", "-"]
    assert lines[2].startswith("gpu-a02  conformant")
    assert lines[3].startswith(" " * 20)
    assert sum(line.count("word") for line in lines) == 30


def test_the_live_table_shows_what_is_done_now() -> None:
    """While the run goes on the last column is the step that works on the node."""
    assert (
        render([Row("gpu-a01", "conformant", now="firmware (waiting)")]).splitlines()[1].endswith("firmware (waiting)")
    )
