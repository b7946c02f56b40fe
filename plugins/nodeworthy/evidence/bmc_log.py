"""A BMC's event log: what its entries say of the hardware, by the catalogue of Redfish messages.

An entry refuses a node when it is grave, nothing after it in the log says that it is over, and no part that it names
was exchanged since. What is less grave is a remark. Sources: DMTF DSP0268 (LogEntry: Resolved, EntryCode, SensorNumber,
OriginOfCondition), DSP0266 (MessageId), IPMI 2.0 (event records: assertion and deassertion).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodeworthy.evidence.findings import Catalogue, Explanation, message_key
from nodeworthy.evidence.verdicts import Verdict

_ASSERTION = re.compile(r"\b(?:de-?)?assert(?:ed|ion)?\b(?: event)?|\W", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry; `at` is None where the BMC gives no usable time. `sensor` is its type and number."""

    log: str
    id: str
    at: datetime | None
    severity: str
    message_id: str
    message: str
    arguments: tuple[str, ...] = ()
    origin: str = ""
    """Id of the resource that the entry is about."""
    code: str = ""
    sensor: str = ""
    resolved: bool = False

    @property
    def subject(self) -> str:
        """What the entry is about: its origin, its sensor or its first argument."""
        return self.origin or self.sensor or next(iter(self.arguments), "")


@dataclass(frozen=True, slots=True)
class LogRoom:
    """How full a log is; `fills_up` is whether it overwrites nothing (OverWritePolicy NeverOverWrites)."""

    log: str
    entries: int
    most: int
    fills_up: bool


@dataclass(frozen=True, slots=True)
class EventLog:
    """What was read: entries of each log, oldest first, how many by log, and in words what could not be read."""

    entries: tuple[LogEntry, ...] = ()
    logs: Mapping[str, int] | None = None
    gaps: tuple[str, ...] = ()
    rooms: tuple[LogRoom, ...] = ()
    """Of the logs that say how many entries they hold at most."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """How a log is read and judged (`include/schemas/bmc-log-1.json`); names and words are in lower case."""

    logs: tuple[str, ...]
    most_logs: int
    newest: int
    most_pages: int
    most_single_reads: int
    severities: frozenset[str]
    categories: frozenset[str]
    bearable_actions: frozenset[str]
    quiet_severities: frozenset[str]
    ends: Mapping[str, frozenset[str]]
    deasserted: re.Pattern[str]
    cleared: re.Pattern[str]
    clock_tolerance: timedelta


@dataclass(frozen=True, slots=True)
class LogJudgement:
    """One phrase per unresolved grave entry, and one per remark."""

    refusals: tuple[str, ...]
    remarks: tuple[str, ...]


def log_rules_from_document(document: Mapping[str, object]) -> LogRules:
    """The rules of a checked document."""
    reading, judging = _mapping(document["reading"]), _mapping(document["judging"])
    refuses = _mapping(judging["refuses"])
    ends = {str(code): frozenset(_words(ended)) for code, ended in _mapping(judging["ends"]).items()}
    return LogRules(
        logs=_words(reading["logs"]),
        most_logs=int(str(reading["most_logs"])),
        newest=int(str(reading["newest_entries"])),
        most_pages=int(str(reading["most_pages"])),
        most_single_reads=int(str(reading["most_single_reads"])),
        severities=frozenset(_words(refuses["severities"])),
        categories=frozenset(_words(refuses["classes"])),
        bearable_actions=frozenset(_words(refuses["unless_action"])),
        quiet_severities=frozenset(_words(judging["quiet_severities"])),
        ends=ends,
        deasserted=_any_of(_words(judging["deasserted_words"])),
        cleared=_any_of(_words(judging["cleared_words"])),
        clock_tolerance=timedelta(seconds=float(str(judging["clock_tolerance_seconds"]))),
    )


def judge_log(
    log: EventLog, rules: LogRules, catalogue: Catalogue, now: datetime, exchanged: Mapping[str, datetime]
) -> LogJudgement:
    """Judge a log; `exchanged` is when a part in a slot was last seen to be another one, by slot.

    Entries that say the same of the same part are one phrase, which names the newest.
    """
    refusals: dict[tuple[str, ...], list[str]] = {}
    remarks: dict[tuple[str, ...], list[str]] = {}
    for entry in open_entries(log.entries, rules):
        explained = catalogue.explain("redfish", entry.message_id, {"severity": entry.severity})
        over = _exchanged_since(entry, exchanged, now + rules.clock_tolerance)
        key = (entry.log, entry.message_id or entry.message, entry.subject)
        said = described(entry, now + rules.clock_tolerance)
        if over:
            remarks.setdefault(key, []).append(f"{said}, before {over} was exchanged")
        elif _refuses(entry, explained, rules):
            advice = f"{explained.action.advice}; exchange the part, or clear the log after looking"
            refusals.setdefault(key, []).append(f"{said}, and nothing says that it is over: {advice}")
        elif _noticed(entry, explained, rules):
            remarks.setdefault(key, []).append(said)
    return LogJudgement(_newest(refusals), _newest(remarks))


def open_entries(entries: Sequence[LogEntry], rules: LogRules) -> tuple[LogEntry, ...]:
    """The entries that nothing after them ends: no clearing of their log, no deassertion, no message of recovery."""
    found: list[LogEntry] = []
    for entry in entries:
        if rules.cleared.search(entry.message):
            found = [other for other in found if other.log != entry.log]
            continue
        deasserted = bool(rules.deasserted.search(f"{entry.code} {entry.message}"))
        ended = rules.ends.get(message_key(entry.message_id), frozenset())
        found = [
            other
            for other in found
            if not (deasserted and _condition(other) == _condition(entry))
            and not (message_key(other.message_id).lower() in ended and other.subject == entry.subject)
        ]
        if not (entry.resolved or deasserted):
            found.append(entry)
    return tuple(found)


def described(entry: LogEntry, latest: datetime) -> str:
    """One phrase: log, entry, time, message, and what it is called; a time after `latest` is not believed."""
    at = "at an unknown time"
    if entry.at is not None:
        at = f"of {entry.at:%Y-%m-%d %H:%M} UTC"
        at += " (a time to come: set the BMC's clock)" if entry.at > latest else ""
    message = " ".join(entry.message.split()).rstrip(".") or "no message"
    called = ", ".join(filter(None, (message_key(entry.message_id), entry.severity)))
    about = f" at {entry.origin}" if entry.origin and entry.origin not in message else ""
    return f"the BMC's {entry.log} has entry {entry.id} {at}, {message}{about} ({called or 'without severity'})"


def _refuses(entry: LogEntry, explained: Explanation, rules: LogRules) -> bool:
    fault = explained.fault
    severities = {entry.severity.lower(), fault.severity.lower() if fault else ""}
    grave = bool(severities & rules.severities) or (fault is not None and fault.category in rules.categories)
    bearable = fault is not None and explained.action.name in rules.bearable_actions
    return grave and explained.verdict is not Verdict.PASS and not bearable


def _noticed(entry: LogEntry, explained: Explanation, rules: LogRules) -> bool:
    listed = explained.fault.severity.lower() if explained.fault else ""
    return any(word and word not in rules.quiet_severities for word in (entry.severity.lower(), listed))


def _condition(entry: LogEntry) -> tuple[str, ...]:
    """What is asserted and deasserted. With a sensor's number, numbers in the text are readings, else names."""
    words = _ASSERTION.sub("", f"{entry.code} {entry.message}").lower()
    return (entry.log, entry.origin, entry.sensor, _NUMBER.sub("", words) if entry.sensor else words)


def _exchanged_since(entry: LogEntry, exchanged: Mapping[str, datetime], latest: datetime) -> str:
    """The slot that the entry names and whose part was exchanged after it; a time that cannot be is never before."""
    if entry.at is None or entry.at > latest:
        return ""
    named = (entry.origin, *entry.arguments)
    return next((slot for slot in named if slot in exchanged and entry.at < exchanged[slot]), "")


def _newest(phrases: Mapping[tuple[str, ...], list[str]]) -> tuple[str, ...]:
    return tuple(
        f"{said[-1]} (the newest of {len(said)} alike)" if len(said) > 1 else said[-1] for said in phrases.values()
    )


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words), re.IGNORECASE)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(word).lower() for word in value) if isinstance(value, list | tuple) else ()
