"""fio's JSON, behind whatever text fio printed before it.

A verify failure or a job error is a fault of the drive; buffered I/O measures the page cache and
not the drive; a job that ended before its time or its size was interrupted, though fio calls that
error 0. Figures are believed when bytes, time, bandwidth and rate agree. ``bw`` is KiB/s.
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.numbers import close, finite

from . import fio_text
from .documents import load_json
from .sheet import Sheet

TOOL = "fio"
_DIRECTIONS = ("read", "write", "trim", "mixed")
# EPERM, ENOENT, EACCES, EBUSY, ENOTDIR, EISDIR, EINVAL, ENOTTY, ENOSYS, EOPNOTSUPP: the call was wrong, not the drive.
_OF_THE_CALL = (1, 2, 13, 16, 20, 21, 22, 25, 38, 95)
_NEEDED = ("io_bytes", "bw_bytes", "bw", "iops", "runtime", "total_ios")
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "ms": 1e-3, "us": 1e-6}
_PERCENTILES = 17
_BUCKETS = {"iodepth_level": (7,), "iodepth_submit": (7,), "iodepth_complete": (7,), "latency_ns": (9, 10),
            "latency_us": (10,), "latency_ms": (11, 12)}  # fmt: skip
_SPREAD = ("min", "max", "mean", "stddev")


def read(text: str, sheet: Sheet) -> None:
    """Read text and document."""
    _said(text, sheet)
    if fio_text.is_text(text) and '"fio version"' not in text:
        fio_text.read(text, sheet, {True: "tool/failed", False: "hardware/io-error"}, _OF_THE_CALL)
        return
    document = mapping(load_json(text, sheet))
    if not document:
        return
    sheet.version = str(document.get("fio version", "")).removeprefix("fio-") or None
    if sheet.version is None:
        sheet.note("row/missing", "file", "the version of fio is missing")
    options = mapping(document.get("global options"))
    jobs = [mapping(job) for job in sequence(document.get("jobs"))]
    if not jobs:
        sheet.note("document/cut", "file", "the document lists no job")
    if any(jobs.count(job) > 1 for job in jobs):
        sheet.note("document/duplicate", "file", "a job is there twice")
    for job in jobs:
        _job(job, {**options, **mapping(job.get("job options"))}, sheet)


def _said(text: str, sheet: Sheet) -> None:
    for line in text.splitlines():
        if re.search(r"verify(?: header)? failed|: bad (?:magic|header)|Received CRC", line):
            sheet.note("correctness/wrong", "drive", line)
        elif re.search(r"terminating on signal", line):
            sheet.note("document/interrupted", "file", line)
        elif re.match(r"fio: .*(?:err=|error=|engine .* not loadable|failed|unable to)", line):
            said = "note/tool-says" if "{" in text else "tool/failed"
            sheet.note(said, "file", line)


def _job(job: dict[str, Any], options: dict[str, Any], sheet: Sheet) -> None:
    name = str(job.get("jobname", "")) or "job"
    error = sheet.number(name, "error", job.get("error"), "count")
    if error:
        code = "tool/failed" if error in _OF_THE_CALL else "hardware/io-error"
        sheet.note(code, name, f"job {name} ended with error {int(error)}")
    if str(options.get("direct", "0")) not in ("1", "true") and "verify" not in options:
        sheet.note("invalid/buffered", name, f"job {name} ran with direct=0: the page cache was measured")
    moved, longest = 0.0, 0.0
    for direction in _DIRECTIONS:
        figures = mapping(job.get(direction))
        if not figures and direction in ("read", "write") and "mixed" not in job:
            sheet.note("row/missing", name, f"{direction} is missing")
        io_bytes, runtime = _direction(name, direction, figures, options, sheet)
        moved, longest = moved + io_bytes, max(longest, runtime)
    if not moved:
        sheet.note("document/cut", name, f"job {name} moved no byte")
    _buckets(name, job, sheet)
    _ended(name, job, options, (moved, longest), sheet)


def _buckets(name: str, job: dict[str, Any], sheet: Sheet) -> None:
    for label, lengths in _BUCKETS.items():
        if label in job and len(mapping(job[label])) not in lengths:
            sheet.note("row/missing", name, f"{label} has {len(mapping(job[label]))} entries")


def _direction(
    name: str, direction: str, figures: dict[str, Any], options: dict[str, Any], sheet: Sheet
) -> tuple[float, float]:
    for key in _NEEDED if figures and direction != "trim" else ():
        if key not in figures:
            sheet.note("row/missing", name, f"{direction} {key} is missing")
    if figures.get("io_bytes") == 0 and not figures.get("total_ios") and not figures.get("runtime"):
        return 0.0, 0.0
    if not figures:
        return 0.0, 0.0
    values = {key: finite(figures.get(key)) for key in _NEEDED}
    for key, value in values.items():
        if value is None:
            sheet.note("value/not-a-number", name, f"{direction} {key} is no number")
    sheet.number(
        name, f"{direction}_bandwidth", values["bw"], "KiB/s", parameters={"bytes_per_second": values["bw_bytes"]}
    )
    sheet.number(name, f"{direction}_iops", values["iops"], "1/s")
    _latency(name, direction, figures, "percentile_list" in options, sheet)
    known = {key: value for key, value in values.items() if value is not None}
    if len(known) == len(_NEEDED) and not _agrees(known):
        sheet.note("document/contradiction", name, f"{direction}: bytes, time and rates disagree")
    return values["io_bytes"] or 0.0, (values["runtime"] or 0.0) / 1000


def _agrees(figures: dict[str, float]) -> bool:
    seconds = max(figures["runtime"], 1.0) / 1000
    slack = 0.002 + 1.5 / max(figures["runtime"], 1.0)
    return (
        close(figures["bw"], figures["bw_bytes"] / 1024, 1e-3, 1.0)
        and close(figures["bw_bytes"], figures["io_bytes"] / seconds, slack)
        and close(figures["iops"], figures["total_ios"] / seconds, slack)
    )


def _latency(name: str, direction: str, figures: dict[str, Any], chosen: bool, sheet: Sheet) -> None:
    for key in ("clat_ns", "lat_ns"):
        for word in _SPREAD:
            if key in figures and word not in mapping(figures[key]):
                sheet.note("row/missing", name, f"{direction} {key} lacks {word}")
    for key in ("clat_ns", "lat_ns"):
        percentiles = mapping(mapping(figures.get(key)).get("percentile"))
        if not percentiles:
            continue
        if "99.000000" in percentiles:
            sheet.number(name, f"{direction}_latency", percentiles["99.000000"], "ns", statistic="p99",
                         parameters={"counted": key})  # fmt: skip
        if len(percentiles) < _PERCENTILES and not chosen:
            sheet.note("row/missing", name, f"{direction} {key} has {len(percentiles)} of {_PERCENTILES} percentiles")
        return
    sheet.absent(name, f"{direction}_latency", "ns", statistic="p99")


def _ended(name: str, job: dict[str, Any], options: dict[str, Any], end: tuple[float, float], sheet: Sheet) -> None:
    moved, longest = end
    done = sum(finite(mapping(job.get(direction)).get("total_ios")) or 0.0 for direction in _DIRECTIONS)
    if done >= (whole(options.get("number_ios")) or done + 1):
        return
    wanted_seconds = _scaled(options.get("runtime"), _TIMES)
    wanted_bytes = _scaled(
        options.get("io_size", options.get("size")),
        {**_SIZES, **{f"{unit}b": size for unit, size in _SIZES.items() if unit}},
    )
    jobs = whole(options.get("numjobs")) or 1
    in_time = wanted_seconds is not None and longest >= 0.95 * wanted_seconds
    # A flag without a value is not among the options: who moved more than the size was told to go on for a time.
    passes = jobs * (whole(options.get("loops")) or 1) * (2 if "verify" in options else 1)
    by_time = "time_based" in options or (wanted_seconds and wanted_bytes and moved > 1.01 * wanted_bytes * passes)
    in_size = wanted_bytes is not None and not by_time and moved >= 0.99 * wanted_bytes * min(jobs, 1)
    if (wanted_seconds is not None or wanted_bytes is not None) and not (in_time or in_size):
        sheet.note("document/interrupted", name, f"job {name} ended after {longest:g} s and {moved:.0f} bytes, "
                                                 f"before its "
                   f"runtime {options.get('runtime', 'none')} and size {options.get('size', 'none')}")  # fmt: skip


def _scaled(text: object, units: dict[str, float] | dict[str, int]) -> float | None:
    found = (
        re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", str(text).strip().replace("iB", ""))
        if text is not None
        else None
    )
    if found is None or found[2].lower() not in units:
        return None
    return float(found[1]) * float(units[found[2].lower()])
