"""The lifecycle as a page: diagrams (Mermaid) and tables made from the very rows that move nodes.

`docs/lifecycle.md` is this page of the shipped table; a test compares the two, so that no picture drifts from the code.
Events that leave many milestones for one place are drawn once, from a note, and listed in full in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from nodeworthy.lifecycle.automation import automation
from nodeworthy.lifecycle.path import onboarding_stages
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.rows import Deadline, Milestone, Projection, Transition
from nodeworthy.lifecycle.table import Lifecycle

MANY: Final = 4
"""From so many sources on, an event is drawn as one arrow from a common box."""

_UNITS: Final = (
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "min"),
    (timedelta(seconds=1), "s"),
)

Sources = Mapping[Transition, Sequence[str]]


def document(lifecycle: Lifecycle, policy: Policy) -> str:
    """Return the whole page as Markdown; the same table and policy always give the same text."""
    sources = _sources(lifecycle.transitions)
    path = {row.row for row in lifecycle.path}
    parts = (
        "# The life of a node",
        f"Generated from the lifecycle `{lifecycle.name}`, version {lifecycle.version}, by `nodeworthy documents`; "
        "do not edit. Brackets on an arrow name what its event voids.",
        "## From the rack into service",
        _mermaid(_edges({row: found for row, found in sources.items() if _on(row, found, path)})),
        "## Doubt, repair and end",
        _mermaid(_edges({row: found for row, found in sources.items() if not _on(row, found, path)})),
        "## Milestones",
        _milestones(lifecycle.milestones),
        "## Transitions",
        "A guard that objects refuses the move with its sentence; approval is asked for before the procedure acts.",
        _transitions(sources),
        "## Automatic, approved, never",
        f"By the policy of pool `{policy.pool}`; a pool's own file in `include/policies` may say otherwise, and "
        "isolation is always allowed. The owner is the team that answers for the row.",
        _automation(sources, policy),
        "## Stages of a bring-up",
        _stages(lifecycle),
    )
    return "\n\n".join(parts) + "\n"


def _sources(rows: Iterable[Transition]) -> dict[Transition, list[str]]:
    """Put transitions together that differ in their source alone, in the table's order."""
    found: dict[Transition, list[str]] = {}
    for row in rows:
        found.setdefault(replace(row, from_=""), []).append(row.from_)
    return found


def _on(row: Transition, sources: Sequence[str], path: set[str]) -> bool:
    return any(replace(row, from_=source).row in path for source in sources)


def _edges(sources: Sources) -> Iterator[str]:
    for row, found in sources.items():
        voids = f" [{', '.join(row.voids)}]" if row.voids else ""
        if len(found) < MANY:
            yield from (f"    {source} --> {row.to}: {row.event}{voids}" for source in found)
            continue
        box = f"{row.event}_from_{len(found)}"
        yield f'    state "{len(found)} milestones (see the table)" as {box}'
        yield f"    {box} --> {row.to}: {row.event}{voids}"


def _mermaid(edges: Iterable[str]) -> str:
    return "\n".join(("```mermaid", "stateDiagram-v2", *edges, "```"))


def _milestones(milestones: Sequence[Milestone]) -> str:
    heads = (
        "milestone",
        "phase",
        "what is true",
        "work may be scheduled",
        "deadline",
        "then",
        "if a boot is lost",
        "in Kubernetes",
    )
    return _table(heads, (_milestone(row) for row in milestones))


def _milestone(row: Milestone) -> tuple[str, ...]:
    schedulable = "yes" if row.schedulable else "no"
    then = "tell the operator" if row.deadline.default or row.deadline.per_sku else row.deadline.because
    then = then if row.at_deadline == "tell_operator" else f"`{row.at_deadline}`"
    interrupted = "stays" if row.if_interrupted == "stay" else f"`{row.if_interrupted}`"
    shown = _projection(row.projection)
    return f"`{row.name}`", row.phase, row.meaning, schedulable, _deadline(row.deadline), then, interrupted, shown


def _deadline(deadline: Deadline) -> str:
    default = "none" if deadline.default is None else _time(deadline.default)
    return "; ".join((default, *(f"{sku}: {_time(time)}" for sku, time in deadline.per_sku.items())))


def _time(time: timedelta) -> str:
    parts: list[str] = []
    for unit, name in _UNITS:
        count, time = divmod(time, unit)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts)


def _projection(projection: Projection) -> str:
    taints = [f"taint `{taint.key}:{taint.effect}`" for taint in projection.taints]
    labels = [f"label `{label}={value}`" for label, value in projection.labels.items()]
    return ", ".join((*taints, *labels, *(("cordon",) if projection.cordon else ()))) or "nothing of ours"


def _transitions(sources: Sources) -> str:
    heads = ("from", "event", "to", "procedure", "risk", "approval", "guards", "proof", "voids")
    return _table(heads, (_transition(row, found) for row, found in sources.items()))


def _transition(row: Transition, sources: Sequence[str]) -> tuple[str, ...]:
    words = (row.guards, row.proof, row.voids)
    from_ = ", ".join(f"`{source}`" for source in sources)
    risk = (row.risk.value, row.approval or "-")
    return from_, f"`{row.event}`", f"`{row.to}`", row.procedure, *risk, *(", ".join(names) or "-" for names in words)


def _automation(sources: Sources, policy: Policy) -> str:
    heads = ("event", "to", "from", "by itself", "why", "owner")
    return _table(heads, (_answer(row, found, policy) for row, found in sources.items()))


def _answer(row: Transition, sources: Sequence[str], policy: Policy) -> tuple[str, ...]:
    from_ = ", ".join(f"`{source}`" for source in sources) if len(sources) < MANY else f"{len(sources)} milestones"
    answer = automation(row, policy)
    owner = row.owner.replace("_", " ")
    return f"`{row.event}`", f"`{row.to}`", from_, answer.automation.value, answer.why, owner


def _stages(lifecycle: Lifecycle) -> str:
    heads = ("stage", "from", "to", "procedures", "approval", "judged behind it")
    rows = (
        (
            stage.name,
            f"`{stage.begins}`",
            f"`{stage.ends}`",
            ", ".join(stage.procedures),
            stage.approval or "-",
            stage.judges.value if stage.judges else "-",
        )
        for stage in onboarding_stages(lifecycle)
    )
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (heads, tuple("---" for _ in heads), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
