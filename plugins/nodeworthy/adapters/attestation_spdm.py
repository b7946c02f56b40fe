"""Verifies what a component's root of trust signed (SPDM), with plain `cryptography`: no component, no network.

The order of the checks is the order of trust, as for a TPM's quote: whose key (certificate chain to the vendors'
roots), signed what (signature), for whom (nonce), and whether that is the firmware that should run (references). Which
device it is, the BMC says: SPDM certificates name no chassis.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from nodeworthy.adapters.attestation_spdm_messages import Statement, parse_statement, signing_input
from nodeworthy.adapters.attestation_tpm_chain import Chain
from nodeworthy.errors import Refused
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.ports import Clock

CURVES: Mapping[str, tuple[type[ec.EllipticCurve], int]] = {
    "TPM_ALG_ECDSA_ECC_NIST_P256": (ec.SECP256R1, 64),
    "TPM_ALG_ECDSA_ECC_NIST_P384": (ec.SECP384R1, 96),
    "TPM_ALG_ECDSA_ECC_NIST_P521": (ec.SECP521R1, 132),
}
"""BaseAsymAlgo names of DSP0274 that are verified here, with the size of their signatures in bytes."""
HASHES: Mapping[str, tuple[hashes.HashAlgorithm, str]] = {
    "TPM_ALG_SHA_256": (hashes.SHA256(), "sha256"),
    "TPM_ALG_SHA_384": (hashes.SHA384(), "sha384"),
    "TPM_ALG_SHA_512": (hashes.SHA512(), "sha512"),
}

References = Sequence[Mapping[int, str]]
"""Per firmware version that is allowed, the value of each measurement (hex) by its index."""


class SpdmAttestation:
    """Verifies signed measurements against the component vendors' root certificates (PEM, one or more)."""

    def __init__(self, roots_pem: bytes, clock: Clock) -> None:
        self._chain = Chain(roots_pem, clock, setting="NODEWORTHY_SPDM_ROOTS")

    def verify(self, signed: SignedMeasurements, *, node: str, nonce: str, references: References) -> None:
        """Return when the component runs what the references allow. Raises Refused with the one thing that is wrong."""
        whose = f"component {signed.component} of {node}"
        if signed.signing_algorithm not in CURVES or signed.hashing_algorithm not in HASHES:
            raise _refused(
                whose,
                f"are signed by {signed.signing_algorithm or 'nothing'} over {signed.hashing_algorithm or 'nothing'}, "
                f"and {', '.join(CURVES)} over {', '.join(HASHES)} are verified",
            )
        curve, size = CURVES[signed.signing_algorithm]
        key = self._chain.leaf(signed.certificates_pem.encode(), whose).public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, curve):
            raise _refused(whose, f"come with a certificate of no {signed.signing_algorithm} key")
        statement = _parsed(signed, size, whose)
        _check_signature(key, statement, signed.hashing_algorithm, whose)
        if statement.nonce != bytes.fromhex(nonce):
            raise _refused(
                whose,
                f"answer nonce {statement.nonce.hex()[:12]} and not {nonce[:12]}, which was asked: they are stale or "
                "replayed",
            )
        _check_measurements(statement, references, whose)


def _parsed(signed: SignedMeasurements, size: int, whose: str) -> Statement:
    try:
        return parse_statement(base64.b64decode(signed.statement, validate=True), size)
    except (ValueError, binascii.Error) as error:
        raise _refused(whose, f"are no whole SPDM statement ({error}): restart the BMC and try again") from error


def _check_signature(key: ec.EllipticCurvePublicKey, statement: Statement, algorithm: str, whose: str) -> None:
    hashing, name = HASHES[algorithm]
    half = len(statement.signature) // 2
    r, s = (int.from_bytes(part, "big") for part in (statement.signature[:half], statement.signature[half:]))
    message = signing_input(statement, lambda content: hashlib.new(name, content).digest())
    try:
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashing))
    except InvalidSignature as error:
        raise _refused(
            whose, "are not signed by the key of its certificate: another key answered, or they were changed on the way"
        ) from error


def _check_measurements(statement: Statement, references: References, whose: str) -> None:
    """One allowed version's measurements are all there and as they should be; other indexes are nobody's reference."""
    seen = {index: value.hex() for index, value in statement.measurements.items()}
    nearest: list[tuple[int, str]] = []
    for allowed in references:
        differing = [index for index in sorted(allowed) if seen.get(index) != allowed[index].lower()]
        if not differing:
            return
        nearest.append((len(differing), _differs(differing[0], seen, allowed)))
    raise _refused(whose, min(nearest)[1] if nearest else "have no reference to be held against")


def _differs(index: int, seen: Mapping[int, str], allowed: Mapping[int, str]) -> str:
    value = f"is {seen[index][:12]}" if index in seen else "is missing"
    return (
        f"are not the firmware set's: measurement {index} {value} and the reference is {allowed[index][:12]}; write "
        "the firmware anew, or add the reference values of a release that you trust"
    )


def _refused(whose: str, what: str) -> Refused:
    return Refused(f"The signed measurements of {whose} {what}.")
