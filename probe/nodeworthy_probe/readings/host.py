"""The clock, the stressed CPUs and memory, and the burnt GPUs, from the readers of `content`."""

from __future__ import annotations

from statistics import median

from nodeworthy_probe.content import gpu_burn, stress_ng, time_sync
from nodeworthy_probe.content.sheet import Note, Sheet
from nodeworthy_probe.records import Finding, Measurement, Reading, missing

from .context import Context

_LONG_SECONDS = 300
_FIRST_PERCENT, _LAST_PERCENT = 20.0, 80.0
_UNFIT = ("document/", "value/", "tool/", "row/", "invalid/")


def read_clock(text: str, _context: Context) -> Reading:
    """How far the clock is from its source (its amount, in s), and whether it follows one."""
    sheet = _sheet("chronyc")
    time_sync.read(text, sheet)
    problem = _problem(sheet)
    offset = next((row.value for row in sheet.rows if row.metric == "offset"), None)
    if problem or offset is None:
        nothing = (missing("node", "clock_offset", "s"), missing("node", "clock_synchronised", "bool"))
        return Reading(nothing, problem=problem or "no offset is stated")
    follows = not any(note.code == "hardware/not-synchronised" for note in sheet.notes)
    rows = (
        Measurement("node", "clock_offset", abs(offset), "s"),
        Measurement("node", "clock_synchronised", float(follows), "bool"),
    )
    return Reading(rows, lines=(f"the clock is {offset:+.9f} s off and {'follows' if follows else 'has no'} source",))


def read_stress(text: str, _context: Context) -> Reading:
    """How many stressors ran, failed and were skipped; bogo operations are judged by nobody."""
    sheet = _sheet("stress-ng")
    stress_ng.read(text, sheet)
    problem = _problem(sheet)
    names = ("stressors_run", "stress_failures", "stressors_skipped")
    if problem:
        return Reading(tuple(missing("node", name, "count") for name in names), problem=problem)
    ran = next((row.value for row in sheet.rows if row.metric == "stressors_run"), 0.0)
    failed = sum(note.code == "hardware/stress-failed" for note in sheet.notes)
    skipped = sum(note.code in ("test/skipped", "test/all-skipped") for note in sheet.notes)
    rows = tuple(
        Measurement("node", name, float(value or 0), "count")
        for name, value in zip(names, (ran, failed, skipped), strict=True)
    )
    return Reading(rows, tool_version=sheet.version, lines=(f"{ran:g} stressors ran, {failed} failed",))


def read_burn(text: str, context: Context) -> Reading:
    """Per GPU: errors over all intervals, the summary's word, the last compute rate, and in a long burn how much of
    the rate of its first fifth is left in the last.
    """
    sheet = _sheet("gpu_burn")
    gpu_burn.read(text, sheet)
    problem = _problem(sheet)
    rows: list[Measurement] = []
    for index in context.gpus(0):
        component = f"gpu/{index}"
        for metric, found, statistic, unit in (
            ("burn_errors", "errors", "sum", "count"),
            ("burn_ok", "burn_ok", "single", "bool"),
            ("compute_rate", "compute_rate", "single", "Gflop/s"),
        ):
            value = _value(sheet, component, found, statistic)
            bad = problem is not None or value is None
            rows.append(missing(component, metric, unit) if bad else Measurement(component, metric, value, unit))
        if _seconds(context) >= _LONG_SECONDS:
            kept = None if problem else _kept(gpu_burn.rates(text), index)
            row = missing(component, "rate_kept", "%", statistic="median")
            rows.append(row if kept is None else Measurement(component, "rate_kept", kept, "%", "median"))
    findings = tuple(_finding(note) for note in sheet.notes if note.code.startswith(("hardware/", "correctness/")))
    return Reading(tuple(rows), findings=findings, problem=problem)


def _seconds(context: Context) -> int:
    """How long the burn was to last: its last argument."""
    word = context.test.arguments[-1] if context.test.arguments else ""
    return int(word) if word.isdigit() else 0


def _kept(rates: list[tuple[float, list[int]]], gpu: int) -> float | None:
    """Per cent: the median rate after 80 % of the burn against that before 20 %; what began later says 0 at first."""
    seen = [(percent, row[gpu]) for percent, row in rates if gpu < len(row) and row[gpu] > 0]
    first = [rate for percent, rate in seen if percent <= _FIRST_PERCENT]
    last = [rate for percent, rate in seen if percent >= _LAST_PERCENT]
    return round(100 * median(last) / median(first), 2) if first and last else None


def _sheet(tool: str) -> Sheet:
    return Sheet(tool, tool)


def _problem(sheet: Sheet) -> str | None:
    return "; ".join(dict.fromkeys(note.line for note in sheet.notes if note.code.startswith(_UNFIT)))[:400] or None


def _value(sheet: Sheet, component: str, metric: str, statistic: str) -> float | None:
    found = [
        row.value for row in sheet.rows if (row.component, row.metric, row.statistic) == (component, metric, statistic)
    ]
    return found[0] if len(found) == 1 else None


def _finding(note: Note) -> Finding:
    return Finding(f"burn/{note.code.rpartition('/')[2]}", note.component, "gpu_burn", "test", note.line[:1000])
