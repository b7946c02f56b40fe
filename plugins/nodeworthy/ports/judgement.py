"""The ports to what turns results into verdicts that can be proven: judge, evidence, page, signature, attestation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.qualification.own_history import History
from nodeworthy.qualification.sku import Sku


@dataclass(frozen=True, slots=True)
class JudgingBatch:
    """All results of one suite and scope that are judged together, in one validation."""

    scope: Scope
    results: tuple[StoredResult, ...]
    skus: Mapping[str, Sku]
    """SKU by node name."""
    firmware_sets: Mapping[str, str]
    serials: Mapping[str, str] = field(default_factory=dict)
    """Chassis serial by node name; a result that names another is not this node's."""
    histories: Mapping[str, History] = field(default_factory=dict)
    """Earlier runs by the SHA-256 of the result's bundle; a result without any is absent."""


class Judge(Protocol):
    """Turns results into judgements: one validation per judging batch."""

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Return one judgement per result and the validation document (evidence for the dossiers)."""


class EvidenceStore(Protocol):
    """Write-once storage of evidence, by path and hash."""

    def put(self, path: str, content: bytes) -> EvidenceReference:
        """Store bytes; the same bytes again are success, other bytes at the same path are Refused."""

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back. Permanent when they are missing or their hash differs."""

    def read(self, path: str) -> bytes:
        """Read bytes of which no hash is at hand. Permanent when they are missing."""

    def url(self, reference: EvidenceReference) -> str:
        """Return an address that an operator can open."""


class EvidencePage(Protocol):
    """Draws one judgement for a person."""

    def render(self, content: Mapping[str, Any]) -> bytes:
        """Return a self-contained HTML page without outside links; the same content gives the same bytes."""


class Signer(Protocol):
    """Signs certificates; the key never leaves the adapter."""

    key_id: str

    def sign(self, content: bytes) -> bytes:
        """Return the Ed25519 signature (RFC 8032), 64 bytes."""


class Attestation(Protocol):
    """Verifies a node's quote, and what its components' roots of trust signed."""

    def verify(
        self, document: Mapping[str, Any], *, nonce: str, serial: str, golden: Mapping[int, Sequence[str]]
    ) -> None:
        """Check signature, certificates, nonce, log replay and PCR policy. Refused with the one thing that is wrong."""

    def verify_measurements(
        self, signed: SignedMeasurements, *, node: str, nonce: str, references: Sequence[Mapping[int, str]]
    ) -> None:
        """Check certificates, signature, nonce and measurements. Refused with the one thing that is wrong.

        `references` holds, per firmware version that is allowed, the value (hex) of each measurement by its index.
        """

    def references(self) -> Mapping[str, str]:
        """Return the reference measurements by what was measured. Permanent when there are none."""
