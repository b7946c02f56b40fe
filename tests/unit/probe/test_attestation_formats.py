"""The readers of quote and boot log take whole documents only."""

from __future__ import annotations

import hashlib
import struct

import pytest
from nodeworthy_probe.parsers import event_log, tpm_quote

PCR0, PCR1 = "AB" * 32, "00" * 32
DIGEST = hashlib.sha256(bytes.fromhex(PCR0 + PCR1)).hexdigest()
QUOTED = "ff5443478018" + "00" * 20 + DIGEST
QUOTE = f"""\
quoted: {QUOTED}
signature:
  alg: ecdsa
  sig: 3006020101020101
pcrs:
  sha256:
    0 : 0x{PCR0}
    1 : 0x{PCR1}
calcDigest: {DIGEST}
"""


def test_a_quote_is_read_with_its_pcrs() -> None:
    """Bytes, signature and lower-case PCR values by bank and index."""
    quote = tpm_quote.parse(QUOTE)

    assert isinstance(quote, tpm_quote.Quote)
    assert quote.quoted.hex() == QUOTED
    assert quote.signature_algorithm == "ecdsa"
    assert quote.pcrs == {"sha256": {"0": PCR0.lower(), "1": PCR1}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ERROR: no TPM\n",
        QUOTE[:-3],
        QUOTE.replace("ff544347", "00000000"),
        QUOTE.replace("  sig: 3006020101020101\n", ""),
        QUOTE.replace(PCR0, PCR0[:-2]),
        QUOTE.replace(f"calcDigest: {DIGEST}", f"calcDigest: {'12' * 32}"),
        QUOTE.replace("pcrs:\n  sha256:\n", ""),
    ],
)
def test_a_torn_quote_is_refused(text: str) -> None:
    """Missing parts, a foreign structure and short digests give a sentence."""
    assert isinstance(tpm_quote.parse(text), str)


def _log(*events: tuple[int, int, bytes, bytes]) -> bytes:
    header = b"Spec ID Event03\x00" + struct.pack("<IBBBB", 0, 0, 2, 0, 2)
    header += struct.pack("<IHHHH", 2, 0x0004, 20, 0x000B, 32) + b"\x00"
    log = struct.pack("<II20sI", 0, 3, bytes(20), len(header)) + header
    for pcr, kind, digest, data in events:
        log += struct.pack("<IIIH", pcr, kind, 2, 0x0004) + bytes(20) + struct.pack("<H", 0x000B) + digest
        log += struct.pack("<I", len(data)) + data
    return log


def test_the_boot_log_gives_the_sha256_events() -> None:
    """Two banks announced; events that extend nothing are left out."""
    log = _log(
        (0, 0x8, b"\x11" * 32, b"1.2.3"), (0, 0x3, b"\x22" * 32, b"note"), (4, 0x80000003, b"\x33" * 32, b"\xff\x00")
    )

    events = event_log.parse(log)

    assert not isinstance(events, str)
    assert [(event.pcr, event.kind, event.digest_sha256, event.description) for event in events] == [
        (0, "EV_S_CRTM_VERSION", "11" * 32, "1.2.3"),
        (4, "EV_EFI_BOOT_SERVICES_APPLICATION", "33" * 32, "ff00"),
    ]


def test_every_cut_of_a_boot_log_is_noticed() -> None:
    """Only cuts between records can go unseen; the replay then fails to match the quote."""
    log = _log((0, 0x8, b"\x11" * 32, b"1.2.3"), (4, 0x8, b"\x33" * 32, b"x"))
    whole = {len(_log()), len(_log((0, 0x8, b"\x11" * 32, b"1.2.3"))), len(log)}

    unnoticed = {size for size in range(len(log) + 1) if not isinstance(event_log.parse(log[:size]), str)}

    assert unnoticed == whole
