"""The run of the nodes that one wave has no room for."""

from __future__ import annotations

from nodeworthy.tasks.next_wave import next_answers, next_run


def test_each_further_wave_counts_on_from_the_first_run() -> None:
    """The id follows from the run before, so that a second try starts nothing twice."""
    assert next_run("manual__2026-11-30") == "manual__2026-11-30-wave-2"
    assert next_run("manual__2026-11-30-wave-2") == "manual__2026-11-30-wave-3"
    assert next_run("manual__2026-11-30-wave-9") == "manual__2026-11-30-wave-10"


def test_the_next_run_gets_the_same_answers_for_the_nodes_that_are_left() -> None:
    """However the first request chose its nodes, the next names them; the rest of the form stays."""
    form = {"nodes": [], "rack": "A1", "batch": "", "retry_of": "", "level": "l2", "wave_size": 64}
    assert next_answers(form, ["gpu-a65"]) == {
        "nodes": ["gpu-a65"], "rack": "", "batch": "", "retry_of": "", "level": "l2", "wave_size": 64
    }  # fmt: skip
