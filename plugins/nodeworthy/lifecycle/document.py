"""Reads rows of a lifecycle document into frozen ones; what is missing or misspelt is refused with the row's name.

Times are ISO 8601 durations (`PT45M`, `P1DT12H`) or `never`; years and months have no fixed length and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.rows import STAY, TELL_OPERATOR, Deadline, Milestone, Projection, Risk, Taint, Transition

SCHEMA: Final = "nodeworthy.lifecycle/1"
NEVER: Final = "never"

_DURATION: Final = re.compile(
    r"P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?"
)
_MILESTONE_NEEDS: Final = ("name", "phase", "meaning", "schedulable", "deadline", "projection")
_MILESTONE_KEYS: Final = frozenset(
    (*_MILESTONE_NEEDS, "because", "at_deadline", "if_interrupted", "initial", "final"),
)
_TRANSITION_NEEDS: Final = ("from", "event", "to", "procedure", "risk")
_TRANSITION_KEYS: Final = frozenset(
    (*_TRANSITION_NEEDS, "guards", "approval", "proof", "voids", "grants", "stage", "owner")
)


def rows(mapping: Mapping[str, Any], table: str) -> Sequence[Mapping[str, Any]]:
    """Return a table's raw rows. Raises Permanent when the document is of another schema or the table is missing."""
    if mapping.get("schema") != SCHEMA:
        raise Permanent(
            f"The lifecycle has the schema `{mapping.get('schema')}` and this version reads `{SCHEMA}`: convert it."
        )
    found = mapping.get(table)
    if not isinstance(found, list) or not found:
        raise Permanent(f"The lifecycle has no `{table}`: it needs a list of them.")
    return found


def milestone(row: Mapping[str, Any]) -> Milestone:
    """Read one milestone."""
    name = str(row.get("name", "(without a name)"))
    _only(row, _MILESTONE_KEYS, f"Milestone `{name}`")
    _needs(row, _MILESTONE_NEEDS, f"Milestone `{name}`")
    return Milestone(
        name=name,
        phase=str(row["phase"]),
        meaning=str(row["meaning"]),
        schedulable=_flag(row, "schedulable", name),
        deadline=_deadline(row, name),
        at_deadline=str(row.get("at_deadline", TELL_OPERATOR)),
        if_interrupted=str(row.get("if_interrupted", STAY)),
        projection=_projection(row["projection"], name),
        initial=_flag(row, "initial", name),
        final=_flag(row, "final", name),
    )


def transitions(row: Mapping[str, Any]) -> tuple[Transition, ...]:
    """Read one entry: one transition for each milestone in its `from`."""
    named = f"Transition `{row.get('from')} -{row.get('event')}-> {row.get('to')}`"
    _only(row, _TRANSITION_KEYS, named)
    _needs(row, _TRANSITION_NEEDS, named)
    sources = row["from"] if isinstance(row["from"], list) else [row["from"]]
    try:
        risk = Risk(row["risk"])
        grants = Scope(row["grants"]) if row.get("grants") else None
    except ValueError as error:
        raise Permanent(f"{named} has a word that the table does not know: {error}.") from error
    return tuple(
        Transition(
            from_=str(source),
            event=str(row["event"]),
            to=str(row["to"]),
            procedure=str(row["procedure"]),
            risk=risk,
            guards=_words(row, "guards", named),
            approval=str(row.get("approval", "")),
            proof=_words(row, "proof", named),
            voids=_words(row, "voids", named),
            grants=grants,
            stage=str(row.get("stage", "")),
            owner=str(row.get("owner", "platform")),
        )
        for source in sources
    )


def duration(text: object, named: str) -> timedelta:
    """Read an ISO 8601 duration of weeks, days, hours, minutes and seconds; it must be positive."""
    match = _DURATION.fullmatch(str(text))
    parts = {unit: int(figure) for unit, figure in match.groupdict().items() if figure} if match else {}
    if not any(parts.values()):
        raise Permanent(
            f"{named} has the deadline `{text}`: write an ISO 8601 duration such as PT45M or P1D, or `{NEVER}`."
        )
    return timedelta(**parts)


def spoken(time: timedelta) -> str:
    """Return a duration as a person says it."""
    hours = time / timedelta(hours=1)
    if hours >= 48:
        return f"{hours / 24:g} days"
    return f"{hours:g} hours" if hours >= 1 else f"{time / timedelta(minutes=1):g} minutes"


def _deadline(row: Mapping[str, Any], name: str) -> Deadline:
    named, value, because = f"Milestone `{name}`", row["deadline"], str(row.get("because", ""))
    if value == NEVER:
        return Deadline(None, {}, because)
    if not isinstance(value, Mapping):
        return Deadline(duration(value, named), {}, because)
    per_sku = {str(sku): duration(text, named) for sku, text in value.get("skus", {}).items()}
    default = value.get("default")
    return Deadline(None if default == NEVER else duration(default, named), per_sku, because)


def _projection(value: object, name: str) -> Projection:
    if not isinstance(value, Mapping):
        raise Permanent(f"Milestone `{name}` has a projection that is no mapping: give it `taints` and `labels`.")
    taints: list[Taint] = []
    for text in value.get("taints", []):
        key, _, effect = str(text).rpartition(":")
        if not key or effect not in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
            raise Permanent(f"Milestone `{name}` has the taint `{text}`: write it as key:NoSchedule.")
        taints.append(Taint(key, effect))
    labels: dict[str, str | None] = {str(label): str(content) for label, content in (value.get("labels") or {}).items()}
    return Projection(tuple(taints), labels, bool(value.get("cordon", False)))


def _flag(row: Mapping[str, Any], key: str, name: str) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise Permanent(f"Milestone `{name}` has `{key}: {value}`: write true or false.")
    return value


def _words(row: Mapping[str, Any], key: str, named: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list):
        raise Permanent(f"{named} has `{key}: {value}`: write a list.")
    return tuple(str(word) for word in value)


def _only(row: Mapping[str, Any], known: frozenset[str], named: str) -> None:
    unknown = sorted(set(row) - known)
    if unknown:
        raise Permanent(f"{named} has the unknown field `{unknown[0]}`: correct it or remove it.")


def _needs(row: Mapping[str, Any], keys: Sequence[str], named: str) -> None:
    missing = [key for key in keys if key not in row]
    if missing:
        raise Permanent(f"{named} lacks `{missing[0]}`: add it.")
