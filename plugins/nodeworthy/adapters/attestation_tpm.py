"""The Attestation port for TPM 2.0 quotes, verified here with plain `cryptography`: no TPM, no network.

The order of the checks is the order of trust: whose key (certificate chain to the TPM vendors' roots, with the chassis
serial in it), signed what (signature), for whom (nonce), about which PCRs (selection, digest), what those mean (event
log, replayed), and whether that is what should have booted (reference digests). The first that fails is the reason.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from nodeworthy.adapters.attestation_tpm_chain import Chain
from nodeworthy.adapters.attestation_tpm_quote import (
    ALGORITHM_SHA256,
    MAGIC,
    QUOTE_TYPE,
    ZERO,
    Attest,
    digest_of,
    parse_attest,
    pcr_of,
    replay,
)
from nodeworthy.errors import Refused
from nodeworthy.ports import Clock

SIGNATURE_ALGORITHM = "ecdsa-p256-sha256"

Golden = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The parts of an attestation document, decoded."""

    quote: bytes
    signature: bytes
    certificates: bytes
    pcrs: Mapping[int, bytes]
    events: Sequence[Mapping[str, Any]]


class TpmAttestation:
    """Verifies quotes against the TPM vendors' root certificates (PEM, one or more)."""

    def __init__(self, roots_pem: bytes, clock: Clock) -> None:
        self._chain = Chain(roots_pem, clock)

    def verify(self, document: Mapping[str, Any], *, nonce: str, serial: str, golden: Golden) -> None:
        """Check everything; return when the node booted what `golden` allows. Raises Refused with the one thing wrong.

        `golden` maps each PCR of the policy to the digests (SHA-256, hex) that its log may hold.
        """
        evidence = _decoded(document, serial)
        key = self._chain.key(evidence.certificates, serial)
        _check_signature(key, evidence, serial)
        attest = _attest(evidence.quote, serial)
        _check_nonce(attest, nonce, serial)
        _check_pcrs(attest, evidence, sorted(golden), serial)
        _check_log(evidence, golden, serial)


def _decoded(document: Mapping[str, Any], serial: str) -> _Evidence:
    if document.get("signature_algorithm") != SIGNATURE_ALGORITHM:
        raise _refused(
            serial, f"is signed by {document.get('signature_algorithm')}, and {SIGNATURE_ALGORITHM} is asked for"
        )
    try:
        bank = document["pcrs"]["sha256"]
        events = document["event_log"]
        if not all(isinstance(event, Mapping) for event in events):
            raise ValueError("an event is no object")
        return _Evidence(
            quote=base64.b64decode(document["quote_base64"], validate=True),
            signature=base64.b64decode(document["signature_base64"], validate=True),
            certificates=str(document["iak_certificate_pem"]).encode(),
            pcrs={int(index): bytes.fromhex(value) for index, value in bank.items()},
            events=tuple(events),
        )
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise _refused(serial, f"is malformed ({error}): run the test attest.quote again") from error


def _check_signature(key: ec.EllipticCurvePublicKey, evidence: _Evidence, serial: str) -> None:
    try:
        key.verify(evidence.signature, evidence.quote, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise _refused(
            serial, "is not signed by the key of its certificate: another key answered, or it was changed on the way"
        ) from error


def _attest(quote: bytes, serial: str) -> Attest:
    try:
        attest = parse_attest(quote)
    except ValueError as error:
        raise _refused(serial, f"holds no whole TPMS_ATTEST ({error})") from error
    if attest.magic != MAGIC:
        raise _refused(serial, f"was not made inside a TPM (magic {attest.magic:#x} instead of {MAGIC:#x})")
    if attest.type != QUOTE_TYPE:
        raise _refused(serial, f"is no quote (type {attest.type:#x} instead of {QUOTE_TYPE:#x})")
    return attest


def _check_nonce(attest: Attest, nonce: str, serial: str) -> None:
    if attest.nonce != bytes.fromhex(nonce):
        raise _refused(
            serial,
            f"answers nonce {attest.nonce.hex()[:12] or 'none'} and not {nonce[:12]}, which was asked: it is stale or "
            "replayed",
        )


def _check_pcrs(attest: Attest, evidence: _Evidence, policy: list[int], serial: str) -> None:
    """The quote covers exactly the policy's PCRs of the SHA-256 bank, and its digest is that of their values."""
    if attest.selections != ((ALGORITHM_SHA256, frozenset(policy)),):
        seen = "; ".join(f"bank {bank:#x}: {sorted(indexes)}" for bank, indexes in attest.selections) or "none"
        raise _refused(serial, f"covers PCRs {seen}, and the policy asks for SHA-256 PCRs {policy} alone")
    missing = [index for index in policy if index not in evidence.pcrs]
    if missing:
        raise _refused(serial, f"comes without the value of PCR {missing[0]}")
    values = [evidence.pcrs[index] for index in policy]
    if all(value == ZERO for value in values):
        raise _refused(serial, "covers an all-zero SHA-256 bank: nothing was measured; enable it in firmware setup")
    if sha256(b"".join(values)).digest() != attest.digest:
        raise _refused(serial, "has a digest that the PCR values sent along do not give")


def _check_log(evidence: _Evidence, golden: Golden, serial: str) -> None:
    """The log adds up to the quoted values, and holds reference digests alone."""
    try:
        replayed = replay(evidence.events, golden)
    except ValueError as error:
        raise _refused(serial, f"has an event log that cannot be read ({error})") from error
    for index, value in replayed.items():
        if value != evidence.pcrs[index]:
            raise _refused(
                serial,
                f"does not agree with its event log: PCR {index} is {evidence.pcrs[index].hex()[:12]} and its log "
                f"adds up to {value.hex()[:12]}, so something was measured that the log does not show",
            )
        if value == ZERO:
            raise _refused(serial, f"shows nothing measured into PCR {index}: the policy asks for its events")
    for event in evidence.events:
        index, digest = pcr_of(event), digest_of(event).hex()
        if index in golden and digest not in {reference.lower() for reference in golden[index]}:
            raise _refused(
                serial,
                f"shows an unknown event in PCR {index} ({event.get('type')}: "
                f"{event.get('description') or 'not described'}, {digest[:12]}), which is not among the reference "
                "measurements of this firmware set and image",
            )


def _refused(serial: str, what: str) -> Refused:
    return Refused(f"The quote of chassis {serial} {what}.")
