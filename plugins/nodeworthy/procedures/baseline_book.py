"""What learning asks of the ledger: versions of baselines, and the past results that they are learnt from."""

from __future__ import annotations

from typing import Protocol

from nodeworthy.evidence.records import StoredResult
from nodeworthy.qualification.versions import BaselineVersion, NewVersion


class BaselineBook(Protocol):
    """The memory of learnt baselines and of the results that they are learnt from; kept by the same ledger."""

    def propose_baselines(self, proposal: NewVersion) -> BaselineVersion:
        """Store a proposal under the SKU's next number; the same content again returns the one of before."""

    def answer_baselines(self, sku: str, number: int, *, who: str, answer: str, why: str) -> BaselineVersion:
        """Write who answered a proposal (`approve` or `refuse`). Refused when another answer stands there."""

    def withdraw_baselines(self, sku: str, number: int, *, who: str, why: str) -> BaselineVersion:
        """Take an approved version back: the one before it is in force again."""

    def baseline_versions(self, sku: str = "") -> tuple[BaselineVersion, ...]:
        """Return all versions (of one SKU), oldest first."""

    def past_results(self, sku: str, suite: str = "", *, every: bool = False) -> tuple[StoredResult, ...]:
        """Return the newest result per node, scope and suite of all nodes of one SKU; with `every`, the older too."""
