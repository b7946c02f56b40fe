"""A checkpoint of the audit: the heads of all chains at one moment, numbered, chained to the one before, signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from nodeworthy.evidence.measurements import EvidenceReference

CHECKPOINT_SCHEMA: Final = "nodeworthy.checkpoint/1"

FIRST: Final = "0" * 64
"""What the first checkpoint calls the one before it."""

Head = tuple[int, str]
"""Sequence and hash of a chain's last row."""


class KeyRing(Protocol):
    """The public keys that whoever checks the audit trusts: the present one and those that were retired."""

    def problem(self, key_id: str, content: bytes, signature: bytes, at: datetime) -> str:
        """Return why a signature that was made at this time (aware UTC) proves nothing; empty when it fits."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint. `body` is what is signed, empty once it was stored; `reference` is where it lies from then on."""

    number: int
    at: datetime
    body: Mapping[str, Any]
    reference: EvidenceReference | None
