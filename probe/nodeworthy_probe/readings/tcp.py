"""What the hosts of a pair moved over TCP each way, from one section per run (:mod:`nodeworthy_probe.wire`)."""

from __future__ import annotations

from nodeworthy_probe.each_device import sections
from nodeworthy_probe.parsers import iperf3
from nodeworthy_probe.records import Measurement, Reading, missing
from nodeworthy_probe.wire import IN, OUT

from .context import Context

_METRICS = {OUT: "tcp_sent", IN: "tcp_received"}
_NOT_FOUND = 127


def read(text: str, context: Context) -> Reading:
    """Gb/s that arrived in each direction, and how many segments were sent again."""
    found = {name.rpartition(" ")[2]: (output, code) for name, output, code in sections(text)}
    rows: list[Measurement] = []
    lines: list[str] = []
    version = None
    for way, metric in _METRICS.items():
        output, code = found.get(way, ("", None))
        transfer = iperf3.parse(output) if code == 0 else iperf3.Transfer(problem=_words(output, code))
        version = version or transfer.version
        rows.append(_row(metric, transfer.received_gbps, "Gb/s", "mean"))
        rows.append(_row(f"{metric}_again", transfer.retransmits, "count", "single"))
        said = transfer.problem or f"{transfer.received_gbps:.4g} Gb/s, {transfer.retransmits or 0:g} segments again"
        lines.append(f"{_said_way(way, context)}: {said}"[:300])
    absent = bool(found) and all(code == _NOT_FOUND for _, code in found.values())
    lacking = "iperf3 is not on the PATH of a node of the pair" if absent else None
    problem = None if found else "the output holds no section of a direction"
    return Reading(tuple(rows), tool_version=version, problem=problem, lacking=lacking, lines=tuple(lines))


def _said_way(way: str, context: Context) -> str:
    group = context.plan.group
    leader, partner = group.nodes[:2] if group is not None else ("this node", "its partner")
    return f"{leader} to {partner}" if way == OUT else f"{partner} to {leader}"


def _words(output: str, code: int | None) -> str:
    if code is None:
        return "no whole output"
    words = iperf3.parse(output).problem if "{" in output else None
    lines = [line.strip("| ") for line in output.splitlines() if line.startswith("|")]
    return "; ".join([*([words] if words else []), *lines[:4]]) or f"ended with {code}"


def _row(metric: str, value: float | None, unit: str, statistic: str) -> Measurement:
    if value is None:
        return missing("node", metric, unit, statistic=statistic)
    return Measurement("node", metric, value, unit, statistic)
