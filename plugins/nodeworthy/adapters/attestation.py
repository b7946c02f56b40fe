"""The Attestation port: quotes of TPMs and signed measurements of components, each with its vendors' roots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from nodeworthy.adapters.attestation_spdm import SpdmAttestation
from nodeworthy.adapters.attestation_tpm import TpmAttestation
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.ports import Clock


class Attestations:
    """Reads roots and reference measurements when they are first needed: most processes need none."""

    def __init__(
        self,
        tpm_roots: Callable[[], bytes],
        spdm_roots: Callable[[], bytes],
        golden: Callable[[], Mapping[str, str]],
        clock: Clock,
    ) -> None:
        self._roots = (tpm_roots, spdm_roots)
        self._golden = golden
        self._clock = clock

    @cached_property
    def _tpm(self) -> TpmAttestation:
        return TpmAttestation(self._roots[0](), self._clock)

    @cached_property
    def _spdm(self) -> SpdmAttestation:
        return SpdmAttestation(self._roots[1](), self._clock)

    def verify(
        self, document: Mapping[str, Any], *, nonce: str, serial: str, golden: Mapping[int, Sequence[str]]
    ) -> None:
        """Verify a TPM's quote."""
        self._tpm.verify(document, nonce=nonce, serial=serial, golden=golden)

    def verify_measurements(
        self, signed: SignedMeasurements, *, node: str, nonce: str, references: Sequence[Mapping[int, str]]
    ) -> None:
        """Verify a component's signed measurements."""
        self._spdm.verify(signed, node=node, nonce=nonce, references=references)

    def references(self) -> Mapping[str, str]:
        """Return the reference measurements."""
        return self._golden()
