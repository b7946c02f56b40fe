"""A small safe lifecycle, written by hand, and ways to break it one row at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]
SHIPPED = Path(__file__).parents[3] / "include" / "lifecycle" / "default.yaml"


def shipped() -> Document:
    """Return the parsed table that ships."""
    found: Document = yaml.safe_load(SHIPPED.read_text())
    return found


def milestone(name: str, **more: Any) -> Document:
    """Return one row of a milestone that stands apart from work and has a day."""
    row: Document = {
        "name": name,
        "phase": "onboarding",
        "meaning": f"The node is {name}.",
        "schedulable": False,
        "deadline": "P1D",
        "at_deadline": "tell_operator",
        "if_interrupted": "stay",
        "projection": {"taints": ["example.dev/keep-out:NoSchedule"], "labels": {}},
    }
    return {**row, **more}


def edge(from_: str | list[str], event: str, to: str, **more: Any) -> Document:
    """Return one row of a transition without risk."""
    return {"from": from_, "event": event, "to": to, "procedure": event, "risk": "none", **more}


def small() -> Document:
    """Return fresh -test-> tested -image-> ready -admit-> serving, with a way into and out of trouble."""
    both = ["action_approved", "hardware_qualified", "platform_qualified"]
    return {
        "schema": "nodeworthy.lifecycle/1",
        "name": "small",
        "version": 1,
        "milestones": [
            milestone("fresh", initial=True),
            milestone("tested", if_interrupted="interrupt"),
            milestone("ready", deadline={"default": "P2D", "skus": {"slow": "P3DT12H"}}, at_deadline="fail"),
            milestone("serving", schedulable=True, projection={"taints": [], "labels": {"example.dev/serves": "true"}}),
            milestone("broken"),
            milestone("gone", final=True, deadline="never", because="This is the end."),
        ],
        "transitions": [
            edge("fresh", "test", "tested", stage="test", grants="hardware", guards=["hardware_qualified"]),
            edge("tested", "image", "ready", stage="image", grants="platform", guards=["platform_qualified"]),
            edge("ready", "admit", "serving", stage="admit", risk="high", approval="admission", guards=both),
            edge("tested", "interrupt", "fresh", voids=["hardware", "platform"]),
            edge(["ready", "serving"], "fail", "broken", proof=["reason"], voids=["hardware"]),
            edge("broken", "retest", "fresh", voids=["hardware", "platform"]),
            edge("broken", "retire", "gone", risk="final", approval="retire", guards=["plan_approved"]),
        ],
    }


def broken(change: Callable[[Document], None]) -> Mapping[str, Any]:
    """Return the small table with one change."""
    document = copy.deepcopy(small())
    change(document)
    return document


def row(document: Document, table: str, **named: Any) -> Document:
    """Return the first row of a table whose fields are as named (`from_` stands for `from`)."""
    wanted = {key.rstrip("_"): value for key, value in named.items()}
    found: Document = next(r for r in document[table] if all(r.get(key) == value for key, value in wanted.items()))
    return found
