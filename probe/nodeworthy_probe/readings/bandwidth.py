"""Host, peer and local bandwidth per GPU in GB/s (10^9 bytes), and latency in ns, from nvbandwidth."""

from __future__ import annotations

from nodeworthy_probe.parsers import nvbandwidth
from nodeworthy_probe.parsers.nvbandwidth import BandwidthReport, Testcase
from nodeworthy_probe.records import Measurement, Reading, Status, missing

from .context import Context

_HOST_METRICS = {
    "host_to_device_memcpy_ce": "host_to_device_bandwidth",
    "device_to_host_memcpy_ce": "device_to_host_bandwidth",
    "host_to_device_bidirectional_memcpy_ce": "host_to_device_bidirectional_bandwidth",
    "device_to_host_bidirectional_memcpy_ce": "device_to_host_bidirectional_bandwidth",
    "host_device_latency_sm": "host_device_latency",
    "device_local_copy": "local_copy_bandwidth",
}
_PEER_METRICS = {
    "device_to_device_memcpy_read_ce": "peer_bandwidth",
    "device_to_device_memcpy_write_ce": "peer_write_bandwidth",
}
_UNITS = {"host_device_latency_sm": "ns"}


def read(text: str, context: Context) -> Reading:
    """A row per expected GPU (or pair) and requested test, measured or missing."""
    report = nvbandwidth.parse(text)
    rows: list[Measurement] = []
    problems = [report.problem] if report.problem else []
    for name in [*_HOST_METRICS, *_PEER_METRICS]:
        if name not in context.test.arguments:
            continue
        case, status, problem = _usable(report, name, context)
        problems += [problem] if problem else []
        if name in _HOST_METRICS:
            rows += _host_rows(_HOST_METRICS[name], name, case, status, context)
        else:
            rows += _peer_rows(_PEER_METRICS[name], name, case, status, context)
    return Reading(
        measurements=tuple(rows),
        versions={"driver": report.driver_version} if report.driver_version else {},
        tool_version=report.version,
        problem="; ".join(dict.fromkeys(problems)) or None,
        lines=_lines(rows),
    )


def _usable(report: BandwidthReport, name: str, context: Context) -> tuple[Testcase | None, Status, str | None]:
    case = report.testcase(name)
    if report.problem or case is None:
        return None, Status.MISSING, f"{name}: no result" if not report.problem else None
    if case.status == "Waived":
        return None, Status.WAIVED, None
    unit = _UNITS.get(name, "GB/s")
    if not case.verified or case.unit != unit:
        return None, Status.MISSING, f"{name}: {case.problem or f'the unit is not {unit}'}"
    if name in _HOST_METRICS and len(case.matrix) != 1:
        return None, Status.MISSING, f"{name}: {len(case.matrix)} rows where one was expected"
    return case, Status.OK, None


def _host_rows(metric: str, name: str, case: Testcase | None, status: Status, context: Context) -> list[Measurement]:
    cells = case.matrix[0] if case else ()
    return [_cell_row(f"gpu/{index}", metric, cells[index] if index < len(cells) else None, name, status)
            for index in context.gpus(len(cells))]  # fmt: skip


def _peer_rows(metric: str, name: str, case: Testcase | None, status: Status, context: Context) -> list[Measurement]:
    matrix = case.matrix if case else ()
    indexes = context.gpus(len(matrix))
    rows: list[Measurement] = []
    for first in indexes:
        peers = [second for second in indexes if second != first]
        values = [_cell(matrix, first, second) for second in peers]
        rows += [_cell_row(f"gpu/{first}-gpu/{second}", metric, value, name, status)
                 for second, value in zip(peers, values, strict=True)]  # fmt: skip
        measured = [value for value in values if value is not None]
        lowest = min(measured) if measured and len(measured) == len(peers) else None
        rows.append(_cell_row(f"gpu/{first}", f"{metric}_min", lowest, name, status, "min"))
    return rows


def _cell(matrix: nvbandwidth.Matrix, row: int, column: int) -> float | None:
    return matrix[row][column] if row < len(matrix) and column < len(matrix[row]) else None


def _cell_row(
    component: str, metric: str, value: float | None, name: str, status: Status, statistic: str = "single"
) -> Measurement:
    parameters, unit = {"testcase": name}, _UNITS.get(name, "GB/s")
    if value is None:
        absent = status if status is not Status.OK else Status.MISSING
        return missing(component, metric, unit, statistic=statistic, status=absent, parameters=parameters)
    return Measurement(component, metric, value, unit, statistic, parameters=parameters)


def _lines(rows: list[Measurement]) -> tuple[str, ...]:
    lines: list[str] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        values = [(row.value, row.component) for row in rows if row.metric == metric and row.value is not None]
        unit = next(row.unit for row in rows if row.metric == metric)
        if values:
            (low, lowest), (high, _) = min(values), max(values)
            lines.append(f"{metric}: {low:.2f} {unit} ({lowest}) to {high:.2f} {unit} over {len(values)} figures")
        else:
            lines.append(f"{metric}: nothing measured")
    return tuple(lines)
