"""Maintenance windows: open when the rule says, over changes of the clocks and around blackouts.

Expected times were worked out from the zones' rules: in 2026 Europe/Berlin leaves winter time on 29 March at 02:00 (to
03:00) and summer time on 25 October at 03:00 (to 02:00); America/New_York does on 8 March and 1 November at 02:00.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nodeworthy.lifecycle.policy_error import PolicyError
from nodeworthy.lifecycle.windows import Calendar, sentence


def calendar(rule: str, begins: str, lasts: str, zone: str = "Europe/Berlin", **more: Any) -> Calendar:
    """Return a calendar with one rule."""
    return Calendar.from_document(
        {"time_zone": zone, "open": [{"rule": rule, "from": begins, "lasts": lasts}], **more},
    )


def utc(text: str) -> datetime:
    """Return a UTC time."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


TUESDAYS = calendar("FREQ=WEEKLY;BYDAY=TU", "2026-01-06T22:00", "PT4H")


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        ("2026-12-01T20:59", False),
        ("2026-12-01T21:00", True),
        ("2026-12-02T00:59", True),
        ("2026-12-02T01:00", False),
        # In summer 22:00 in Berlin is 20:00 UTC.
        ("2026-07-07T19:59", False),
        ("2026-07-07T20:00", True),
        ("2026-07-08T00:00", False),
    ],
)
def test_wall_time_stays_over_the_year(at: str, is_open: bool) -> None:
    """Tuesdays at 22:00 in Berlin are 21:00 UTC in winter and 20:00 UTC in summer; the end is not open any more."""
    assert TUESDAYS.is_open(utc(at)) is is_open


def test_the_next_moment_that_is_open() -> None:
    """Between windows it is the next one's begin; inside one it is now; the end of an open one is known."""
    assert TUESDAYS.next_open(utc("2026-12-02T01:00")) == utc("2026-12-08T21:00")
    assert TUESDAYS.next_open(utc("2026-12-01T22:30")) == utc("2026-12-01T22:30")
    assert TUESDAYS.open_until(utc("2026-12-01T22:30")) == utc("2026-12-02T01:00")
    assert TUESDAYS.open_until(utc("2026-12-02T22:30")) is None


@pytest.mark.parametrize(
    ("zone", "begins", "opens", "closes"),
    [
        # 02:30 does not exist: read with the offset before the gap it is 03:30 in summer time.
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30", "2026-03-29T03:30"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:30", "2026-03-08T09:30"),
        # 02:30 (Berlin) and 01:30 (New York) exist twice: the first counts, and two hours stay two hours.
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30", "2026-10-25T02:30"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30", "2026-11-01T07:30"),
    ],
    ids=["gap Berlin", "gap New York", "overlap Berlin", "overlap New York"],
)
def test_nights_when_the_clocks_change(zone: str, begins: str, opens: str, closes: str) -> None:
    """A window of two hours begins as RFC 5545 says and lasts two hours."""
    daily = calendar("FREQ=DAILY", begins, "PT2H", zone)
    second = timedelta(seconds=1)
    assert not daily.is_open(utc(opens) - second)
    assert daily.is_open(utc(opens))
    assert daily.is_open(utc(closes) - second)
    assert not daily.is_open(utc(closes))
    assert daily.next_open(utc(opens) - second) == utc(opens)


def test_a_window_over_the_change_is_as_long_as_any() -> None:
    """From 23:00 on, six hours end at 06:00 summer time in March and at 04:00 winter time in October."""
    daily = calendar("FREQ=DAILY", "2026-01-01T23:00", "PT6H")
    assert daily.open_until(utc("2026-03-28T22:00")) == utc("2026-03-29T04:00")
    assert daily.open_until(utc("2026-10-24T21:00")) == utc("2026-10-25T03:00")


def test_a_blackout_closes_what_a_rule_opens() -> None:
    """The last days of the year are dark in the calendar's own zone; the next open moment lies behind them."""
    dark = [{"first": "2026-12-24", "last": "2027-01-03", "why": "year end"}]
    daily = calendar("FREQ=DAILY", "2026-12-01T22:00", "PT4H", blackouts=dark)
    assert daily.open_until(utc("2026-12-23T21:30")) == utc("2026-12-23T23:00")
    assert not daily.is_open(utc("2026-12-23T23:30"))
    assert not daily.is_open(utc("2027-01-03T22:00"))
    assert daily.next_open(utc("2026-12-24T12:00")) == utc("2027-01-03T23:00")
    said, until = sentence(daily, utc("2026-12-24T12:00"))
    assert said == ("the blackout 2026-12-24 to 2027-01-03 (year end): the next window opens at 2027-01-03 23:00 UTC")
    assert until == utc("2027-01-03T23:00")


def test_without_rules_only_blackouts_close() -> None:
    """No rule means always; adjoining blackouts are one."""
    days = [
        {"first": "2026-12-25", "last": "2026-12-25", "why": "b"},
        {"first": "2026-12-24", "last": "2026-12-24", "why": "a"},
    ]
    always = Calendar.from_document({"blackouts": days})
    assert Calendar().is_open(utc("2026-12-24T12:00"))
    assert not always.is_open(utc("2026-12-24T12:00"))
    assert always.next_open(utc("2026-12-24T12:00")) == utc("2026-12-26T00:00")


def test_several_rules_are_open_together() -> None:
    """The earliest window of any rule is the next."""
    rows = [
        {"rule": "FREQ=MONTHLY;BYDAY=1SA", "from": "2026-01-03T08:00", "lasts": "PT8H"},
        {"rule": "FREQ=WEEKLY;BYDAY=WE", "from": "2026-01-07T02:00", "lasts": "PT1H"},
    ]
    both = Calendar.from_document({"time_zone": "UTC", "open": rows})
    assert both.next_open(utc("2026-12-03T00:00")) == utc("2026-12-05T08:00")
    assert both.next_open(utc("2026-12-05T16:00")) == utc("2026-12-09T02:00")


def test_rules_that_have_ended_never_open_again() -> None:
    """A rule with a count is over after it."""
    twice = calendar("FREQ=DAILY;COUNT=2", "2026-12-01T22:00", "PT1H", "UTC")
    assert twice.next_open(utc("2026-12-02T23:00")) is None
    assert sentence(twice, utc("2026-12-02T23:00")) == (
        "no maintenance window is open: no window is left in the calendar",
        None,
    )


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("at", "takes", "words"),
    [
        # The window is 21:00 to 01:00 UTC.
        ("2026-12-01T21:00", 4 * HOUR, ""),
        ("2026-12-01T22:00", 3 * HOUR, ""),
        (
            "2026-12-01T22:01",
            3 * HOUR,
            "it is expected to take 3 hours and the time for it ends at 2026-12-02 01:00 UTC: the next window opens at "
            "2026-12-08 21:00 UTC",
        ),
        (
            "2026-12-01T21:00",
            5 * HOUR,
            "it is expected to take 5 hours and the time for it ends at 2026-12-02 01:00 UTC: no window that is long "
            "enough is left in the calendar",
        ),
        ("2026-12-02T12:00", 5 * HOUR, "no maintenance window is open: no window that is long enough is left"),
    ],
)
def test_what_does_not_fit_does_not_begin(at: str, takes: timedelta, words: str) -> None:
    """To the minute; the answer names the next window that is long enough, or that there is none."""
    told, until = sentence(TUESDAYS, utc(at), takes)
    assert told.startswith(words)
    assert bool(told) is bool(words)
    assert until == (utc("2026-12-08T21:00") if "2026-12-08" in words else None)


def test_a_blackout_that_comes_ends_a_calendar_that_is_always_open() -> None:
    """Two blackouts a day apart: three hours before the first, five hours fit only behind the second."""
    dark = [{"first": day, "last": day, "why": "x"} for day in ("2026-12-24", "2026-12-26")]
    always = Calendar.from_document({"blackouts": dark})
    assert sentence(always, utc("2026-12-23T21:00"), 3 * HOUR) == ("", None)
    told, until = sentence(always, utc("2026-12-23T21:00"), 5 * HOUR)
    assert "ends at 2026-12-24 00:00 UTC: the next window opens at 2026-12-25 00:00 UTC" in told
    assert until == utc("2026-12-25T00:00")
    assert always.next_open(utc("2026-12-23T21:00"), 25 * HOUR) == utc("2026-12-27T00:00")


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"rule": "FREQ=SOMETIMES"}, "rule", "no RRULE"),
        ({"rule": "FREQ=HOURLY"}, "rule", "repeats within a day"),
        ({"rule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "rule", "never happens"),
        ({"rule": "FREQ=DAILY;UNTIL=20261231T000000Z"}, "rule", "wall time"),
        ({"from": "tomorrow"}, "from", "no time"),
        ({"from": "2026-12-01T22:00+01:00"}, "from", "offset"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(change: dict[str, str], place: str, words: str) -> None:
    """What is wrong stands in the second rule, and the place says so."""
    good = {"rule": "FREQ=DAILY", "from": "2026-12-01T22:00", "lasts": "PT1H"}
    with pytest.raises(PolicyError, match=words) as refused:
        Calendar.from_document({"open": [good, {**good, **change}]})
    assert refused.value.place == ("windows", "open", 1, place)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"time_zone": "Mars/Olympus"}, ("windows", "time_zone")),
        ({"blackouts": [{"first": "2026-12-24", "last": "2026-12-01", "why": "x"}]}, ("windows", "blackouts", 0)),
        ({"blackouts": [{"first": "soon", "last": "2026-12-01", "why": "x"}]}, ("windows", "blackouts", 0)),
    ],
)
def test_wrong_zones_and_dates_are_refused(document: dict[str, Any], place: tuple[object, ...]) -> None:
    """A zone that does not exist and days that are none."""
    with pytest.raises(PolicyError) as refused:
        Calendar.from_document(document)
    assert refused.value.place == place
