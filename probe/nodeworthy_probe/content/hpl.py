"""HPLinpack: the rate, and whether the residual check passed.

Rate, size and time of a row must agree by HPL's own operation count (2/3 N^3 + 3/2 N^2); the
closing count of tests must be the number of rows.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.numbers import close

from . import hpl_mxp
from .sheet import Sheet

TOOL = "hpl"
_TABLE = re.compile(
    r"^(?P<label>(?:\d{1,6}: ?|\[[\d,]{1,12}\]<std\w+>: ?)?[ \t]*)T/V\s+N\s+NB\s+P\s+Q\s+Time\s+Gflops", re.MULTILINE
)
_ERROR = re.compile(
    r"^.*(?:HPL ERROR|CUD(?:A|ART) [Ee]rror|BAD TERMINATION OF ONE|a non-zero exit code).*$", re.MULTILINE
)
_ROW = re.compile(
    r"^(?:HPL_AI\s+)?(W[RC]\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(?:\s+\(.*)?$", re.MULTILINE
)
_RESIDUAL = re.compile(r"^\|\|Ax-b\|\|\S*=\s*(\S+) \.+ (PASSED|FAILED)\s*$", re.MULTILINE)
_PARAMETERS = ("N", "NB", "P", "Q", "PMAP", "PFACT", "NBMIN", "NDIV", "RFACT", "BCAST", "DEPTH", "SWAP", "ALIGN")
_LIMIT = re.compile(r"scaled residuals are less than\s+([\d.]+)")
_COUNTS = (
    ("tests_passed", re.compile(r"(\d+) tests completed and passed residual checks")),
    ("tests_failed", re.compile(r"(\d+) tests completed and failed residual checks")),
    ("tests_skipped", re.compile(r"(\d+) tests skipped because of illegal input")),
)


def read(text: str, sheet: Sheet) -> None:
    """Read rows, residuals and the closing counts."""
    for line in dict.fromkeys(_ERROR.findall(text) if "Interrupt (signal 2)" not in text else ()):
        sheet.note("tool/failed", "node", line.strip())
    table = _TABLE.search(text)
    if table and table["label"]:
        text = "".join(line.removeprefix(table["label"]) for line in text.splitlines(keepends=True))
    if hpl_mxp.is_mxp(text):
        hpl_mxp.read(text, sheet)
        return
    version = re.search(r"HPLinpack ([\d.]+)|HPL-NVIDIA ([\d.]+)", text)
    sheet.version = next(filter(None, version.groups()), None) if version else None
    rows = _ROW.findall(text)
    for row in rows:
        _row(row, sheet)
    if table is None:
        sheet.note("row/missing", "file", "the header of the results is missing: the unit is unknown")
    _around(text, sheet)
    residuals = _RESIDUAL.findall(text)
    limit = _LIMIT.search(text)
    for value, word in residuals:
        residual = sheet.number("node", "residual", value, "ratio")
        if word == "FAILED" or (residual is not None and limit and residual >= float(limit[1])):
            sheet.note("correctness/wrong", "node", f"the residual {value} {word}")
    _closing(text, len(rows), len(residuals), sheet)


def _around(text: str, sheet: Sheet) -> None:
    """The parameters before the results and the progress among them."""
    told = "The following parameter values will be used" in text or re.search(r"^NB\s+:\s+\d", text, re.MULTILINE)
    for name in _PARAMETERS if told else ():
        if not re.search(rf"^{name}\s+:\s+\S", text, re.MULTILINE):
            sheet.note("row/missing", "file", f"the parameter {name} is missing")
    for line in re.findall(r"^Column=.*$", text, re.MULTILINE):
        if not re.fullmatch(r"Column=\d+ Fraction=\s*[\d.]+% G[Ff]lops=\S+.*", line):
            sheet.note("row/unreadable", "file", line)


def _row(row: tuple[str, ...], sheet: Sheet) -> None:
    variant, size = row[0], int(row[1][:9])
    details = {"variant": variant, "n": size, "nb": int(row[2][:9]), "p": int(row[3][:9]), "q": int(row[4][:9])}
    time = sheet.number("node", "time", row[5], "s", parameters=details)
    rate = sheet.number("node", "compute_rate", row[6], "Gflop/s", parameters=details)
    if time and rate is not None and not close(rate, (2 / 3 * size**3 + 1.5 * size**2) / time / 1e9, 0.01, 0.01):
        sheet.note("document/contradiction", "node", f"{variant}: size, time and rate disagree")


def _closing(text: str, rows: int, residuals: int, sheet: Sheet) -> None:
    counts = {name: pattern.search(text) for name, pattern in _COUNTS}
    finished = re.search(r"Finished\s+(\d+) tests", text)
    if finished is None or "End of Tests." not in text or None in counts.values():
        sheet.note("document/cut", "file", "the closing lines are missing")
        return
    numbers = {name: int(found[1]) for name, found in counts.items() if found}
    for name, number in numbers.items():
        sheet.number("node", name, number, "count")
    if numbers["tests_failed"]:
        sheet.note("correctness/wrong", "node", f"{numbers['tests_failed']} tests failed the residual check")
    if numbers["tests_skipped"]:
        sheet.note("test/skipped", "node", f"{numbers['tests_skipped']} tests were skipped for illegal input")
    ran = numbers["tests_passed"] + numbers["tests_failed"]
    if not (ran == rows == residuals and int(finished[1]) == sum(numbers.values())):
        sheet.note("row/missing", "file", f"{rows} rows and {residuals} residuals of {finished[1]} finished tests")
    if not rows:
        sheet.note("test/all-skipped", "node", "no test ran")
