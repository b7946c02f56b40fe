"""stress-ng, text and YAML, and memtester: which stressors ran and whether anything failed.

stress-ng exits 0 when every stressor was skipped, so what ran is counted. Bogo operations are not
comparable between versions: they are kept as numbers and judged by nobody.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.numbers import close, finite

from .documents import note_duplicates, plain_lines
from .sheet import Sheet

TOOL = "stress-ng"
_METRIC = re.compile(
    r"^stress-ng: (?:metrc|info): +\[\d+\] (?!process )(?P<name>[a-z][\w-]*) +(?P<ops>\d+) +(?P<real>\S+) +"
    r"(?P<usr>\S+) +(?P<sys>\S+) +(?P<rate>\S+) +(?P<cpu_rate>\S+)"
)
_DISPATCH = re.compile(r"dispatching hogs: (.*)$")
_TALLY = re.compile(r"\] (?P<what>skipped|passed|failed|metrics untrustworthy): (?P<count>\d+)(?:: (?P<names>.*))?$")
# SIGILL, SIGBUS and SIGSEGV may come from a bad CPU or DIMM; other signals come from the kernel or an operator.
_FAILURE = re.compile(r"^stress-ng: fail: |terminated (?:on|by) signal:? (?:4|7|11)\b|value mismatch")
_BROKEN = re.compile(r"^stress-ng: error: |aborted|terminated (?:on|by) signal")
_SKIPPED = re.compile(
    r"(?:stressor will be skipped|skipping stressor|stressor\(s\) were skipped|not implemented.*skip|"
    r"disabled '[\w-]+' as it may)"
)
_STAMP = re.compile(r"^(stress-ng: )\d\d:\d\d:\d\d\.\d+ +", re.MULTILINE)
_ASKED = re.compile(r"setting to a (.*?)run per stressor")
_SPAN = re.compile(r"(\d+(?:\.\d+)?) (day|hour|min|sec)")
_SECONDS = {"day": 86400.0, "hour": 3600.0, "min": 60.0, "sec": 1.0}
_YAML_KEYS = ("bogo-ops", "bogo-ops-per-second-usr-sys-time", "bogo-ops-per-second-real-time", "wall-clock-time",
              "user-time", "system-time")  # fmt: skip
_MEMTEST = re.compile(r"^\s+([A-Z][A-Za-z0-9 -]+?)\s*: (.*)$")


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    if "memtester" in text:
        _memtester(text, sheet)
    elif re.search(r"^(?:system-info|metrics):", text, re.MULTILINE):
        _yaml(text, sheet)
    else:
        _log(_plain_form(text), sheet)


def _plain_form(text: str) -> str:
    """The log without the times of --timestamp, and with the marks that --log-brief leaves out."""
    if "stress-ng: " not in text and "dispatching hogs" in text:
        text = re.sub(r"^(?=.)", "stress-ng: info:  [0] ", text, flags=re.MULTILINE)
    return _STAMP.sub(r"\1", text)


def _log(text: str, sheet: Sheet) -> None:
    lines = plain_lines(text)
    ran: list[str] = []
    wanted: list[str] = []
    version = re.search(r"stress-ng(?:, version|: info: .* version) ([\d.]+)", text)
    sheet.version = version[1] if version else None
    for line in lines:
        if metric := _METRIC.match(line):
            ran.append(metric["name"])
            _metric(metric, sheet)
        elif dispatch := _DISPATCH.search(line):
            wanted += [part.split()[-1] for part in dispatch[1].split(",") if part.split()]
        elif tally := _TALLY.search(line):
            _tally(tally, sheet)
        else:
            _line(line, sheet)
    note_duplicates(sheet, ran, "the stressor")
    _log_end(text, ran, wanted, sheet)


def _line(line: str, sheet: Sheet) -> None:
    if _FAILURE.search(line):
        sheet.note("hardware/stress-failed", "node", line)
    elif _SKIPPED.search(line) or "No stress workers invoked" in line:
        sheet.note("test/skipped", "node", line)
    elif _BROKEN.search(line):
        sheet.note("tool/failed", "node", line)


def _log_end(text: str, ran: list[str], wanted: list[str], sheet: Sheet) -> None:
    codes = {note.code for note in sheet.notes}
    passed = any(row.metric == "stressors_passed" and row.value for row in sheet.rows)
    if "unsuccessful run completed" in text and not codes & {"tool/failed", "hardware/stress-failed"}:
        sheet.note("hardware/stress-failed", "node", "the run was unsuccessful")
    sheet.number("node", "stressors_run", len(ran), "count")
    if not ran and "test/skipped" in codes:
        sheet.note("test/all-skipped", "node", "no stressor left a metric")
        return
    if not ran and not passed:
        sheet.note("row/missing", "node", "nothing tells whether a stressor ran: there are no metrics and no tally")
    _in_time(text, sheet)
    for name in wanted if ran else ():
        if name not in ran:
            sheet.note("row/missing", name, f"the stressor {name} was dispatched and has no metric")
    _log_lines(text, sheet)


def _in_time(text: str, sheet: Sheet) -> None:
    """A run that was interrupted ends "successful" and early; one for a number of operations names no time."""
    asked = _ASKED.search(text)
    wanted = sum(float(count) * _SECONDS[unit] for count, unit in _SPAN.findall(asked[1])) if asked else 0.0
    times = [row.parameters["seconds"] for row in sheet.rows if row.metric == "bogo_operations"]
    if wanted and times and max(times) < 0.95 * wanted:
        sheet.note("document/interrupted", "node", f"the stressors ran {max(times):g} of {wanted:g} s")


def _log_lines(text: str, sheet: Sheet) -> None:
    if "stress-ng: metrc:" in text and "stressor       bogo ops real time" not in text:
        sheet.note("row/missing", "file", "the header of the metrics is missing")
    if not re.search(r"(?:un)?successful run completed in [\d.]+", text):
        sheet.note("document/cut", "file", "the closing line is missing")
    times = ("available CPU time", "user time ", "system time ", "total time ", "load average", "run time:")
    asked = any(words in text for words in times)  # they are printed with --times alone
    for words in times:
        if asked and words not in text:
            sheet.note("row/missing", "file", f"the line {words.strip()} is missing")
    if "dispatching hogs" not in text:
        sheet.note("row/missing", "file", "the line that names the stressors is missing")


def _metric(metric: re.Match[str], sheet: Sheet) -> None:
    name, operations, seconds = metric["name"], float(metric["ops"][:18]), finite(metric["real"])
    sheet.number(name, "bogo_operations", operations, "count", parameters={"seconds": seconds or 0.0})
    rate = sheet.number(name, "bogo_rate", metric["rate"], "1/s")
    for key in ("real", "usr", "sys", "cpu_rate"):
        if finite(metric[key]) is None:
            sheet.note("value/not-a-number", name, f"{name}: {key} is {metric[key]}")
    if seconds and rate is not None and not close(rate, operations / seconds, 0.01 + 0.006 / seconds, 0.02):
        sheet.note("document/contradiction", name, f"{name}: operations, time and rate disagree")


def _tally(tally: re.Match[str], sheet: Sheet) -> None:
    count = int(tally["count"][:9])
    if count and tally["what"] == "failed":
        sheet.note("hardware/stress-failed", "node", f"{count} stressors failed: {tally['names']}")
    elif count and tally["what"] == "skipped":
        sheet.note("test/skipped", "node", f"{count} stressors were skipped: {tally['names']}")
    elif tally["what"] == "passed":
        sheet.number("node", "stressors_passed", count, "count")


def _yaml(text: str, sheet: Sheet) -> None:
    version = re.search(r"^\s+stress-ng-version: (\S+)$", text, re.MULTILINE)
    sheet.version = version[1] if version else None
    if version is None:
        sheet.note("row/missing", "file", "the version is missing")
    _, _, metrics = text.partition("\nmetrics:")
    blocks = re.split(r"^\s+- stressor: ", metrics.partition("\ntimes:")[0], flags=re.MULTILINE)[1:]
    note_duplicates(sheet, [block.split("\n")[0].strip() for block in blocks], "the stressor")
    for block in blocks:
        _yaml_block(block, sheet)
    sheet.number("node", "stressors_run", len(blocks), "count")
    if not blocks and metrics:
        sheet.note("test/all-skipped", "node", "no stressor left a metric")
    elif not blocks:
        sheet.note("row/missing", "node", "the metrics are missing")
    if not text.rstrip().endswith("\n..."):
        sheet.note("document/cut", "file", "the document does not end with ...")


def _yaml_block(block: str, sheet: Sheet) -> None:
    name, _, body = block.partition("\n")
    pairs = re.findall(r"^\s+([a-z][\w-]*): (.*)$", body, re.MULTILINE)
    values = dict(pairs)
    note_duplicates(sheet, [f"{name}/{key}" for key, _ in pairs], "the key")
    for key in _YAML_KEYS:
        if key not in values or finite(values[key]) is None:
            sheet.note("row/missing", name, f"{name}: {key} is {values.get(key, 'missing')}")
    operations = sheet.number(name, "bogo_operations", values.get("bogo-ops"), "count")
    rate = sheet.number(name, "bogo_rate", values.get("bogo-ops-per-second-real-time"), "1/s")
    seconds = finite(values.get("wall-clock-time"))
    if seconds and operations is not None and rate is not None and not close(rate, operations / seconds, 1e-3, 1e-3):
        sheet.note("document/contradiction", name, f"{name}: operations, time and rate disagree")


def _memtester(text: str, sheet: Sheet) -> None:
    sheet.tool = "memtester"
    version = re.search(r"memtester version ([\d.]+)", text)
    sheet.version = version[1] if version else None
    tests = passed = 0
    for line in re.sub(r"[^\n]?\x08", "", text).splitlines():
        found = _MEMTEST.match(line)
        if found is None:
            continue
        tests += 1
        if found[2].rstrip().endswith("ok"):
            passed += 1
        elif "FAILURE" in found[2]:
            sheet.note("correctness/wrong", "memory", line)
        else:
            sheet.note("document/cut", "memory", f"the test {found[1]} did not end")
    sheet.number("memory", "tests", tests, "count")
    sheet.number("memory", "tests_ok", passed, "count")
    if "FAILURE" in text and passed == tests:
        sheet.note("correctness/wrong", "memory", "a failure is reported")
    if not re.search(r"^Done\.", text, re.MULTILINE) or not tests:
        sheet.note("document/cut", "file", "the closing line is missing")
