"""Logs as BMCs serve them: whole, as links, in pages, in both orders, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from nodeworthy.adapters.bmc_redfish_log import LogReader
from nodeworthy.adapters.bmc_redfish_tree import Tree
from nodeworthy.evidence.bmc_log import EventLog

from tests.doubles.bench import library
from tests.unit.adapters.test_redfish_captures import TREES

RULES = replace(library().log_rules(), newest=4, most_pages=3, most_single_reads=2)
SYSTEM = {"@odata.id": "/s/DGX", "Id": "DGX", "LogServices": {"@odata.id": "/s/DGX/LogServices"}}
ENTRIES = "/s/DGX/LogServices/SEL/Entries"


def link(path: str) -> dict[str, str]:
    """A link."""
    return {"@odata.id": path}


def collection(path: str, members: list[Any], **more: Any) -> dict[str, Any]:
    """A collection that counts its members."""
    return {"@odata.id": path, "Members": members, "Members@odata.count": len(members), **more}


def entry(number: int, **more: Any) -> dict[str, Any]:
    """One entry, an hour after the one before."""
    created = f"2026-11-30T{number:02d}:00:00Z"
    return {**link(f"{ENTRIES}/{number}"), "Id": str(number), "Created": created, "Severity": "Critical", **more}


def bmc(entries: Any, **more: Any) -> dict[str, Any]:
    """A BMC with one log."""
    service = "/s/DGX/LogServices/SEL"
    return {
        "/s/DGX/LogServices": collection("/s/DGX/LogServices", [link(service), link("/s/DGX/LogServices/Dump")]),
        service: {**link(service), "Id": "SEL", "Entries": link(ENTRIES)},
        ENTRIES: entries,
        **more,
    }


def read(
    served: dict[str, Any], *, expands: bool = False, skips: bool = False, system: dict[str, Any] = SYSTEM
) -> tuple[EventLog, list[str]]:
    """Read the log of what is served (a number is a status); also every path that was asked for."""
    asked: list[str] = []

    def ask(path: str) -> tuple[int, Any]:
        asked.append(path)
        body = served.get(path, 404)
        return (body, {}) if isinstance(body, int) else (200, body)

    fetch: Callable[[str], Any] = served.get
    return LogReader(Tree(fetch, expand=expands), ask, RULES, expands, skips).read([system]), asked


def ids(log: EventLog) -> list[str]:
    """The ids of what was read."""
    return [one.id for one in log.entries]


def test_a_whole_log_is_three_requests_and_other_logs_are_left_alone() -> None:
    """Services, service, entries; the newest four are kept, oldest first."""
    log, asked = read(bmc(collection(ENTRIES, [entry(number) for number in range(1, 7)])))
    assert ids(log) == ["3", "4", "5", "6"]
    assert (log.logs, log.gaps) == ({"DGX/SEL": 4}, ())
    assert asked == ["/s/DGX/LogServices", "/s/DGX/LogServices/SEL", ENTRIES]


def test_a_log_that_begins_with_the_newest_is_turned_round() -> None:
    """By ids as numbers, 10 after 9, and by times where ids are words."""
    log, _ = read(bmc(collection(ENTRIES, [entry(number) for number in range(10, 4, -1)])))
    assert ids(log) == ["7", "8", "9", "10"]
    named = [{**entry(number), **link(f"{ENTRIES}/e{number}"), "Id": f"e{number}"} for number in (3, 2, 1)]
    assert ids(read(bmc(collection(ENTRIES, named)))[0]) == ["e1", "e2", "e3"]


def test_skip_goes_straight_to_the_newest_where_it_is_announced() -> None:
    """Nine entries, oldest first: the first four, then the last four."""
    first = collection(ENTRIES, [entry(number) for number in range(1, 5)]) | {"Members@odata.count": 9}
    last = collection(ENTRIES, [entry(number) for number in range(6, 10)]) | {"Members@odata.count": 9}
    served = bmc({}, **{f"{ENTRIES}?$top=4": first, f"{ENTRIES}?$skip=5&$top=4": last})
    log, asked = read(served, skips=True)
    assert (ids(log), log.gaps) == (["6", "7", "8", "9"], ())
    assert asked[2:] == [f"{ENTRIES}?$top=4", f"{ENTRIES}?$skip=5&$top=4"]


def test_pages_are_followed_to_the_end_within_a_bound() -> None:
    """Three pages of two are read; of a log of eight the gap is stated, of one of six nothing is missing."""

    def page(number: int, total: int) -> dict[str, Any]:
        rows = [entry(2 * number - 1), entry(2 * number)]
        following = f"{ENTRIES}?$skiptoken={2 * number}"
        return collection(ENTRIES, rows, **{"Members@odata.nextLink": following}) | {"Members@odata.count": total}

    for total, gaps in ((6, 0), (8, 1)):
        pages = {f"{ENTRIES}?$skiptoken={2 * number}": page(number + 1, total) for number in (1, 2, 3)}
        log, _ = read(bmc(page(1, total), **pages))
        assert ids(log) == ["3", "4", "5", "6"]
        assert len(log.gaps) == gaps
    newest_first = collection(ENTRIES, [entry(8), entry(7), entry(6), entry(5)]) | {"Members@odata.count": 8}
    log, asked = read(bmc(newest_first))
    assert (ids(log), log.gaps, len(asked)) == (["5", "6", "7", "8"], (), 3)


def test_a_page_that_leads_to_itself_ends() -> None:
    """A BMC that ignores the token in nextLink gives the same page for ever."""
    same = collection(ENTRIES, [entry(1)], **{"Members@odata.nextLink": ENTRIES}) | {"Members@odata.count": 3}
    log, asked = read(bmc(same))
    assert (ids(log), len(asked)) == (["1"], 4)
    assert "DGX/SEL says that it has 3 entries and gave the first 1" in log.gaps[0]


def test_entries_as_links_are_read_singly_the_last_ones_only() -> None:
    """Two requests of three, and the gap is stated; one request for all where the BMC expands."""
    rows = [entry(number) for number in (1, 2, 3)]
    links = collection(ENTRIES, [link(row["@odata.id"]) for row in rows])
    log, asked = read(bmc(links, **{row["@odata.id"]: row for row in rows}))
    assert (ids(log), len(asked)) == (["2", "3"], 5)
    assert "lists 3 entries as links and the last 2 were read" in log.gaps[0]
    log, _ = read(bmc(links, **{f"{ENTRIES}?$expand=.($levels=1)": collection(ENTRIES, rows)}), expands=True)
    assert (ids(log), log.gaps) == (["1", "2", "3"], ())


@pytest.mark.parametrize("status", [403, 404, 405, 500, 501])
def test_a_log_that_is_not_served_is_a_gap_and_no_error(status: int) -> None:
    """At each of the three places, with what the BMC answered."""
    whole = bmc(collection(ENTRIES, [entry(1)]))
    for path in ("/s/DGX/LogServices", "/s/DGX/LogServices/SEL", ENTRIES):
        log, _ = read({**whole, path: status})
        assert log.entries == ()
        assert any(str(status) in gap for gap in log.gaps), log.gaps


def test_a_bmc_without_a_log_says_so() -> None:
    """No link, no known name, or switched off: never a silent pass."""
    assert read({}, system={"Id": "DGX"})[0].gaps == (
        "DGX announces none of the logs sel, eventlog, log, log1, logs, iml",
    )
    off = bmc(collection(ENTRIES, []))
    off["/s/DGX/LogServices/SEL"]["ServiceEnabled"] = False
    assert "DGX/SEL is switched off" in read(off)[0].gaps


def test_an_entry_without_message_id_or_with_a_wrong_clock_is_still_an_entry() -> None:
    """What is missing is empty; 1970 and a time without zone are no time; a null member is passed over."""
    odd = {**link(f"{ENTRIES}/x"), "Created": "1970-01-01T00:00:12Z", "Severity": None, "Message": "  Fan 3 lost "}
    zoneless = {**entry(2), "Created": "2026-11-30T02:00:00", "SensorType": "Fan", "SensorNumber": 0}
    log, _ = read(bmc(collection(ENTRIES, [odd, zoneless, None, {}])))
    first, second = log.entries
    assert (first.id, first.at, first.severity, first.message) == ("x", None, "", "Fan 3 lost")
    assert (second.at, second.sensor, second.message_id) == (None, "Fan 0", "")


@pytest.mark.skipif(not TREES.is_dir(), reason="captures are not on this machine (NODEWORTHY_SAMPLES)")
def test_the_logs_of_a_captured_server_are_read_with_what_the_capture_lacks() -> None:
    """DMTF's rack server: two entries of the system's log, whose next page was not captured, and one of its BMC's."""
    served = json.loads((TREES / "dmtf_rackmount1_tree.json").read_text())
    log, _ = read(served, system=served["/redfish/v1/Systems/437XR1138R2"])
    assert log.logs == {"437XR1138R2/Log1": 2, "BMC/Log": 1}
    assert [(one.sensor, one.code) for one in log.entries][:2] == [
        ("Temperature 1", "Upper Critical - going high"),
        ("Temperature 2", "Upper Critical - going high"),
    ]
    assert log.entries[2].message == "System May be Melting"
