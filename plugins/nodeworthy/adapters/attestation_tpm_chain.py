"""The certificate of an attesting key: from its PEM, over intermediates, to a vendor's root; a TPM's names its chassis.

Sources: RFC 5280 (path validation), TCG Keys for Device Identity and Attestation 1.0 (IAK certificates).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nodeworthy.errors import Permanent, Refused
from nodeworthy.ports import Clock

LONGEST_CHAIN = 5


class Chain:
    """Finds the way from a certificate to one of the roots, which `setting` names for whoever has to correct them."""

    def __init__(self, roots_pem: bytes, clock: Clock, *, setting: str = "NODEWORTHY_TPM_ROOTS") -> None:
        try:
            self._roots = tuple(x509.load_pem_x509_certificates(roots_pem))
        except ValueError as error:
            raise Permanent(f"The vendors' roots are no PEM certificates: set {setting} to such a file.") from error
        self._clock = clock

    def key(self, pem: bytes, serial: str) -> ec.EllipticCurvePublicKey:
        """Return the attestation key that the first certificate in `pem` certifies for this chassis. Else Refused."""
        whose = f"the attestation key of chassis {serial}"
        leaf, *others = _loaded(pem, whose)
        self._check_path(leaf, others, self._clock.now(), whose)
        named = [str(name.value) for name in leaf.subject.get_attributes_for_oid(NameOID.SERIAL_NUMBER)]
        if named != [serial]:
            raise Refused(
                f"The attestation key's certificate names chassis {', '.join(named) or 'none'} where {serial} was "
                "asked: the TPM, or the answer, is another machine's."
            )
        key = leaf.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
            raise Refused(f"The attestation key of chassis {serial} is no ECDSA P-256 key, which the policy asks for.")
        return key

    def leaf(self, pem: bytes, whose: str) -> x509.Certificate:
        """Return the certificate in `pem` that certifies no other, whatever their order, when it leads to a root."""
        found = _loaded(pem, whose)
        issuers = [one.issuer for one in found if one.issuer != one.subject]
        leaf = next((one for one in found if one.subject not in issuers and one.issuer != one.subject), found[0])
        self._check_path(leaf, [one for one in found if one is not leaf], self._clock.now(), whose)
        return leaf

    def _check_path(
        self, leaf: x509.Certificate, others: Sequence[x509.Certificate], now: datetime, whose: str
    ) -> None:
        at = leaf
        for _ in range(LONGEST_CHAIN):
            _check_time(at, now, whose)
            if at in self._roots and at is not leaf:
                return
            issuer = next((one for one in (*self._roots, *others) if one is not at and _issued(at, one)), None)
            if issuer is None:
                break
            at = issuer
        raise Refused(
            f"The certificate of {whose} leads to no root we trust (it ends at {at.issuer.rfc4514_string()}): add the "
            "vendor's root if it is genuine."
        )


def _loaded(pem: bytes, whose: str) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(pem)
    except ValueError:
        found = []
    if not found:
        raise Refused(f"{whose[0].upper()}{whose[1:]} came without a readable certificate.")
    return found


def _issued(subject: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Tell whether `issuer` is an authority and signed `subject`."""
    try:
        authority = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        subject.verify_directly_issued_by(issuer)
    except (x509.ExtensionNotFound, InvalidSignature, ValueError, TypeError):
        return False
    return authority


def _check_time(certificate: x509.Certificate, now: datetime, whose: str) -> None:
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise Refused(
            f"A certificate in the chain of {whose} ({certificate.subject.rfc4514_string()}) is valid from "
            f"{certificate.not_valid_before_utc:%Y-%m-%d} to {certificate.not_valid_after_utc:%Y-%m-%d}, not now."
        )
