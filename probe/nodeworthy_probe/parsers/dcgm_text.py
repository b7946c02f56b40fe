"""Reads the table of ``dcgmi diag`` without ``-j`` and the links of ``dcgmi nvlink -s``.

The table is for people: texts are wrapped in the middle of words and lists are cut off. It gives
the same report as the JSON, so far as it says; a table without its last border is a problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from nodeworthy_probe.parsers.dcgm import INTERNAL, DiagReport
from nodeworthy_probe.parsers.dcgm_catalogue import DiagError, DiagResult, Outcome, outcome_of

_ROW = re.compile(r"^\| (?P<left>.{25}) \| (?P<right>.{46}) \|$")
_BORDER = re.compile(r"^\+-{27}\+-{48}\+$")
_SECTION = re.compile(r"^[|+]-----  (?P<name>\w+)  -+")
_SCOPE = re.compile(r"^(?P<status>[A-Za-z]+) - (?:All|GPUs?: (?P<ids>[\d, ]+))$")
_PER_GPU = re.compile(r"^GPU(?P<id>\d+): (?P<status>\w+)$")
_NAMED_GPU = re.compile(r"\bGPU (\d+)\b")
_WRAP_COLUMNS = 45  # dcgmi breaks texts there, in the middle of a word if need be
_TEXTS = ("Error", "Warning", "Info")
_METADATA = ("DCGM Version", "Driver Version Detected", "GPU Device IDs Detected", "EUD Test Version")
_LINKS = re.compile(r"gpuId (\d+):\s*\n([ \tUDX_]*)")


@dataclass
class _Draft:
    results: list[DiagResult] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)  # test, kind, text so far
    failed: list[str] = field(default_factory=list)  # tests whose first row says Fail
    section: str = ""
    test: str = "unnamed test"
    in_text: bool = False


def parse_table(text: str) -> DiagReport:
    """The report of one table; a failing result carries the texts printed under its test."""
    draft = _Draft()
    lines = text.splitlines()
    for line in lines:
        if section := _SECTION.match(line):
            draft.section, draft.in_text = section["name"], False
        elif row := _ROW.match(line):
            _read_row(row["left"].strip(), row["right"], draft)
    borders = [place for place, line in enumerate(lines) if _BORDER.match(line)]
    if len(borders) < 2 or any(_ROW.match(line) for line in lines[borders[-1] :]):
        draft.problems.append("the table is cut")
    _contradictions(draft)
    _attach_texts(draft)
    if not draft.results:
        draft.problems.append("the table holds no result")
    return DiagReport(
        version=draft.metadata.get("DCGM Version"),
        driver_version=draft.metadata.get("Driver Version Detected"),
        gpus=tuple(sorted({result.gpu for result in draft.results if result.gpu is not None})),
        results=tuple(draft.results),
        problems=tuple(draft.problems),
    )


def parse_links(text: str) -> dict[int, str]:
    """Per GPU the letters of its links: U up, D down, X disabled, _ not supported."""
    return {int(gpu): "".join(letters.split()) for gpu, letters in _LINKS.findall(text)}


def _read_row(left: str, right: str, draft: _Draft) -> None:
    if left == "Diagnostic":
        return
    if left in _METADATA or draft.section == "Metadata":
        draft.metadata[left] = right.strip()
    elif left in _TEXTS:
        draft.texts.append([draft.test, left, right[:_WRAP_COLUMNS]])
        draft.in_text = True
    elif left:
        draft.test, draft.in_text = left, False
        _read_status(right.strip(), draft)
        if any(result.test == left and result.outcome is Outcome.FAILED for result in draft.results):
            draft.failed.append(left)
    elif _is_status(right.strip()):
        _read_status(right.strip(), draft)
        draft.in_text = False
    elif draft.in_text:
        draft.texts[-1][2] += right[:_WRAP_COLUMNS]


def _is_status(cell: str) -> bool:
    scope = _SCOPE.match(cell) or _PER_GPU.match(cell)
    return bool(scope and outcome_of(scope["status"]))


def _read_status(cell: str, draft: _Draft) -> None:
    if per_gpu := _PER_GPU.match(cell):
        outcome = outcome_of(per_gpu["status"])
        draft.results = [result for result in draft.results if (result.test, result.gpu) != (draft.test, None)]
        if outcome:
            draft.results.append(DiagResult(draft.test, int(per_gpu["id"][:4]), outcome))
        return
    scope = _SCOPE.match(cell)
    outcome = outcome_of(scope["status"] if scope else cell)
    if outcome is None:
        draft.problems.append(f"{draft.test}: unknown status {cell[:40]}")
        return
    ids = re.findall(r"\d{1,4}", scope["ids"] or "") if scope else []
    draft.results += [DiagResult(draft.test, int(gpu), outcome) for gpu in ids] or [
        DiagResult(draft.test, None, outcome)
    ]


def _contradictions(draft: _Draft) -> None:
    """A test that failed while each of its GPUs passed, and confesses no more than an error of its own."""
    for test in draft.failed:
        outcomes = {result.outcome for result in draft.results if result.test == test}
        texts = [text for name, kind, text in draft.texts if name == test and kind != "Info"]
        if Outcome.FAILED not in outcomes and all(INTERNAL.match(text) for text in texts):
            draft.problems.append(f"{test}: the summary says Fail while every device passed")
            draft.texts = [text for text in draft.texts if text[0] != test]


def _attach_texts(draft: _Draft) -> None:
    """Give errors and warnings to their test's failure; a text without one is a failure itself."""
    for test, kind, raw in draft.texts:
        if kind == "Info":
            continue
        error = DiagError(None, None, re.sub(r"  +", " ", raw).strip())
        failing = [place for place, result in enumerate(draft.results)
                   if result.test == test and result.outcome is Outcome.FAILED]  # fmt: skip
        if not failing:
            named = _NAMED_GPU.search(error.text)
            draft.results.append(DiagResult(test, int(named[1][:4]) if named else None, Outcome.FAILED, (error,)))
        for place in failing:
            result = draft.results[place]
            draft.results[place] = DiagResult(test, result.gpu, result.outcome, (*result.errors, error))
