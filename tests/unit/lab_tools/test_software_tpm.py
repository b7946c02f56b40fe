"""A quote of the software TPM verifies with plain ``cryptography``, and no fault of it does."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import lab.tpm
from lab.tpm import event_log
from lab.tpm.pcrs import replay
from lab.tpm.software_tpm import SoftwareTpm
from tests.data import node_views

NONCE = bytes.fromhex(node_views.NONCE)
SELECTION = (0, 2, 4, 7)
SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or Path(__file__).resolve().parents[4] / "shared" / "samples")


class Attest(NamedTuple):
    """The fields of a TPMS_ATTEST of type quote."""

    name: bytes
    nonce: bytes
    selection: tuple[int, ...]
    digest: bytes


def _read_attest(blob: bytes) -> Attest:
    """Written from TPM 2.0 Part 2, not from the code under test."""
    magic, kind = struct.unpack_from(">IH", blob, 0)
    assert (magic, kind) == (0xFF544347, 0x8018)
    name, at = _sized(blob, 6)
    nonce, at = _sized(blob, at)
    at += 8 + 4 + 4 + 1 + 8  # clock, reset count, restart count, safe, firmware version
    count, bank, size = struct.unpack_from(">IHB", blob, at)
    assert (count, bank, size) == (1, 0x000B, 3)
    bitmap = int.from_bytes(blob[at + 7 : at + 10], "little")
    digest, at = _sized(blob, at + 10)
    assert at == len(blob)
    return Attest(name, nonce, tuple(index for index in range(24) if bitmap >> index & 1), digest)


def _sized(blob: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">H", blob, at)
    return blob[at + 2 : at + 2 + size], at + 2 + size


def _refusal(node: Path, authority: Path, tpm: Mapping[str, Any], nonce: bytes = NONCE) -> str | None:
    """Verify a quote as a stranger would: None, or the first thing that is wrong."""
    quote = SoftwareTpm(node / "tpm" / "iak.key", tpm).quote(NONCE, SELECTION)
    certificate = x509.load_pem_x509_certificate((node / "tpm" / "iak.pem").read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.read_bytes()))
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    try:
        key.verify(quote.signature, quote.attest, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return "signature"
    attest = _read_attest(quote.attest)
    if attest.nonce != nonce:
        return "nonce"
    bank = replay(tpm["events"])
    if attest.selection != SELECTION or attest.digest != hashlib.sha256(b"".join(bank[i] for i in SELECTION)).digest():
        return "replay"
    return None


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node's folder with its TPM."""
    folder = tmp_path / "nodes" / "gpu-a01"
    lab.tpm.ensure_node(folder, node_views.SERIAL)
    return folder


@pytest.mark.parametrize(
    ("fault", "refusal"),
    [
        (None, None),
        ("stale-quote", "nonce"),
        ("wrong-key", "signature"),
        ("extra-event", "replay"),
        ("zero-bank", "replay"),
    ],
)
def test_only_an_honest_quote_verifies(node: Path, fault: str | None, refusal: str | None) -> None:
    """Each fault of the TPM is caught by another check."""
    tpm = {"events": node_views.EVENTS, "fault": fault}

    assert _refusal(node, node.parents[1] / "tpm-ca.pem", tpm) == refusal


def test_a_quote_answers_one_nonce_only(node: Path) -> None:
    """A recorded quote does not answer the next challenge."""
    tpm = {"events": node_views.EVENTS, "fault": None}

    assert _refusal(node, node.parents[1] / "tpm-ca.pem", tpm, nonce=bytes(32)) == "nonce"


def test_pcr_values_follow_the_specification() -> None:
    """PCR 0 after one event: SHA-256 of 32 zero bytes and the digest."""
    bank = replay([node_views.EVENTS[0]])

    assert bank[0] == hashlib.sha256(bytes(32) + bytes.fromhex("11" * 32)).digest()
    assert bank[1] == bytes(32)


def test_the_certificate_names_the_chassis(node: Path) -> None:
    """The subject's serialNumber is the chassis serial; the certificate is valid now and no authority."""
    certificate = x509.load_pem_x509_certificate((node / "tpm" / "iak.pem").read_bytes())

    (name,) = certificate.subject.get_attributes_for_oid(NameOID.SERIAL_NUMBER)
    assert name.value == node_views.SERIAL
    assert certificate.not_valid_before_utc < datetime.now(UTC) < certificate.not_valid_after_utc
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_keys_are_made_once_and_anew_for_another_chassis(node: Path) -> None:
    """The same serial keeps its key; a swapped chassis has another TPM; keys are private files."""
    key = node / "tpm" / "iak.key"
    before = key.read_bytes()

    lab.tpm.ensure_node(node, node_views.SERIAL)
    assert key.read_bytes() == before
    assert key.stat().st_mode & 0o077 == 0

    lab.tpm.ensure_node(node, "another-chassis")
    assert key.read_bytes() != before


def test_the_boot_log_is_in_the_crypto_agile_form() -> None:
    """First record: PCR 0, EV_NO_ACTION, and the signature that announces the form."""
    log = event_log.write(node_views.EVENTS)

    assert struct.unpack_from("<II", log, 0) == (0, 3)
    assert log[32:48] == b"Spec ID Event03\x00"
    assert bytes.fromhex("22" * 32) in log


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")
def test_a_real_quote_has_the_same_structure(node: Path) -> None:
    """The reader of this test takes apart what a real tpm2_quote signed."""
    text = (SAMPLES / "tpm" / "quote_ok.yaml").read_text("utf-8")
    quoted = bytes.fromhex(text.split("quoted: ")[1].split()[0])
    ours = SoftwareTpm(node / "tpm" / "iak.key", {"events": node_views.EVENTS}).quote(bytes.fromhex("abc123"), range(8))

    real, fake = _read_attest(quoted), _read_attest(ours.attest)

    assert real.nonce.hex() == "abc123"
    assert real.digest.hex() == "e37ce942eba42d77c0b6f40a42b7f383369bd3a6baca52ea167051c3e1c9ef71"
    assert (len(real.name), real.nonce) == (len(fake.name), fake.nonce)
    assert len(quoted) == len(ours.attest)


@pytest.mark.skipif(
    not (shutil.which("swtpm") and shutil.which("tpm2_quote")), reason="swtpm and tpm2-tools are not installed"
)
def test_a_quote_of_swtpm_has_the_same_structure(tmp_path: Path) -> None:
    """A TPM emulator and the real tool on this machine: their structure is read by the same lines."""
    attest = _swtpm_quote(tmp_path)

    assert _read_attest(attest).nonce.hex() == "abc123"


def _swtpm_quote(folder: Path) -> bytes:
    import socket
    import subprocess
    import time

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}", "--flags", "not-need-init,startup-clear"]
    command += ["--server", f"type=tcp,port={port}", "--ctrl", f"type=tcp,port={port + 1}"]
    server = subprocess.Popen(command)
    environment = {**os.environ, "TPM2TOOLS_TCTI": f"swtpm:host=127.0.0.1,port={port}"}

    def tool(*arguments: str) -> None:
        subprocess.run(arguments, check=True, env=environment, cwd=folder, timeout=30, stdout=subprocess.DEVNULL)

    try:
        time.sleep(0.5)
        tool("tpm2_createek", "-c", "ek.ctx", "-G", "ecc", "-u", "ek.pub")
        tool("tpm2_createak", "-C", "ek.ctx", "-c", "ak.ctx", "-G", "ecc", "-g", "sha256", "-s", "ecdsa")
        tool("tpm2_flushcontext", "-t")
        tool("tpm2_quote", "-c", "ak.ctx", "-l", "sha256:0,2,4,7", "-q", "abc123", "-m", "quote.bin", "-s", "quote.sig")
    finally:
        server.terminate()
        server.wait(10)
    return (folder / "quote.bin").read_bytes()
