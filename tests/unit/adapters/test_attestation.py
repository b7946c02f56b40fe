"""A quote counts only when key, nonce, values, log and reference measurements hold; each failure has a sentence."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from nodeworthy.adapters.attestation_tpm import TpmAttestation
from nodeworthy.adapters.attestation_tpm_quote import parse_attest
from nodeworthy.errors import Permanent, Refused

NOW = datetime(2026, 11, 30, tzinfo=UTC)
NONCE = "ab" * 32
SERIAL = "1571523000123"
Name = Sequence[tuple[x509.ObjectIdentifier, str]]


class Noon:
    """A clock that stands."""

    def now(self) -> datetime:
        """Return the present."""
        return NOW


def certificate(
    subject: str, key: Any, issuer: str, issuer_key: Any, *, serial: str = "", ca: bool = False, days: int = 365
) -> x509.Certificate:
    """Issue a certificate."""
    name = [x509.NameAttribute(NameOID.COMMON_NAME, subject)]
    if serial:
        name.append(x509.NameAttribute(NameOID.SERIAL_NUMBER, serial))
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name(name))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=10))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def pem(*certificates: x509.Certificate) -> str:
    """Return PEM text."""
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in certificates)


ROOT_KEY, MIDDLE_KEY, IAK = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
ROOT = certificate("Root", ROOT_KEY, "Root", ROOT_KEY, ca=True)
MIDDLE = certificate("Middle", MIDDLE_KEY, "Root", ROOT_KEY, ca=True)
EVENTS = [(0, "aa"), (2, "bb"), (2, "cc"), (4, "dd"), (7, "ee")]
GOLDEN = {0: ["aa" * 32], 2: ["bb" * 32, "cc" * 32], 4: ["dd" * 32], 7: ["EE" * 32]}


def sized(content: bytes) -> bytes:
    """Write a TPM2B."""
    return struct.pack(">H", len(content)) + content


@dataclass
class Tpm:
    """A TPM that quotes, with every part open to change."""

    key: Any = IAK
    certificates: str = field(
        default_factory=lambda: pem(certificate("IAK", IAK, "Middle", MIDDLE_KEY, serial=SERIAL), MIDDLE)
    )
    events: Sequence[tuple[int, str]] = tuple(EVENTS)
    selection: Sequence[int] = (0, 2, 4, 7)
    bank: int = 0x000B
    magic: int = 0xFF544347
    kind: int = 0x8018
    nonce: str = NONCE

    def pcrs(self) -> dict[int, bytes]:
        """Extend the selected PCRs: new = SHA-256(old || digest)."""
        values = {index: bytes(32) for index in self.selection}
        for index, digest in self.events:
            if index in values:
                values[index] = hashlib.sha256(values[index] + bytes.fromhex(digest * 32)).digest()
        return values

    def attest(self) -> bytes:
        """Write a TPMS_ATTEST by TCG TPM 2.0 Part 2, 10.12.12."""
        bitmap = sum(1 << index for index in self.selection).to_bytes(3, "little")
        digest = hashlib.sha256(b"".join(value for _, value in sorted(self.pcrs().items()))).digest()
        head = struct.pack(">IH", self.magic, self.kind) + sized(b"signer") + sized(bytes.fromhex(self.nonce))
        clock = struct.pack(">QIIB", 1, 2, 3, 1) + struct.pack(">Q", 4)
        return head + clock + struct.pack(">IHB", 1, self.bank, 3) + bitmap + sized(digest)

    def document(self) -> dict[str, Any]:
        """Return the attestation part of a result."""
        attest = self.attest()
        return {
            "quote_base64": base64.b64encode(attest).decode(),
            "signature_base64": base64.b64encode(self.key.sign(attest, ec.ECDSA(hashes.SHA256()))).decode(),
            "signature_algorithm": "ecdsa-p256-sha256",
            "iak_certificate_pem": self.certificates,
            "pcrs": {"sha256": {str(index): value.hex() for index, value in self.pcrs().items()}},
            "event_log": [
                {"pcr": index, "type": "EV_X", "digest_sha256": digest * 32, "description": f"event {digest}"}
                for index, digest in self.events
            ],
        }


def verify(document: Mapping[str, Any], *, serial: str = SERIAL) -> None:
    """Verify against the root."""
    attestation = TpmAttestation(pem(ROOT).encode(), Noon())
    attestation.verify(document, nonce=NONCE, serial=serial, golden=GOLDEN)


def test_a_sound_quote_passes_over_an_intermediate() -> None:
    """Chain, chassis, nonce, values, log and references hold."""
    verify(Tpm().document())


def self_signed() -> str:
    """A certificate that nobody vouches for."""
    return pem(certificate("IAK", IAK, "IAK", IAK, serial=SERIAL))


def issued(**changes: Any) -> str:
    """An IAK certificate with something else in it."""
    return pem(certificate("IAK", IAK, "Middle", MIDDLE_KEY, **{"serial": SERIAL, **changes}), MIDDLE)


OTHER = ec.generate_private_key(ec.SECP256R1())
LEAF_AS_ISSUER = certificate("Leaf", MIDDLE_KEY, "Root", ROOT_KEY, ca=False)

UNSOUND = {
    "stale nonce": (Tpm(nonce="cd" * 32), "answers nonce cdcdcdcdcdcd and not abababababab"),
    "other key": (Tpm(key=OTHER), "is not signed by the key of its certificate"),
    "unknown root": (Tpm(certificates=self_signed()), "leads to no root we trust"),
    "issuer is no authority": (
        Tpm(certificates=pem(certificate("IAK", IAK, "Leaf", MIDDLE_KEY, serial=SERIAL), LEAF_AS_ISSUER)),
        "leads to no root we trust",
    ),
    "other chassis": (Tpm(certificates=issued(serial="9")), f"names chassis 9 where {SERIAL} was asked"),
    "no chassis": (Tpm(certificates=issued(serial="")), "names chassis none"),
    "expired": (Tpm(certificates=issued(days=-5)), "is valid from"),
    "no certificate": (Tpm(certificates="nothing"), "without a readable certificate"),
    "other magic": (Tpm(magic=1), "was not made inside a TPM"),
    "other type": (Tpm(kind=0x8017), "is no quote"),
    "other bank": (Tpm(bank=0x0004), "covers PCRs bank 0x4"),
    "fewer PCRs": (Tpm(selection=(0, 2, 4)), "covers PCRs"),
    "more PCRs": (Tpm(selection=(0, 1, 2, 4, 7)), "covers PCRs"),
    "zero bank": (Tpm(events=()), "covers an all-zero SHA-256 bank"),
    "nothing in one PCR": (Tpm(events=EVENTS[:-1]), "shows nothing measured into PCR 7"),
    "extra event": (Tpm(events=(*EVENTS, (4, "99"))), r"unknown event in PCR 4 \(EV_X: event 99"),
    "event of another PCR": (Tpm(events=(*EVENTS, (0, "dd"))), "unknown event in PCR 0"),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_each_way_to_be_unsound_is_refused_with_its_own_sentence(case: str) -> None:
    """One failure, one sentence that names it."""
    tpm, phrase = UNSOUND[case]
    with pytest.raises(Refused, match=phrase):
        verify(tpm.document())


def test_a_log_that_hides_an_event_does_not_add_up() -> None:
    """Something was measured that the log does not show."""
    document = Tpm(events=(*EVENTS, (4, "99"))).document()
    document["event_log"].pop()
    with pytest.raises(Refused, match="so something was measured that the log does not show"):
        verify(document)


def test_values_that_the_quote_does_not_cover_are_refused() -> None:
    """PCR values sent along must give the quoted digest."""
    document = Tpm().document()
    document["pcrs"]["sha256"]["4"] = "11" * 32
    with pytest.raises(Refused, match="has a digest that the PCR values sent along do not give"):
        verify(document)


@pytest.mark.parametrize(
    "change",
    [
        {"quote_base64": "!"},
        {"quote_base64": None},
        {"pcrs": {}},
        {"pcrs": {"sha256": {"x": "00"}}},
        {"event_log": None},
        {"event_log": ["x"]},
        {"event_log": [{"pcr": 99, "digest_sha256": "00" * 32}]},
        {"event_log": [{"pcr": 0, "digest_sha256": "00"}]},
        {"signature_algorithm": "none"},
        {"signature_base64": "AAAA"},
    ],
)
def test_a_malformed_document_is_refused_and_never_passes(change: dict[str, Any]) -> None:
    """Whatever is broken in it, the answer is a refusal."""
    with pytest.raises(Refused):
        verify({**Tpm().document(), **change})


def test_a_cut_quote_is_refused_at_every_length() -> None:
    """No prefix of a quote is read as one."""
    whole = Tpm().attest()
    for length in range(6, len(whole)):
        with pytest.raises(ValueError, match="cut off"):
            parse_attest(whole[:length])
    with pytest.raises(ValueError, match="bytes behind"):
        parse_attest(whole + b"\0")


def test_roots_that_are_none_are_a_setting_to_correct() -> None:
    """The operator is told which setting."""
    with pytest.raises(Permanent, match="NODEWORTHY_TPM_ROOTS"):
        TpmAttestation(b"nothing", Noon())
