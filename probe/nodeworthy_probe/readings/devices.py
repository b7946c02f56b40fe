"""Figures per fabric adapter, drive and GPU, from one section per device (:mod:`nodeworthy_probe.each_device`).

The readers of `content` say what a section holds; a section that they do not believe is a missing row, with what they
say in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nodeworthy_probe.content import fio, mlxlink, perftest, smartctl, stream
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.each_device import sections
from nodeworthy_probe.parsers import gemm, hipblaslt
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_UNFIT = ("document/", "value/", "tool/", "invalid/")
_BROKEN = ("hardware/", "correctness/")


@dataclass(frozen=True)
class Figure:
    """One figure of a device: where it stands in the reader's sheet, and under which name and unit it is kept."""

    metric: str
    unit: str
    found: str
    statistic: str
    kept: str
    scale: float = 1.0
    when: str = ""
    """A word of which one of the arguments must hold for the figure to exist: fio reads or writes."""


@dataclass(frozen=True)
class Tool:
    """How one tool's sections are read. ``faults`` counts what the reader calls a fault of the device."""

    prefix: str
    read: Callable[[str, Sheet], None]
    figures: tuple[Figure, ...]
    faults: str = ""


_TOOLS: Mapping[str, Tool] = {
    "ib_write_bw": Tool("nic", perftest.read, (Figure("write_bandwidth", "Gb/s", "bandwidth", "max", "max"),)),
    "ib_write_lat": Tool("nic", perftest.read, (Figure("write_latency", "us", "latency", "typical", "typical"),)),
    "fio": Tool(
        "drive",
        fio.read,
        (
            Figure("read_bandwidth", "GB/s", "read_bandwidth", "single", "single", 1024 / 1e9, "--rw=read"),
            Figure("read_rate", "1/s", "read_iops", "single", "single", 1.0, "--rw=randread"),
            Figure("write_bandwidth", "GB/s", "write_bandwidth", "single", "single", 1024 / 1e9, "--rw=write"),
        ),
        "io_errors",
    ),
    "mlxlink": Tool(
        "nic",
        mlxlink.read,
        (
            Figure("effective_ber", "ratio", "effective_physical_ber", "single", "single"),
            Figure("raw_ber", "ratio", "raw_physical_ber", "single", "single"),
            Figure("link_down_events", "count", "link_down", "single", "single"),
        ),
        "link_faults",
    ),
    "cublaslt_gemm": Tool("gpu", gemm.read, (Figure("gemm_rate", "TFLOPS", "gemm_rate", "single", "single"),)),
    "hipblaslt-bench": Tool("gpu", hipblaslt.read, (Figure("gemm_rate", "TFLOPS", "gemm_rate", "single", "single"),)),
    "hip-stream": Tool(
        "gpu",
        stream.read,
        (
            Figure("memory_copy", "GB/s", "stream_copy", "max", "max", 1e-3),
            Figure("memory_triad", "GB/s", "stream_triad", "max", "max", 1e-3),
        ),
    ),
    "smartctl": Tool(
        "drive",
        smartctl.read,
        (
            Figure("spare", "%", "available_spare", "single", "single"),
            Figure("endurance_used", "%", "percentage_used", "single", "single"),
            Figure("media_errors", "count", "media_errors", "single", "single"),
        ),
        "health_faults",
    ),
}


def is_per_device(tool: str) -> bool:
    """Whether a tool is run once per device, its first argument being the list of devices."""
    return tool in _TOOLS


def read(text: str, context: Context) -> Reading:
    """A row per figure and device that the plan names; a device without a believable section has missing rows."""
    tool = _TOOLS[context.test.tool]
    found = {device: (output, code) for device, output, code in sections(text)}
    rows: list[Measurement] = []
    lines: list[str] = []
    version = None
    for device in _devices(context):
        component = f"{tool.prefix}/{device}"
        output, code = found.get(device, ("", None))
        sheet = Sheet(context.test.tool, context.test.tool)
        if code is not None:
            tool.read(output, sheet)
        unfit = [note.line for note in sheet.notes if note.code.startswith(_UNFIT)]
        unfit += ["no whole output"] if code is None else []
        rows += _rows(tool, component, sheet, context.test.arguments, believed=not unfit)
        lines += [f"{component}: {line}"[:300] for line in unfit]
        lines += [f"{component}: {note.line}"[:300] for note in sheet.notes if note.code.startswith(_BROKEN)]
        version = version or sheet.version
    problem = None if found else "the output holds no section of a device"
    return Reading(tuple(rows), tool_version=version, problem=problem, lines=tuple(lines or _spread(rows)))


def _devices(context: Context) -> list[str]:
    return [name for name in context.test.arguments[0].split(",") if name] if context.test.arguments else []


def _rows(tool: Tool, component: str, sheet: Sheet, arguments: Sequence[str], *, believed: bool) -> list[Measurement]:
    asked = [figure for figure in tool.figures if not figure.when or figure.when in arguments]
    rows = [_row(figure, component, sheet, believed=believed) for figure in asked]
    if tool.faults and believed:
        count = sum(note.code.startswith(_BROKEN) for note in sheet.notes)
        rows.append(Measurement(component, tool.faults, float(count), "count"))
    elif tool.faults:
        rows.append(missing(component, tool.faults, "count"))
    return rows


def _row(figure: Figure, component: str, sheet: Sheet, *, believed: bool) -> Measurement:
    values = [
        row.value
        for row in sheet.rows
        if (row.metric, row.statistic) == (figure.found, figure.statistic)
        and row.value is not None
        and not row.component.startswith("lane/")
    ]
    if not believed or len(values) != 1:
        return missing(component, figure.metric, figure.unit, statistic=figure.kept)
    return Measurement(component, figure.metric, values[0] * figure.scale, figure.unit, figure.kept)


def _spread(rows: list[Measurement]) -> list[str]:
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        known = [(row.value, row.component, row.unit) for row in rows if row.metric == metric and row.value is not None]
        if known:
            low, high = min(known), max(known)
            lines.append(f"{metric}: {low[0]:.4g} {low[2]} ({low[1]}) to {high[0]:.4g} over {len(known)} devices")
    return lines
