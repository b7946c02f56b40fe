"""The probe refuses a plan that is not exactly one, in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nodeworthy_probe.plan import PlanRefused, read_plan

from tests.data import node_views


def test_a_plan_is_read_as_it_stands() -> None:
    """Fields, defaults and the hash of the exact text."""
    plan = read_plan(json.dumps(node_views.plan()))

    assert (plan.node, plan.episode, plan.expected_gpus, len(plan.tests)) == ("gpu-a01", 1, 8, 7)
    assert plan.tests[5].timeout_seconds == 600  # the default
    assert plan.tests[4].environment == {"NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"schema": "nodeworthy.plan/2"}, "reads no other version"),
        ({"nonce": "short"}, "64 lower-case hex digits"),
        ({"node": ""}, "'node'"),
        ({"episode": True}, "'episode'"),
        ({"tests": []}, "lists no test"),
        ({"expect": {"gpus": -1}}, "impossible number of gpus"),
        ({"tests": [{"test": "a.b", "tool": "x"}, {"test": "a.b", "tool": "x"}]}, "twice"),
        ({"tests": [{"test": "../x", "tool": "x"}]}, "not allowed"),
        ({"tests": [{"test": "x", "tool": "/bin/sh"}]}, "not allowed"),
        ({"tests": [{"test": "x", "tool": "y", "timeout_seconds": 0}]}, "time limit"),
        ({"tests": [{"test": "x", "tool": "y", "timeout_seconds": float("nan")}]}, "time limit"),
        ({"tests": [{"test": "x", "tool": "y", "arguments": [1]}]}, "list of strings"),
        ({"tests": [{"test": "x", "tool": "y", "environment": {"A": 1}}]}, "names to strings"),
    ],
)
def test_anything_else_is_refused(changes: dict[str, Any], word: str) -> None:
    """One sentence names what is wrong."""
    with pytest.raises(PlanRefused, match=word):
        read_plan(json.dumps(node_views.plan(**changes)))


@pytest.mark.parametrize("text", [None, "", "not json", "[]", "[" * 100_000])
def test_what_is_no_object_is_refused(text: str | None) -> None:
    """Absent, empty and broken plans end the probe before it starts anything."""
    with pytest.raises(PlanRefused):
        read_plan(text)
