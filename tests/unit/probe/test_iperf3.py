"""iperf3's JSON report: what is believed of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from nodeworthy_probe.parsers import iperf3

STREAM = {"sender": {}, "receiver": {}}
REPORT: dict[str, Any] = {
    "start": {
        "version": "iperf 3.16",
        "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 5},
    },
    "intervals": [],
    "end": {
        "streams": [STREAM, STREAM],
        "sum_sent": {"seconds": 5.0, "bytes": 58751000000, "bits_per_second": 94001600000.0, "retransmits": 12},
        "sum_received": {"seconds": 5.0, "bytes": 58750000000, "bits_per_second": 94000000000.0},
    },
}


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The report after a change."""
    document = copy.deepcopy(REPORT)
    change(document)
    return json.dumps(document)


def test_what_arrived_counts() -> None:
    """58.75 GB in 5 s are 94 Gb/s; twelve segments went twice."""
    assert iperf3.parse(json.dumps(REPORT)) == iperf3.Transfer(94.0, 12.0, "3.16")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: one["end"]["sum_received"].update(seconds=2.0), "ended after 2 s"),
        (lambda one: one["end"]["sum_received"].update(bytes=1), "contradict"),
        (lambda one: one["end"]["sum_received"].update(bits_per_second=None), "no sum"),
        (lambda one: one["end"].pop("sum_received"), "no sum"),
        (lambda one: one["end"]["streams"].pop(), "1 streams are reported where 2 were"),
        (lambda one: one["start"]["test_start"].update(protocol="UDP"), "no report of a TCP test"),
        (lambda one: one.update(error="unable to connect to server: Connection refused"), "unable to connect"),
        (lambda one: one["start"].pop("test_start"), "no report of a TCP test"),
    ],
)
def test_a_report_that_does_not_hold_together_has_no_figure(
    change: Callable[[dict[str, Any]], object], says: str
) -> None:
    """Cut short, contradictory, of another test, or an error."""
    found = iperf3.parse(changed(change))
    assert found.received_gbps is None
    assert says in (found.problem or "")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_report_that_was_cut_has_no_figure(share: float) -> None:
    """Wherever it stops."""
    text = json.dumps(REPORT)
    assert iperf3.parse(text[: int(len(text) * share)]).received_gbps is None


@pytest.mark.parametrize("text", ["", "iperf3: error - unable to connect", "{}", "[1]", json.dumps(REPORT) * 2])
def test_what_is_no_report_has_no_figure(text: str) -> None:
    """Text, other JSON, and two reports in one."""
    found = iperf3.parse(text)
    assert found.received_gbps is None
    assert found.problem
