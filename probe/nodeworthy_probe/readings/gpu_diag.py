"""Failures per GPU and class, from ``dcgmi diag -j``."""

from __future__ import annotations

from nodeworthy_probe.parsers import dcgm
from nodeworthy_probe.parsers.dcgm import DiagReport
from nodeworthy_probe.parsers.dcgm_catalogue import DiagResult, Outcome
from nodeworthy_probe.records import Finding, Measurement, Reading, missing

from .context import Context

_NO_SUCH_TEST = "was not found among possible test choices"
_METRICS = ("diag_failures", "diag_config_failures")


def read(text: str, context: Context) -> Reading:
    """Two counts per expected GPU, the number of tests that ran, and a finding per failure."""
    report = dcgm.parse(text)
    if lacking := _lacking(report):
        rows = _rows(report, context, trusted=False)
        return Reading(rows, tool_version=report.version, lacking=lacking, lines=(lacking,))
    versions = {"dcgm": report.version} if report.version else {}
    broken = _own_trouble(report)
    if report.problems or broken:
        return Reading(_rows(report, context, trusted=False), versions=versions, tool_version=report.version,
                       problem="; ".join((*report.problems, *broken)))  # fmt: skip
    return Reading(
        measurements=_rows(report, context, trusted=True),
        findings=tuple(_findings(report)),
        versions=versions,
        tool_version=report.version,
        lines=_lines(report),
    )


def _lacking(report: DiagReport) -> str | None:
    """What this DCGM cannot run here: a plugin whose package is absent, or tests that it skipped, all of them."""
    for problem in report.problems:
        if _NO_SUCH_TEST in problem:
            return f"{problem.strip()[:200]}: install its package in the probe's image, or leave the test out"
    if not report.problems and report.tests and not report.tests_run:
        return f"DCGM skipped {', '.join(report.tests)} on every GPU"
    return None


def _rows(report: DiagReport, context: Context, trusted: bool) -> tuple[Measurement, ...]:
    rows: list[Measurement] = []
    for index in context.gpus(max(report.gpus, default=-1) + 1):
        if trusted and (not report.names_gpus or _was_tested(report, index)):
            failures = report.failures(index)
            config = sum(result.is_config for result in failures)
            counts = (len(failures) - config, config)
            rows += [Measurement(f"gpu/{index}", metric, float(count), "count")
                     for metric, count in zip(_METRICS, counts, strict=True)]  # fmt: skip
        else:
            rows += [missing(f"gpu/{index}", metric, "count") for metric in _METRICS]
    ran = float(len(report.tests_run))
    skipped = float(len(report.tests) - len(report.tests_run))
    if trusted:
        rows.append(Measurement("node", "diag_tests_run", ran, "count"))
        rows.append(Measurement("node", "diag_tests_skipped", skipped, "count"))
    else:
        rows += [missing("node", metric, "count") for metric in ("diag_tests_run", "diag_tests_skipped")]
    return tuple(rows)


def _own_trouble(report: DiagReport) -> tuple[str, ...]:
    """Failures of a diagnostic that did not work itself; they say nothing of a GPU (DCGM, EUD plugin reference)."""
    failed = [result for result in report.results if result.outcome is Outcome.FAILED]
    return tuple(
        dict.fromkeys(
            f"{result.test} did not work: {error.text}"[:200]
            for result in failed
            if result.errors and all(error.is_of_the_tool for error in result.errors)
            for error in result.errors
        )
    )


def _was_tested(report: DiagReport, index: int) -> bool:
    return any(result.gpu == index and result.outcome is not Outcome.SKIPPED for result in report.results)


def _findings(report: DiagReport) -> list[Finding]:
    findings: list[Finding] = []
    for result in report.results:
        if result.outcome not in (Outcome.FAILED, Outcome.WARNED):
            continue
        category = "config" if result.is_config else "hardware"
        if not result.errors:
            findings.append(_finding(result, "dcgm/unnumbered", None, f"{result.test}: {result.outcome}", category))
        for error in result.errors:
            line = f"{result.test}: {error.text}"[:1000]
            findings.append(_finding(result, error.code, error.severity, line, category))
    return findings


def _finding(result: DiagResult, code: str, severity: str | None, line: str, category: str) -> Finding:
    return Finding(code, result.component, "dcgm", "test", line, severity, category)


def _lines(report: DiagReport) -> tuple[str, ...]:
    failed = [result for result in report.results if result.outcome is Outcome.FAILED]
    lines = [f"DCGM {report.version or 'of unknown version'} ran {', '.join(report.tests_run) or 'no test'}"]
    lines += [f"{result.component}: {result.test} failed ({'config' if result.is_config else 'hardware'} class): "
              f"{'; '.join(error.text for error in result.errors) or 'no text given'}"[:400]
              for result in failed]  # fmt: skip
    return tuple(lines)
