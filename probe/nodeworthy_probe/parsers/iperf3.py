"""iperf3's report with ``--json``: what one client moved over TCP, as its server counted it.

A report whose figures contradict each other, that ended early, or that has fewer streams than it was asked for is not
believed. Source: esnet/iperf, iperf3 manual (-J) and src/iperf_api.c, which writes the document.
"""

from __future__ import annotations

from dataclasses import dataclass

from .json_document import find_document, mapping, sequence
from .numbers import close, finite

_SHORTEST = 0.9
"""The share of the asked time below which a run was cut short."""


@dataclass(frozen=True)
class Transfer:
    """One run: Gb/s that arrived, segments sent again, the tool's version; or why there is none."""

    received_gbps: float | None = None
    retransmits: float | None = None
    version: str | None = None
    problem: str | None = None


def parse(text: str) -> Transfer:
    """What the report says. Never raises."""
    document = find_document(text, "start", "error")
    if isinstance(document, str):
        return Transfer(problem=document)
    version = mapping(document.get("start")).get("version")
    known = version.removeprefix("iperf ") if isinstance(version, str) else None
    if isinstance(document.get("error"), str):
        return Transfer(version=known, problem=str(document["error"])[:200])
    asked, end = mapping(mapping(document.get("start")).get("test_start")), mapping(document.get("end"))
    problem = _doubt(asked, end)
    if problem:
        return Transfer(version=known, problem=problem)
    rate = finite(mapping(end.get("sum_received")).get("bits_per_second")) or 0.0
    return Transfer(rate / 1e9, finite(mapping(end.get("sum_sent")).get("retransmits")), known)


def _doubt(asked: dict[str, object], end: dict[str, object]) -> str | None:
    received = mapping(end.get("sum_received"))
    rate, moved, seconds = (finite(received.get(name)) for name in ("bits_per_second", "bytes", "seconds"))
    if asked.get("protocol") != "TCP":
        return "it is no report of a TCP test"
    if rate is None or moved is None or not seconds:
        return "the report has no sum of what was received"
    duration, streams = finite(asked.get("duration")), finite(asked.get("num_streams"))
    if duration is None or seconds < duration * _SHORTEST:
        return f"the run ended after {seconds:g} s"
    if streams is None or len(sequence(end.get("streams"))) != streams:
        return f"{len(sequence(end.get('streams')))} streams are reported where {streams or 0:g} were asked for"
    if not close(rate, moved * 8 / seconds, 0.01):
        return "rate, bytes and seconds contradict each other"
    return None
