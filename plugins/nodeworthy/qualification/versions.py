"""Versions of learnt baselines: what was proposed, who answered, what is in force.

A version's document holds everything that was ever learnt for its SKU, so that one version alone is in force and taking
it back brings the whole state of before. It lies over the files: a row of the same key replaces the file's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.qualification.baselines import Baseline, baselines_from_document
from nodeworthy.qualification.references import references_from_document


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A proposal: `document` has `baselines` (a baseline document) and `references` (a reference document or None)."""

    sku: str
    document: Mapping[str, Any]
    sha256: str
    evidence: EvidenceReference
    run: str


@dataclass(frozen=True, slots=True)
class BaselineVersion:
    """A proposal with its number and what became of it. `answer` is approve, refuse, or empty while nobody answered."""

    sku: str
    number: int
    document: Mapping[str, Any]
    sha256: str
    evidence: EvidenceReference
    run: str
    proposed_at: datetime
    answer: str
    who: str
    why: str
    answered_at: datetime | None
    withdrawn_at: datetime | None
    withdrawn_by: str
    withdrawn_why: str

    @property
    def stands(self) -> bool:
        """Whether it was approved and not withdrawn."""
        return self.answer == "approve" and self.withdrawn_at is None


def in_force(versions: Iterable[BaselineVersion]) -> BaselineVersion | None:
    """Return the newest version that stands; None while there is none."""
    return max((one for one in versions if one.stands), key=lambda one: one.number, default=None)


def learnt(document: Mapping[str, Any], where: str) -> tuple[Baseline, ...]:
    """Return the baselines of a version's document. Permanent when it is not safe to judge by."""
    references = document.get("references")
    return baselines_from_document(
        document["baselines"], references_from_document(references, where) if references else (), where
    )


def laid_over(below: Iterable[Baseline], above: Iterable[Baseline]) -> tuple[Baseline, ...]:
    """Return the baselines in force: those of `above`, and of `below` what `above` has no row for."""
    over = tuple(above)
    keys = {_key(row) for row in over}
    return (*(row for row in below if _key(row) not in keys), *over)


def _key(row: Baseline) -> tuple[object, ...]:
    return (row.test, row.metric, row.statistic, tuple(sorted(row.parameters.items())), row.firmware_set)
