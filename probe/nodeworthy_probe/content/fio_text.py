"""fio's output for people. It does not say whether the page cache was bypassed, nor when the job should have ended:
its figures are kept, its errors count, and it proves nothing more.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.numbers import finite

from .documents import plain_lines
from .sheet import Sheet

_JOB = re.compile(r"^(\S.*?): \(groupid=\d+, jobs=\d+\): err= ?(\d+).*: pid=")
_FIGURES = re.compile(r"^\s+(read|write|trim|mixed)\s*: IOPS=(\S+?), BW=(\S+?)([KMG]?i?B)/s ")
_PERCENTILES = re.compile(r"^\s+(?:c?lat) percentiles \((nsec|usec|msec|sec)\):")
_P99 = re.compile(r"\b99\.00th=\[\s*(\d+)\]")
_SCALE = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_KIBIBYTES = {"B": 2**-10, "KiB": 1.0, "MiB": 2.0**10, "GiB": 2.0**20}
_NANOSECONDS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}


def is_text(text: str) -> bool:
    """Whether jobs are reported in words."""
    return any(_JOB.match(line) for line in plain_lines(text))


def read(text: str, sheet: Sheet, code_of: dict[bool, str], of_the_call: tuple[int, ...]) -> None:
    """Read every job; ``code_of`` names the note for an error of the call and of the drive."""
    version = re.search(r"^fio-(\S+)$", text, re.MULTILINE)
    sheet.version = version[1] if version else None
    job, direction, unit = "", "", ""
    for line in plain_lines(text):
        if found := _JOB.match(line):
            job = found[1]
            error = sheet.number(job, "error", found[2], "count")
            if error:
                sheet.note(code_of[error in of_the_call], job, f"job {job} ended with error {error:g}")
        elif job and (found := _FIGURES.match(line)):
            direction = found[1]
            _figures(job, found, sheet)
        elif found := _PERCENTILES.match(line):
            unit = found[1]
        elif direction and unit and (found := _P99.search(line)):
            sheet.number(job, f"{direction}_latency", float(found[1]) * _NANOSECONDS[unit], "ns", statistic="p99")
            unit = ""
    if "Run status group" not in text:
        sheet.note("document/cut", "file", "the summary of the run is missing")
    sheet.note("context/direct-unknown", "file", "the text does not tell whether direct=1: use --output-format=json")


def _figures(job: str, found: re.Match[str], sheet: Sheet) -> None:
    number = finite(found[2].rstrip("kMG"))
    rate, scale = finite(found[3]), _KIBIBYTES.get(found[4])
    if number is None or rate is None or scale is None:
        sheet.note("value/not-a-number", job, found[0])
        return
    sheet.number(job, f"{found[1]}_iops", number * _SCALE[found[2][-1] if found[2][-1] in "kMG" else ""], "1/s")
    sheet.number(job, f"{found[1]}_bandwidth", rate * scale, "KiB/s")
