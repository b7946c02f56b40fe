"""Reads a BMC's event logs, bounded: the newest entries of the few logs that say something of the hardware.

What a BMC may well not have is asked for softly: any answer but 200 becomes a gap in words. Sources: DMTF DSP0266
($expand, $top, $skip, nextLink), DSP0268 (LogServiceCollection, LogService, LogEntry). The order of a log is not
specified: it is told by ids where they are numbers, else by times; a log that tells neither counts as oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nodeworthy.adapters.bmc_redfish_soft import EXPAND, OK, Ask
from nodeworthy.adapters.bmc_redfish_state import moment
from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, identity, link, number, part, text
from nodeworthy.evidence.bmc_log import EventLog, LogEntry, LogRoom, LogRules


@dataclass(slots=True)
class LogReader:
    """One reading; `tree` remembers what the inventory read, `skips` is whether $top and $skip are announced."""

    tree: Tree
    ask: Ask
    rules: LogRules
    expands: bool
    skips: bool
    gaps: list[str] = field(default_factory=list)
    rooms: list[LogRoom] = field(default_factory=list)

    def read(self, systems: Sequence[Resource]) -> EventLog:
        """Read the logs of these systems, of the chassis that hold them and of the managers that manage them."""
        services: dict[str, Resource] = {}
        for holder in self._holders(systems):
            for service in self._services(holder):
                services.setdefault(identity(service), service)
        if len(services) > self.rules.most_logs:
            left = ", ".join(list(services)[self.rules.most_logs :])
            self.gaps.append(f"{len(services)} logs are served and {self.rules.most_logs} were read, without {left}")
        found: dict[str, tuple[LogEntry, ...]] = {}
        for path, service in list(services.items())[: self.rules.most_logs]:
            entries = self._entries(path, service)
            if entries is not None:
                found[_name(path)] = entries
        if not services:
            self.gaps.append(f"{_ids(systems)} announces none of the logs {', '.join(self.rules.logs)}")
        every = tuple(entry for entries in found.values() for entry in entries)
        return EventLog(
            every, {name: len(entries) for name, entries in found.items()}, tuple(self.gaps), tuple(self.rooms)
        )

    def _holders(self, systems: Sequence[Resource]) -> Iterator[Resource]:
        yield from systems
        for name in ("Chassis", "ManagedBy"):
            paths = dict.fromkeys(identity(one) for system in systems for one in part(system, "Links", name) or ())
            for path in filter(None, paths):
                status, body = (OK, self.tree.get(path) or {}) if name == "Chassis" else self.ask(path)
                if status == OK:
                    yield body
                else:
                    self.gaps.append(f"{path} answers {status}")

    def _services(self, holder: Resource) -> Iterator[Resource]:
        path = link(holder, "LogServices")
        status, collection = self._expanded(path) if path else (OK, {})
        if status != OK:
            self.gaps.append(f"LogServices of {text(holder, 'Id') or path} answers {status}")
        for member in _rows(collection):
            if _last(identity(member)).lower() not in self.rules.logs:
                continue
            status, service = (OK, member) if len(member) > 1 else self.ask(identity(member))
            if status != OK:
                self.gaps.append(f"{identity(member)} answers {status}")
            elif part(service, "ServiceEnabled") is False:
                self.gaps.append(f"{_name(identity(member))} is switched off")
            else:
                yield {**service, "@odata.id": identity(member)}

    def _expanded(self, path: str) -> tuple[int, Resource]:
        if self.expands:
            status, body = self.ask(path + EXPAND)
            if status == OK:
                return status, body
        return self.ask(path)

    def _entries(self, path: str, service: Resource) -> tuple[LogEntry, ...] | None:
        """Return the newest entries, oldest first; None when they are not served."""
        entries = link(service, "Entries")
        name, newest = _name(path), self.rules.newest
        status, page = self.ask(f"{entries}?$top={newest}" if self.skips else entries) if entries else (404, {})
        if status != OK or not isinstance(page.get("Members"), list):
            self.gaps.append(f"{name} has no entries to read (answer {status})")
            return None
        rows = _rows(page)
        total = max(number(page, "Members@odata.count") or 0, len(rows))
        most = number(service, "MaxNumberOfRecords")
        if most:
            self.rooms.append(LogRoom(name, total, most, text(service, "OverWritePolicy") == "NeverOverWrites"))
        if total > len(rows) and not _newest_first(rows):
            rows = self._to_the_end(name, page, total)
        rows = _oldest_first(self._whole(name, entries, rows))
        return tuple(_entry(name, row) for row in rows[-newest:])

    def _to_the_end(self, name: str, page: Resource, total: int) -> list[Resource]:
        """Go on where the newest entries stand last: straight to them, or page by page."""
        rows = {identity(row): row for row in _rows(page)}
        if self.skips:
            entries = identity(page).partition("?")[0]
            status, last = self.ask(f"{entries}?$skip={total - self.rules.newest}&$top={self.rules.newest}")
            if status == OK and _rows(last):
                return _rows(last)
        for _ in range(self.rules.most_pages - 1):
            following, known = part(page, "Members@odata.nextLink") or part(page, "@odata.nextLink"), len(rows)
            status, page = self.ask(following) if isinstance(following, str) and following else (404, {})
            rows |= {identity(row): row for row in _rows(page)} if status == OK else {}
            if len(rows) == known:
                break
        if len(rows) < total:
            self.gaps.append(f"{name} says that it has {total} entries and gave the first {len(rows)}: clear it")
        return list(rows.values())

    def _whole(self, name: str, entries: str, rows: list[Resource]) -> list[Resource]:
        """Return entries in full, as most BMCs serve them; links are expanded or, the last ones, read one by one."""
        if all(len(row) > 1 for row in rows):
            return rows
        if self.expands:
            status, page = self.ask(entries + EXPAND)
            if status == OK and all(len(row) > 1 for row in _rows(page)):
                return _rows(page)
        most, asked = self.rules.most_single_reads, _oldest_first(rows)
        if len(asked) > most:
            self.gaps.append(f"{name} lists {len(asked)} entries as links and the last {most} were read: clear it")
        answers = [self.ask(identity(row)) for row in asked[-most:]]
        gone = sum(status != OK for status, _ in answers)
        if gone:
            self.gaps.append(f"{gone} entries of {name} are listed and not served")
        return [body for status, body in answers if status == OK]


def _entry(name: str, row: Resource) -> LogEntry:
    arguments = part(row, "MessageArgs")
    sensor = part(row, "SensorNumber")
    return LogEntry(
        log=name,
        id=text(row, "Id") or _last(identity(row)),
        at=moment(row, "EventTimestamp") or moment(row, "Created"),
        severity=text(row, "Severity") or text(row, "MessageSeverity"),
        message_id=text(row, "MessageId"),
        message=text(row, "Message") or text(row, "Description") or text(row, "Name"),
        arguments=tuple(map(str, arguments)) if isinstance(arguments, list) else (),
        origin=_last(link(row, "Links", "OriginOfCondition") or link(row, "OriginOfCondition")),
        code=text(row, "EntryCode"),
        sensor=f"{text(row, 'SensorType')} {sensor}".strip() if sensor is not None else "",
        resolved=part(row, "Resolved") is True,
    )


def _rows(page: Resource) -> list[Resource]:
    members = page.get("Members")
    return [row for row in members if identity(row)] if isinstance(members, list) else []


def _newest_first(rows: Sequence[Resource]) -> bool:
    if len(rows) < 2:
        return False
    ids = [_last(identity(row)) for row in (rows[0], rows[-1])]
    if all(one.isdigit() for one in ids):
        return int(ids[0]) > int(ids[1])
    first, last = (moment(row, "Created") for row in (rows[0], rows[-1]))
    return first is not None and last is not None and first > last


def _oldest_first(rows: list[Resource]) -> list[Resource]:
    return rows[::-1] if _newest_first(rows) else rows


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _name(path: str) -> str:
    """Name a log by whose it is: `DGX/EventLog`."""
    holder, _, service = path.rstrip("/").partition("/LogServices/")
    return f"{_last(holder)}/{service}"


def _ids(systems: Iterable[Resource]) -> str:
    return " or ".join(text(system, "Id") for system in systems)
