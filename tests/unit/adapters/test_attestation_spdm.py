"""SPDM statements built here by hand from DSP0274's tables: what is read out of them, and what makes them refused."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID
from nodeworthy.adapters.attestation_spdm import SpdmAttestation
from nodeworthy.adapters.attestation_spdm_messages import parse_statement, signing_input
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.spdm import SignedMeasurements

NONCE = bytes(range(32))
VALUE = bytes.fromhex("aa" * 48)
REFERENCES = [{1: "aa" * 48}]
BLOCK_1 = bytes.fromhex("01013300003000") + VALUE
"""Index 1, DMTF, 51 bytes: value type 0 (ROM digest), 48 bytes."""
RAW_2 = bytes.fromhex("02020200beef")
"""Index 2, another measurement specification: two bytes as they are."""


def exchange(version: int, record: bytes = BLOCK_1 + RAW_2, blocks: int = 2, *, signed: bool = True) -> bytes:
    """GET_MEASUREMENTS of all indexes and MEASUREMENTS, without the signature."""
    context = bytes(8) if version >= 0x13 else b""
    asked = NONCE + b"\x00" if signed else b""
    request = bytes([version, 0xE0, int(signed), 0xFF]) + asked + context
    size = len(record).to_bytes(3, "little")
    response = bytes([version, 0x60, 0, 0, blocks]) + size + record + bytes(32) + b"\x02\x00op" + context
    return request + response


def vca(version: int) -> bytes:
    """VERSION with two entries, CAPABILITIES of 20 bytes, ALGORITHMS of 32 and 52 bytes, each behind its request."""
    versions = bytes([0x10, 0x84, 0, 0]) + bytes([0x10, 0x04, 0, 0, 0, 2, 0x00, 0x11, 0x00, version])
    capabilities = bytes([version, 0xE1, 0, 0]) + bytes(16) + bytes([version, 0x61, 0, 0]) + bytes(16)
    asked = bytes([version, 0xE3, 1, 0, 32, 0]) + bytes(26)
    return versions + capabilities + asked + bytes([version, 0x63, 1, 0, 52, 0]) + bytes(46)


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (exchange(0x11), 0x11),
        (vca(0x12) + exchange(0x12), 0x12),
        (vca(0x13) + exchange(0x13), 0x13),
        (exchange(0x11, BLOCK_1, 1, signed=False) + exchange(0x11, RAW_2, 1), 0x11),
    ],
)
def test_a_statement_is_read_by_its_tables(content: bytes, version: int) -> None:
    """One exchange or several; the nonce and signature are those of the last, the transcript is all of it."""
    found = parse_statement(content + b"s" * 96, 96)
    assert (found.version, found.nonce, found.signature) == (version, NONCE, b"s" * 96)
    assert found.measurements == {1: VALUE, 2: b"\xbe\xef"}
    assert found.signed == content


@pytest.mark.parametrize("content", [exchange(0x11), vca(0x12) + exchange(0x12)])
def test_a_statement_that_is_cut_anywhere_is_none(content: bytes) -> None:
    """Every shorter one raises, and none is taken for a whole one."""
    for length in range(len(content)):
        with pytest.raises(ValueError, match=r"."):
            parse_statement(content[:length] + b"s" * 96, 96)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (exchange(0x11, signed=False), "no signature was asked for"),
        (exchange(0x11) + exchange(0x11), "messages behind the signed ones"),
        (exchange(0x12), "does not fit the version"),
        (vca(0x11) + exchange(0x11), "does not fit the version"),
        (exchange(0x21), "SPDM version 2.1 is not known"),
        (exchange(0x11, BLOCK_1 + BLOCK_1), "measurement 1 comes twice"),
        (exchange(0x11, BLOCK_1 + b"x", 1), "bytes behind the measurement record"),
        (b"\x11\x60\x00\x00" + exchange(0x11), "message 0x60 stands where 0xe0 belongs"),
    ],
)
def test_what_is_no_signed_statement_says_why(content: bytes, why: str) -> None:
    """Each for its own reason."""
    with pytest.raises(ValueError, match=why):
        parse_statement(content + b"s" * 96, 96)


def test_from_1_2_on_the_signature_is_over_a_prefix_of_100_bytes_and_the_digest() -> None:
    """Up to 1.1 it is over the transcript itself (DSP0274 1.2, signature generation)."""
    old = parse_statement(exchange(0x11) + b"s" * 96, 96)
    assert signing_input(old, lambda _: b"digest") == exchange(0x11)
    new = parse_statement(vca(0x12) + exchange(0x12) + b"s" * 96, 96)
    prefix = b"dmtf-spdm-v1.2.*" * 4 + b"\0" * 6 + b"responder-measurements signing"
    assert len(prefix) == 100
    assert signing_input(new, lambda _: b"digest") == prefix + b"digest"


def certificate(name: str, key: Any, issuer: str, issuer_key: Any, *, ca: bool) -> x509.Certificate:
    """A certificate of ten years."""
    now = datetime.now(UTC)

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    builder = x509.CertificateBuilder().subject_name(named(name)).issuer_name(named(issuer))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=3650))
    return builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True).sign(
        issuer_key, hashes.SHA384()
    )


class Vendor:
    """A root, two authorities below it, and a component's key: a chain of four, as NVIDIA's is one of five."""

    def __init__(self) -> None:
        keys = [ec.generate_private_key(ec.SECP384R1()) for _ in range(4)]
        names = ["root", "model", "batch", "component"]
        self.key = keys[3]
        self.chain = [
            certificate(name, key, names[max(0, at - 1)], keys[max(0, at - 1)], ca=at < 3)
            for at, (name, key) in enumerate(zip(names, keys, strict=True))
        ]

    def pem(self, *order: int) -> str:
        """These certificates, in this order; all, the component's first, without one."""
        chosen = [self.chain[at] for at in order or (3, 2, 1, 0)]
        return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in chosen).decode()

    def signed(self, **more: Any) -> SignedMeasurements:
        """A good answer."""
        content = vca(0x12) + exchange(0x12)
        prefix = b"dmtf-spdm-v1.2.*" * 4 + b"\0" * 6 + b"responder-measurements signing"
        message = prefix + hashlib.sha512(content).digest()
        r, s = decode_dss_signature(self.key.sign(message, ec.ECDSA(hashes.SHA512())))
        raw = content + r.to_bytes(48, "big") + s.to_bytes(48, "big")
        fields: dict[str, Any] = {
            "component": "GPU_0",
            "statement": base64.b64encode(raw).decode(),
            "signing_algorithm": "TPM_ALG_ECDSA_ECC_NIST_P384",
            "hashing_algorithm": "TPM_ALG_SHA_512",
            "certificates_pem": self.pem(),
        }
        return SignedMeasurements(**(fields | more))

    def verify(self, signed: SignedMeasurements, references: Any = REFERENCES, nonce: bytes = NONCE) -> None:
        """Verify against its root."""
        root = self.pem(0).encode()
        SpdmAttestation(root, SystemClock()).verify(signed, node="n1", nonce=nonce.hex(), references=references)


@pytest.fixture(scope="module")
def vendor() -> Vendor:
    """One vendor."""
    return Vendor()


def test_a_good_answer_is_verified_whatever_the_order_of_its_chain(vendor: Vendor) -> None:
    """P-384 over SHA-512, as NVIDIA's GPUs sign; the root may be left out or come first."""
    for order in ((3, 2, 1, 0), (0, 1, 2, 3), (3, 1, 2)):
        vendor.verify(vendor.signed(certificates_pem=vendor.pem(*order)))


def test_any_bit_that_was_changed_on_the_way_is_found(vendor: Vendor) -> None:
    """In the messages or the signature; each refusal is one sentence."""
    raw = base64.b64decode(vendor.signed().statement)
    for at in range(0, len(raw), 7):
        flipped = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        with pytest.raises(Refused, match="component GPU_0 of n1"):
            vendor.verify(vendor.signed(statement=base64.b64encode(flipped).decode()))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"signing_algorithm": "TPM_ALG_RSASSA_3072"}, "are signed by TPM_ALG_RSASSA_3072"),
        ({"hashing_algorithm": "OEM"}, "over OEM"),
        ({"signing_algorithm": "TPM_ALG_ECDSA_ECC_NIST_P256"}, "no TPM_ALG_ECDSA_ECC_NIST_P256 key"),
        ({"hashing_algorithm": "TPM_ALG_SHA_384"}, "are not signed by the key of its certificate"),
        ({"statement": "no base64!"}, "are no whole SPDM statement"),
        ({"statement": ""}, "are no whole SPDM statement"),
        ({"certificates_pem": ""}, "came without a readable certificate"),
    ],
)
def test_each_flaw_has_its_sentence(vendor: Vendor, more: dict[str, str], why: str) -> None:
    """What is named is what is wrong."""
    with pytest.raises(Refused, match=why):
        vendor.verify(vendor.signed(**more))


def test_a_missing_link_of_the_chain_leads_to_no_root(vendor: Vendor) -> None:
    """The component's certificate alone proves nothing."""
    with pytest.raises(Refused, match="leads to no root we trust"):
        vendor.verify(vendor.signed(certificates_pem=vendor.pem(3, 1)))


def test_another_nonce_is_stale(vendor: Vendor) -> None:
    """It was signed for somebody else, or before."""
    with pytest.raises(Refused, match="answer nonce 000102030405 and not ffffffffffff"):
        vendor.verify(vendor.signed(), nonce=b"\xff" * 32)


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ([{1: "bb" * 48}], "measurement 1 is aaaaaaaaaaaa and the reference is bbbbbbbbbbbb"),
        ([{1: "aa" * 48, 9: "cc" * 48}], "measurement 9 is missing"),
        ([{1: "bb" * 48, 2: "0000"}, {1: "aa" * 48, 2: "0000"}], "measurement 2 is beef"),
        ([], "have no reference"),
    ],
)
def test_a_whole_version_must_fit(vendor: Vendor, references: Any, why: str) -> None:
    """The nearest of the allowed versions is the one that is named; half of one and half of another is none."""
    with pytest.raises(Refused, match=why):
        vendor.verify(vendor.signed(), references=references)


def test_one_of_the_allowed_versions_is_enough(vendor: Vendor) -> None:
    """And an index that no reference names is nobody's business."""
    vendor.verify(vendor.signed(), references=[{1: "bb" * 48}, {1: "AA" * 48}])


def test_roots_that_are_no_certificates_name_their_setting() -> None:
    """The operator has to find it."""
    with pytest.raises(Permanent, match="NODEWORTHY_SPDM_ROOTS"):
        SpdmAttestation(b"no certificate", SystemClock())
