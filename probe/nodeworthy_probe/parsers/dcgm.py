"""Reads ``dcgmi diag -j`` in the shapes of DCGM 2.x, 3.x, 3.3 and 4.x.

NVIDIA gives that JSON no stable schema, so each shape is recognised by its own marks and an
unknown one is refused. DCGM 4.5 repeats a result's warnings in the test's summary: those are
counted once. A summary that says Fail while every device passed is a contradiction of the tool
(NVIDIA/DCGM issue 253), not a fault of a device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .dcgm_catalogue import DiagError, DiagResult, Outcome, outcome_of
from .json_document import find_document, mapping, sequence, whole

_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
INTERNAL = re.compile(r"There was an internal error during the test", re.IGNORECASE)
_NAMED = re.compile(r"\bGPU (\d+)\b")
_GPU_IDS = re.compile(r"\d{1,4}(?:\s*,\s*\d{1,4})*")


@dataclass(frozen=True)
class DiagReport:
    """One run of the diagnostic. ``gpus`` are the ids that the document names."""

    version: str | None
    driver_version: str | None
    gpus: tuple[int, ...]
    results: tuple[DiagResult, ...]
    problems: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests, in the order of the document."""
        return tuple(dict.fromkeys(result.test for result in self.results))

    @property
    def tests_run(self) -> tuple[str, ...]:
        """Tests that ran on at least one device."""
        ran = {result.test for result in self.results if result.outcome is not Outcome.SKIPPED}
        return tuple(name for name in self.tests if name in ran)

    @property
    def names_gpus(self) -> bool:
        """Whether results are told apart by GPU (DCGM 2.x prints one result for all)."""
        return any(result.gpu is not None for result in self.results)

    def failures(self, gpu: int) -> tuple[DiagResult, ...]:
        """Failures of that GPU, and those that name no GPU and so may be anyone's."""
        return tuple(
            result for result in self.results if result.outcome is Outcome.FAILED and result.gpu in (gpu, None)
        )


def parse(text: str) -> DiagReport:
    """Read the document; ``problems`` is empty only if it is whole and free of contradiction."""
    document = find_document(text, *_ROOTS, "entity_groups", "metadata", "Driver Version Detected", "GPU Device IDs")
    if isinstance(document, str):
        return DiagReport(None, None, (), (), (document,))
    root = next((mapping(document[name]) for name in _ROOTS if name in document), {})
    problems: list[str] = []
    if root.get("runtime_error") or document.get("runtime_error"):
        problems.append(f"dcgmi reports: {root.get('runtime_error') or document.get('runtime_error')}"[:300])
    results: list[DiagResult] = []
    for test in _tests(root):
        results += _read_test(test, problems)
    if not results and not problems:
        problems.append("the document holds no result")
    entities = set(_entities(document))
    named = {result.gpu for result in results if result.gpu is not None}
    if entities and not named <= entities:
        problems.append("results name GPUs that the document does not list")
    metadata = {"version": root.get("version"), **document, **mapping(document.get("metadata"))}
    return DiagReport(
        version=_text(metadata.get("version")),
        driver_version=_text(metadata.get("Driver Version Detected")),
        gpus=tuple(sorted(entities | named)),
        results=tuple(results),
        problems=tuple(dict.fromkeys(problems)),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _tests(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for category in sequence(root.get("test_categories")):
        for test in sequence(mapping(category).get("tests")):
            yield mapping(test)


def _entities(document: dict[str, Any]) -> Iterator[int]:
    for group in map(mapping, sequence(document.get("entity_groups"))):
        if group.get("entity_group") == "GPU":
            numbers = (whole(mapping(entity).get("entity_id")) for entity in sequence(group.get("entities")))
            yield from (number for number in numbers if number is not None)


def _read_test(test: dict[str, Any], problems: list[str]) -> list[DiagResult]:
    name = str(test.get("name", ""))
    if not name:
        problems.append("a test has no name")
    results: list[DiagResult] = []
    for result in map(mapping, sequence(test.get("results"))):
        results += _read_result(name, result, problems)
    summary = mapping(test.get("test_summary"))
    if summary:
        results += _read_summary(name, summary, results, problems)
    if not results:
        problems.append(f"{name}: no result")
    return results


def _read_result(name: str, result: dict[str, Any], problems: list[str]) -> list[DiagResult]:
    outcome = outcome_of(result.get("status"))
    if outcome is None:
        problems.append(f"{name}: unknown status {str(result.get('status'))[:40]}")
        return []
    errors = tuple(_errors(result.get("warnings")))
    devices = _devices(result)
    if devices is None:
        problems.append(f"{name}: a result names no readable device")
        return []
    return [DiagResult(name, gpu, outcome, _own(errors, gpu, len(devices)), entity) for gpu, entity in devices]


def _own(errors: tuple[DiagError, ...], gpu: int | None, devices: int) -> tuple[DiagError, ...]:
    """Of a result for several GPUs, the errors that name no other GPU."""
    named = ((error, set(_NAMED.findall(error.text))) for error in errors)
    return tuple(error for error, gpus in named if devices == 1 or not gpus or str(gpu) in gpus)


def _devices(result: dict[str, Any]) -> list[tuple[int | None, str | None]] | None:
    if "entity_group" in result or "entity_id" in result:
        number = whole(result.get("entity_id"))
        group = str(result.get("entity_group", ""))
        if number is None or not group:
            return None
        return [(number, None)] if group == "GPU" else [(None, f"{group.lower()}/{number}")]
    ids = result.get("gpu_ids", result.get("gpu_id"))
    if ids is None:
        return [(None, None)]
    text = str(ids).strip()
    if not _GPU_IDS.fullmatch(text):
        return None
    return [(int(part), None) for part in text.split(",")]


def _errors(warnings: object) -> Iterator[DiagError]:
    entries = [warnings] if isinstance(warnings, str | dict) else sequence(warnings)
    for entry in entries:
        if isinstance(entry, str) and entry.strip():
            yield DiagError(None, None, entry.strip())
        elif isinstance(entry, dict):
            text = str(entry.get("warning", "")).strip()
            yield DiagError(whole(entry.get("error_id")), whole(entry.get("error_severity")), text)


def _read_summary(
    name: str, summary: dict[str, Any], results: list[DiagResult], problems: list[str]
) -> list[DiagResult]:
    outcome = outcome_of(summary.get("status"))
    if outcome is None:
        problems.append(f"{name}: unknown summary {str(summary.get('status'))[:40]}")
        return []
    errors = tuple(_errors(summary.get("warnings")))
    seen = {result.outcome for result in results}
    if not results:
        return [DiagResult(name, None, outcome, errors)]
    if outcome is Outcome.FAILED and Outcome.FAILED not in seen:
        if not all(INTERNAL.match(error.text) for error in errors):
            return [DiagResult(name, None, outcome, errors)]
        problems.append(f"{name}: the summary says Fail while every device passed")
    if outcome is Outcome.PASSED and Outcome.FAILED in seen:
        problems.append(f"{name}: the summary says Pass while a device failed")
    return []
