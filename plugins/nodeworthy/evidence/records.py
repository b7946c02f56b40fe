"""Results that wait for judgement, and qualifications that judgements granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.verdicts import Scope


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A probe result that waits for, or has had, its judgement."""

    node: str
    episode: int
    scope: Scope
    suite: str
    bundle: EvidenceReference
    document: Mapping[str, Any]
    judged: bool
    switched_off: tuple[Mapping[str, str], ...] = ()
    """Tests that its plan left out by the pool's policy: test, why, who, until. Filled in by who judges it."""
    segment: int = 1
    """Which part of a soak it is, from 1; filled in by who judges it."""


@dataclass(frozen=True, slots=True)
class Qualification:
    """One passing judgement with its scope; void once `voided_by` says why."""

    node: str
    scope: Scope
    suite: str
    episode: int
    granted_at: datetime
    expires_at: datetime
    dossier: EvidenceReference
    boot_id: str
    firmware_set: str
    voided_by: str = ""
