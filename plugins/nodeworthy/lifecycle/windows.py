"""Maintenance windows: when voluntary work on nodes in service may happen, as calendar rules in a time zone.

A window begins at each occurrence of an RRULE (RFC 5545, read by python-dateutil) and lasts a fixed time; blackout
dates close everything. Rules count in wall time: 22:00 stays 22:00 over the year. At a change of the clocks RFC 5545
(3.3.5) decides: a time that does not exist is read with the offset before the gap, one that exists twice is the first.
Durations are elapsed time, so a window over such a night is as long as any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil.rrule import rrule, rrulestr

from nodeworthy.lifecycle.document import duration, spoken
from nodeworthy.lifecycle.policy_error import Place, PolicyError

HORIZON: Final = 1500
"""So many occurrences are looked at for the next open moment: four years of a daily rule."""

Span = tuple[datetime, datetime]

_CALENDAR: Final = re.compile(r"(?:^|;)FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;|$)")


@dataclass(frozen=True, slots=True)
class Blackout:
    """Days, first and last included, on which nothing is open, in the calendar's time zone."""

    first: date
    last: date
    why: str


@dataclass(frozen=True, slots=True)
class Window:
    """One rule: it opens at each occurrence, counted from `begins` (wall time), and stays open for `lasts`."""

    rule: str
    begins: datetime
    lasts: timedelta

    @property
    def occurrences(self) -> rrule:
        """The rule in wall time, without a zone."""
        return rrulestr(self.rule, dtstart=self.begins)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The windows of a pool. Without windows it is always open, apart from the blackouts."""

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    windows: tuple[Window, ...] = ()
    blackouts: tuple[Blackout, ...] = ()
    takes: Mapping[str, timedelta] = field(default_factory=dict)
    """How long each class of action is expected to take; what is not named takes no time."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Calendar:
        """Read `time_zone`, `open`, `blackouts` and `takes`. Raises PolicyError with its place."""
        place: Place = ("windows",)
        opened = [_window(row, (*place, "open", at)) for at, row in enumerate(document.get("open", ()))]
        closed = [_blackout(row, (*place, "blackouts", at)) for at, row in enumerate(document.get("blackouts", ()))]
        zone = _zone(str(document.get("time_zone", "UTC")), (*place, "time_zone"))
        takes = {str(name): duration(text, "An action") for name, text in document.get("takes", {}).items()}
        return cls(zone, tuple(opened), tuple(closed), takes)

    def is_open(self, at: datetime) -> bool:
        """Whether voluntary work may happen at an aware time."""
        return self.open_until(at) is not None or (not self.windows and self.blackout(at) is None)

    def open_until(self, at: datetime) -> datetime | None:
        """Return when the window that is open at `at` closes, in UTC; None when none is or when it never closes."""
        ends = [end for begin, end in self._spans(at, at) if begin <= at < end]
        if self.blackout(at) is not None or not ends:
            return None
        return min([max(ends), *self._begins_dark(at)])

    def closes(self, at: datetime) -> datetime | None:
        """Return when what is open at `at` closes, in UTC, by a window's end or a blackout; None when it never does."""
        return self.open_until(at) if self.windows else min(self._begins_dark(at), default=None)

    def next_open(self, after: datetime, lasting: timedelta = timedelta(0)) -> datetime | None:
        """Return the first moment from `after` on that is open for so long, in UTC; None when there is none left."""
        if not self.windows:
            return self._first_light(after.astimezone(UTC), lasting)
        found = [moment for window in self.windows if (moment := self._first(window, after, lasting)) is not None]
        return min(found, default=None)

    def blackout(self, at: datetime) -> Blackout | None:
        """Return the blackout that an aware time lies in."""
        day = at.astimezone(self.zone).date()
        return next((dark for dark in self.blackouts if dark.first <= day <= dark.last), None)

    def _first(self, window: Window, after: datetime, lasting: timedelta) -> datetime | None:
        for begin, end in islice(self._of(window, after), HORIZON):
            moment = self._first_light(max(begin, after.astimezone(UTC)), lasting)
            if moment < end and moment + lasting <= end:
                return moment
        return None

    def _first_light(self, moment: datetime, lasting: timedelta) -> datetime:
        """Return the first moment from `moment` on that no blackout touches for so long."""
        moment = self._light(moment)
        while any(begin < moment + lasting for begin in self._begins_dark(moment)):
            moment = self._light(min(self._begins_dark(moment)))
        return moment

    def _begins_dark(self, after: datetime) -> list[datetime]:
        return [begin for begin, _ in self._dark() if begin > after]

    def _spans(self, after: datetime, before: datetime) -> Iterator[Span]:
        """Yield the windows, in UTC, that end after `after` and begin no later than `before`."""
        for window in self.windows:
            for span in self._of(window, after):
                if span[0] > before:
                    break
                yield span

    def _of(self, window: Window, after: datetime) -> Iterator[Span]:
        # A day of margin on both sides: no zone shifts wall time by more.
        since = after.astimezone(self.zone).replace(tzinfo=None) - window.lasts - timedelta(days=1)
        for wall in window.occurrences.xafter(since, inc=True):
            begin = self._utc(wall)
            if begin + window.lasts > after:
                yield begin, begin + window.lasts

    def _dark(self) -> Iterator[Span]:
        for one in self.blackouts:
            first = self._utc(datetime.combine(one.first, time()))
            yield first, self._utc(datetime.combine(one.last + timedelta(days=1), time()))

    def _light(self, moment: datetime) -> datetime:
        """Return `moment`, or the end of the blackouts that it lies in."""
        for begin, end in sorted(self._dark()):
            if begin <= moment < end:
                moment = end
        return moment

    def _utc(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)


def _window(row: Mapping[str, Any], place: Place) -> Window:
    text = str(row["rule"]).removeprefix("RRULE:")
    try:
        begins = datetime.fromisoformat(str(row["from"]))
    except ValueError as error:
        raise PolicyError(f"`{row['from']}` is no time: write 2026-12-01T22:00", (*place, "from")) from error
    if begins.tzinfo is not None:
        raise PolicyError("`from` has an offset: write wall time, the zone is `time_zone`", (*place, "from"))
    window = Window(text, begins, duration(row["lasts"], "A window"))
    _refuse_rule(window, (*place, "rule"))
    return window


def _refuse_rule(window: Window, place: Place) -> None:
    """Refuse what RFC 5545 does not read, what is no calendar rule, and what never happens."""
    if "UNTIL=" in window.rule.upper() and window.rule.upper().partition("UNTIL=")[2].partition(";")[0].endswith("Z"):
        raise PolicyError("UNTIL is in UTC: write it in wall time, without Z", place)
    try:
        rule = window.occurrences
        first = next(iter(rule), None)
    except (ValueError, KeyError, TypeError) as error:
        raise PolicyError(f"`{window.rule}` is no RRULE of RFC 5545 ({error})", place) from error
    if not isinstance(rule, rrule) or not _CALENDAR.search(window.rule.upper()):
        raise PolicyError(f"`{window.rule}` repeats within a day: use DAILY, WEEKLY, MONTHLY or YEARLY", place)
    if first is None:
        raise PolicyError(f"`{window.rule}` never happens: correct its rule", place)


def _blackout(row: Mapping[str, Any], place: Place) -> Blackout:
    try:
        first, last = (date.fromisoformat(str(row[key])) for key in ("first", "last"))
    except ValueError as error:
        raise PolicyError(f"a blackout has no date ({error}): write 2026-12-24", place) from error
    if last < first:
        raise PolicyError(f"the blackout ends on {last} before it begins on {first}", place)
    return Blackout(first, last, str(row.get("why", "")))


def _zone(name: str, place: Place) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PolicyError(f"there is no time zone `{name}`: use a name such as Europe/Berlin", place) from error


def sentence(calendar: Calendar, now: datetime, takes: timedelta = timedelta(0)) -> tuple[str, datetime | None]:
    """Return why nothing voluntary that takes so long begins at `now`, and when it may; ("", None) when it may now."""
    if not calendar.is_open(now):
        dark, opens = calendar.blackout(now), calendar.next_open(now, takes)
        why = f"the blackout {dark.first} to {dark.last} ({dark.why})" if dark else "no maintenance window is open"
        return f"{why}: {_when(opens, takes)}", opens
    closes = calendar.closes(now)
    if closes is None or now + takes <= closes:
        return "", None
    opens = calendar.next_open(closes, takes)
    why = f"it is expected to take {spoken(takes)} and the time for it ends at {closes:%Y-%m-%d %H:%M} UTC"
    return f"{why}: {_when(opens, takes)}", opens


def _when(opens: datetime | None, takes: timedelta) -> str:
    if opens is None:
        return f"no window {'that is long enough ' if takes else ''}is left in the calendar"
    return f"the next window opens at {opens:%Y-%m-%d %H:%M} UTC"


__all__: Sequence[str] = ("Blackout", "Calendar", "Window", "sentence")
