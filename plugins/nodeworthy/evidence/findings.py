"""Fault catalogues: what a code of a driver, a switch or a diagnostic means, and who says otherwise.

The tables are data (`include/faults/`). A source's position and ours are compared by stance alone: does the event by
itself call for a repair, or not. What the driver announces (Xid 154) outranks every table; an unknown code is unknown
and never harmless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from nodeworthy.evidence.verdicts import Verdict

# What the event itself calls so is a fault, whatever a table says of its kind.
RESET_GPU = "reset_gpu"
"""The action of the policy that a reset of the GPU carries out."""
ANNOUNCED = "follow_xid154"
"""The action of an entry that stands for what the driver itself announces."""
_ALWAYS_FAIL = frozenset({("sxid", "fatal"), ("redfish", "critical")})


class Stance(StrEnum):
    """Whether an event alone calls for a repair."""

    TOLERATE = "tolerate"
    ACT = "act"


@dataclass(frozen=True, slots=True)
class Action:
    """What a recommended action means: for a verdict, and for the operator."""

    name: str
    verdict: Verdict
    stance: Stance
    advice: str


class OldXids(NamedTuple):
    """Codes of Xids that came after the boot and before the tests."""

    tolerated: tuple[str, ...]
    """They decide nothing."""
    ended_by_reset: tuple[str, ...]
    """They decide, until the driver says that a reset of the GPU is no longer asked for."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of a catalogue; `positions` are the words of the sources, by source."""

    kind: str
    code: str
    name: str
    category: str
    action: str
    fatal: str = ""
    severity: str = ""
    positions: Mapping[str, str] = field(default_factory=dict)
    applies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """How codes of some kinds are decided; `action` replaces the table's, `verdict` overrides the action's."""

    kinds: tuple[str, ...]
    codes: tuple[str, ...]
    sentence: str
    verdict: Verdict | None = None
    action: str | None = None

    def covers(self, kind: str, code: str) -> bool:
        """Whether the rule is about that code."""
        return kind in self.kinds and (code in self.codes or "*" in self.codes)


@dataclass(frozen=True, slots=True)
class SinceBoot:
    """Which events of a kind decide although they came before the tests: those so fatal, with one of these actions."""

    kind: str
    fatal: tuple[str, ...]
    actions: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class NvlinkRow:
    """One row of NVIDIA's table for Xid 144 to 150; patterns are of 32 bits, highest first, `-` is any."""

    xid: str
    unit: str
    patterns: tuple[str, ...]
    status: tuple[int, ...]
    action: str
    investigate: str
    severity: str
    second_patterns: tuple[str, ...] = ()
    second_action: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An entry with the rule that decides it and the sources that take the other stance."""

    kind: str
    code: str
    fault: Fault | None
    action: Action
    verdict: Verdict
    rule: str
    disagree: Mapping[str, str]
    decoded: NvlinkRow | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All tables of faults. Codes are text without leading zeros; DCGM's may be given by name."""

    faults: Mapping[tuple[str, str], Fault]
    actions: Mapping[str, Action]
    recovery: Mapping[str, str]
    rules: Sequence[Rule]
    nvlink: Sequence[NvlinkRow]
    tolerant: Sequence[re.Pattern[str]]
    sources: Mapping[str, str] = field(default_factory=dict)
    since_boot: Sequence[SinceBoot] = ()

    def fault(self, kind: str, code: str) -> Fault | None:
        """The entry of a code, or None.

        An error of DCGM may be named with or without its prefix, a message of Redfish with or without the version of
        its registry, and without the registry where one alone has that name.
        """
        code = message_key(code) if kind == "redfish" else code
        found = self.faults.get((kind, code))
        if found is None and kind == "redfish" and "." not in code:
            named = [fault for (own, _), fault in self.faults.items() if own == kind and fault.name == code]
            return named[0] if len(named) == 1 else None
        if found is None and kind == "dcgm":
            wanted = {code.upper(), f"DCGM_FR_{code.upper()}"}
            return next(
                (fault for (own, _), fault in self.faults.items() if own == kind and fault.name in wanted), None
            )
        return found

    def explain(self, kind: str, code: str, details: Mapping[str, object] | None = None) -> Explanation:
        """What a code means; `details` are the words beside it (recovery action, NVLink5 words, printed severity)."""
        details = details or {}
        fault = self.fault(kind, code)
        code = fault.code if fault else code
        decoded = self.decode(code, details) if kind == "xid" else None
        rule = next((rule for rule in self.rules if rule.covers(kind, code)), None)
        action = self.actions[rule.action if rule and rule.action else self._action(fault, details, decoded)]
        verdict = rule.verdict if rule and rule.verdict else action.verdict
        if (kind, str(details.get("severity", "")).lower()) in _ALWAYS_FAIL:
            verdict = Verdict.FAIL
        if fault is None:
            unknown = Verdict.INCOMPLETE if verdict is Verdict.PASS else verdict
            verdict = _unlisted_event(details) if kind == "redfish" else unknown
        sentence = rule.sentence if rule else "no rule is written for this kind"
        return Explanation(kind, code, fault, action, verdict, sentence, self._disagree(fault, action), decoded)

    def overridden(self, pool: str, overrides: Sequence[Mapping[str, object]]) -> Catalogue:
        """The same tables with what a pool decided for single codes (`include/schemas/fault-override-1.json`).

        ValueError, with the place in the list first, for a code or an action that does not exist, and for a code that
        fails whatever a table says.
        """
        own = [self._override(pool, place, _mapping(entry)) for place, entry in enumerate(overrides)]
        return replace(self, rules=(*own, *self.rules))

    def _override(self, pool: str, place: int, entry: Mapping[str, object]) -> Rule:
        kind, code, action = (str(entry[name]) for name in ("kind", "code", "action"))
        fault = self.fault(kind, code)
        if fault is None:
            raise ValueError(place, f"{kind} {code} stands in no table")
        if fault.action == ANNOUNCED:
            raise ValueError(place, f"{kind} {code} is decided by no pool: the driver announces what must be done")
        if action not in self.actions:
            raise ValueError(place, f"{action} is no action of the policy ({', '.join(sorted(self.actions))})")
        fixed = next((rule for rule in self.rules if rule.covers(kind, fault.code)), None)
        if fixed and fixed.verdict and self.actions[action].verdict is Verdict.PASS:
            raise ValueError(place, f"{kind} {code} may not be tolerated ({fixed.sentence})")
        sentence = f"pool {pool} decided: {entry['reason']} ({entry['by']}, {entry['date']})"
        return Rule((kind,), (fault.code,), sentence, action=action)

    def decides_since_boot(self, kind: str, code: str) -> bool:
        """Whether an event from before the tests, but after the boot, keeps the node from passing.

        An action that a pool chose for the code decides alone; a code that no table lists is never harmless.
        """
        fault = self.fault(kind, code)
        if fault is None:
            return True
        own = next((rule for rule in self.rules if rule.action and rule.covers(kind, fault.code)), None)
        if own is not None and own.action is not None:
            return self.actions[own.action].verdict is not Verdict.PASS
        return any(
            rule.kind == kind and fault.fatal in rule.fatal and fault.action in rule.actions for rule in self.since_boot
        )

    def old_xids(self) -> OldXids:
        """What the codes of Xids from before the tests mean, each list in the order of its numbers."""
        codes = sorted((code for kind, code in self.faults if kind == "xid"), key=int)
        deciding = [code for code in codes if self.decides_since_boot("xid", code)]
        return OldXids(
            tuple(code for code in codes if code not in set(deciding)),
            tuple(code for code in deciding if self.explain("xid", code).action.name == RESET_GPU),
        )

    def decode(self, xid: str, details: Mapping[str, object]) -> NvlinkRow | None:
        """The row of the NVLink5 table for the words of an Xid 144 to 150, or None."""
        words = details.get("words")
        if not isinstance(words, list | tuple) or len(words) < 2:
            return None
        try:
            information, status = (int(str(word), 16) for word in words[:2])
        except ValueError:
            return None
        unit = str(details.get("unit", ""))
        fitting = [row for row in self.nvlink if row.xid == xid and _fits(row, information, status)]
        named = [row for row in fitting if set(unit.split("/")) & set(row.unit.split("/"))]
        return next(iter(named or fitting), None)

    def _action(self, fault: Fault | None, details: Mapping[str, object], decoded: NvlinkRow | None) -> str:
        announced = details.get("recovery_action")
        if announced is not None:
            return self.recovery.get(str(announced), "contact_support")
        if decoded is not None:
            return decoded.action if decoded.action in self.actions else "contact_support"
        if fault is None:
            return "contact_support"
        return fault.action if fault.action in self.actions else "contact_support"

    def _disagree(self, fault: Fault | None, action: Action) -> dict[str, str]:
        if fault is None:
            return {}
        return {source: words for source, words in fault.positions.items() if self.stance(words) is not action.stance}

    def stance(self, words: str) -> Stance:
        """Whether a source's words call for a repair."""
        return Stance.TOLERATE if any(pattern.search(words) for pattern in self.tolerant) else Stance.ACT


def _unlisted_event(details: Mapping[str, object]) -> Verdict:
    """Vendors add messages of their own: one that no table lists is as grave as the event itself says."""
    words = {"ok": Verdict.PASS, "critical": Verdict.FAIL}
    return words.get(str(details.get("severity", "")).lower(), Verdict.INCOMPLETE)


def message_key(message_id: str) -> str:
    """Registry and message of a Redfish MessageId without the version between them (DSP0266)."""
    parts = message_id.split(".")
    named = [part for part in parts if not part.isdigit()]
    return ".".join([named[0], named[-1]]) if len(named) > 1 else message_id


def _fits(row: NvlinkRow, information: int, status: int) -> bool:
    bits = format(information & 0xFFFFFFFF, "032b")
    patterns = (*row.patterns, *row.second_patterns)
    return (not row.status or status in row.status) and any(_matches(pattern, bits) for pattern in patterns)


def _matches(pattern: str, bits: str) -> bool:
    return len(pattern) == len(bits) and all(want in ("-", bit) for want, bit in zip(pattern, bits, strict=True))


def catalogue_from_documents(
    tables: Sequence[Mapping[str, object]], policy: Mapping[str, object], nvlink: Mapping[str, object]
) -> Catalogue:
    """The catalogue of checked documents (`include/schemas/faults-1.json`, `fault-policy-1.json`, `nvlink5-1.json`)."""
    faults = {}
    for table in tables:
        kind = str(table["kind"])
        for code, entry in _mapping(table["entries"]).items():
            faults[kind, code] = _fault(kind, code, _mapping(entry))
    actions = {name: _action(name, _mapping(entry)) for name, entry in _mapping(policy["actions"]).items()}
    return Catalogue(
        faults=faults,
        actions=actions,
        recovery={
            number: str(_mapping(entry)["action"]) for number, entry in _mapping(policy["recovery_actions"]).items()
        },
        rules=tuple(_rule(_mapping(entry)) for entry in _sequence(policy["rules"])),
        since_boot=tuple(_since_boot(_mapping(entry)) for entry in _sequence(policy.get("since_boot"))),
        nvlink=tuple(_row(_mapping(entry)) for entry in _sequence(nvlink["rows"])),
        tolerant=tuple(re.compile(str(word)) for word in _sequence(policy["tolerant_words"])),
        sources={str(table["kind"]): str(table["source"]) for table in (*tables, {**nvlink, "kind": "nvlink5"})},
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _fault(kind: str, code: str, entry: Mapping[str, object]) -> Fault:
    return Fault(
        kind=kind,
        code=code,
        name=str(entry["name"]),
        category=str(entry["class"]),
        action=str(entry["action"]),
        fatal=str(entry.get("fatal", "")),
        severity=str(entry.get("severity", "")),
        positions={source: str(words) for source, words in _mapping(entry["positions"]).items()},
        applies=tuple(map(str, _sequence(entry.get("applies")))),
    )


def _action(name: str, entry: Mapping[str, object]) -> Action:
    return Action(name, Verdict(str(entry["verdict"])), Stance(str(entry["stance"])), str(entry["advice"]))


def _rule(entry: Mapping[str, object]) -> Rule:
    verdict = entry.get("verdict")
    return Rule(
        kinds=tuple(map(str, _sequence(entry["kinds"]))),
        codes=tuple(map(str, _sequence(entry["codes"]))),
        sentence=str(entry["rule"]),
        verdict=Verdict(str(verdict)) if verdict else None,
    )


def _since_boot(entry: Mapping[str, object]) -> SinceBoot:
    fatal, actions = (tuple(map(str, _sequence(entry[name]))) for name in ("fatal", "actions"))
    return SinceBoot(str(entry["kind"]), fatal, actions, str(entry["rule"]))


def _row(entry: Mapping[str, object]) -> NvlinkRow:
    return NvlinkRow(
        xid=str(entry["xid"]),
        unit=str(entry["unit"]),
        patterns=tuple(map(str, _sequence(entry["patterns"]))),
        status=tuple(int(str(word), 16) for word in _sequence(entry["status"])),
        action=str(entry["action"]),
        investigate=str(entry["investigate"]),
        severity=str(entry["severity"]),
        second_patterns=tuple(map(str, _sequence(entry.get("second_patterns")))),
        second_action=str(entry.get("second_action", "")),
    )
