"""What DCGM's error ids mean: severity by name from data, and the class of a failure.

Severity numbers are mapped by name because published tools map them wrongly (2 is ISOLATE, 5 is
CONFIG, 6 is RESET). A failure is of the config class only if every source agrees that it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any


class Outcome(StrEnum):
    """How a test ended on a device, whatever the release calls it."""

    PASSED = "pass"
    FAILED = "fail"
    WARNED = "warn"
    SKIPPED = "skip"


_OUTCOMES = {
    "pass": Outcome.PASSED,
    "fail": Outcome.FAILED,
    "warn": Outcome.WARNED,
    "skip": Outcome.SKIPPED,
    "skipped": Outcome.SKIPPED,
    "not run": Outcome.SKIPPED,
    "notrun": Outcome.SKIPPED,
}


def outcome_of(status: object) -> Outcome | None:
    """The outcome behind a status word, or None for a word that no release prints."""
    return _OUTCOMES.get(status.strip().lower()) if isinstance(status, str) else None


@dataclass(frozen=True)
class DiagError:
    """One warning of a result; releases before 3.3 print the text alone."""

    error_id: int | None
    severity_number: int | None
    text: str

    @property
    def severity(self) -> str | None:
        """The severity's name: by id from the catalogue, else by the number beside it."""
        catalogue = _catalogue()
        known = catalogue["errors"].get(str(self.error_id))
        if known is not None:
            return str(known["severity"])
        name = catalogue["severities"].get(str(self.severity_number))
        return str(name) if name is not None else None

    @property
    def code(self) -> str:
        """The finding's code, for example ``dcgm/29``."""
        return f"dcgm/{self.error_id}" if self.error_id is not None else "dcgm/unnumbered"

    @property
    def is_of_the_tool(self) -> bool:
        """Whether the diagnostic itself did not work: EUD's rights, start, time or exit, and not what it found."""
        return str(self.error_id) in _catalogue()["tool_errors"]

    @property
    def is_config(self) -> bool:
        """Whether a host setting is at fault: the id and the number beside it must both say so."""
        catalogue = _catalogue()
        names = [catalogue["severities"].get(str(self.severity_number))] if self.severity_number is not None else []
        if self.error_id is not None:
            names.append(catalogue["errors"].get(str(self.error_id), {}).get("severity"))
        return bool(names) and all(name in catalogue["config_severities"] for name in names)


@dataclass(frozen=True)
class DiagResult:
    """One test on one device; ``gpu`` is None where the document names none or another kind."""

    test: str
    gpu: int | None
    outcome: Outcome
    errors: tuple[DiagError, ...] = ()
    entity: str | None = None

    @property
    def component(self) -> str:
        """The device as a result document names it."""
        return f"gpu/{self.gpu}" if self.gpu is not None else self.entity or "node"

    @property
    def is_config(self) -> bool:
        """Whether every error is of the config class; without ids the test's name decides."""
        if any(error.error_id is not None or error.severity_number is not None for error in self.errors):
            return all(error.is_config for error in self.errors)
        return self.test.strip().lower() in _catalogue()["config_tests"]


@cache
def _catalogue() -> dict[str, Any]:
    text = resources.files("nodeworthy_probe").joinpath("data/dcgm_errors.json").read_text("utf-8")
    catalogue: dict[str, Any] = json.loads(text)
    return catalogue
