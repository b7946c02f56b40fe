"""Reads what ``tpm2_quote`` prints: the attested structure, the signature and the PCR values.

The output is YAML of a fixed shape; it is read line by line so that the probe needs no YAML
library. Nothing is verified here: that is the work of the party that chose the nonce.
Source: tpm2-tools 5.x tpm2_quote(1); TCG TPM 2.0 Library Part 2, TPMS_ATTEST.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FIELD = re.compile(r"^(?P<indent> *)(?P<name>[A-Za-z0-9_]+) ?: ?(?P<value>\S*)\s*$")
_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_MAGIC_AND_TYPE = bytes.fromhex("ff5443478018")  # TPM_GENERATED_VALUE, TPM_ST_ATTEST_QUOTE
_DIGEST_BYTES = {"sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}


@dataclass(frozen=True)
class Quote:
    """One quote as printed; ``pcrs`` maps bank to index to lower-case hex."""

    quoted: bytes
    signature_algorithm: str
    signature: bytes
    pcrs: Mapping[str, Mapping[str, str]]
    digest: str


def parse(text: str) -> Quote | str:
    """The quote, or a sentence that says what is missing or unreadable."""
    if not text.endswith("\n"):
        return "the output stops in the middle of a line"
    fields, pcrs = _fields(text)
    if isinstance(pcrs, str):
        return pcrs
    quoted, signature = _bytes(fields.get("quoted")), _bytes(fields.get("sig"))
    if quoted is None or signature is None or not quoted.startswith(_MAGIC_AND_TYPE):
        return "the quote or its signature is missing or unreadable"
    digest = _bytes(fields.get("calcDigest"))
    if not pcrs or digest is None:
        return "the PCR values or their digest are missing"
    if digest not in quoted:
        return "the digest of the PCR values is not the one that was quoted"
    return Quote(quoted, fields.get("alg", ""), signature, pcrs, digest.hex())


def _fields(text: str) -> tuple[dict[str, str], dict[str, dict[str, str]] | str]:
    fields: dict[str, str] = {}
    pcrs: dict[str, dict[str, str]] = {}
    bank: str | None = None
    for line in text.splitlines():
        found = _FIELD.match(line)
        if found is None:
            continue
        indent, name, value = len(found["indent"]), found["name"], found["value"]
        if indent >= 4 and bank and name.isdigit():
            digest = _bytes(value)
            if digest is None or len(digest) != _DIGEST_BYTES[bank]:
                return fields, f"PCR {name} of bank {bank} is unreadable"
            pcrs[bank][str(int(name[:3]))] = digest.hex()
        elif indent == 2 and name in _DIGEST_BYTES and not value:
            bank = name
            pcrs[bank] = {}
        else:
            bank = bank if indent else None
            fields.setdefault(name, value)
    return fields, pcrs


def _bytes(value: str | None) -> bytes | None:
    found = _HEX.fullmatch(value) if value else None
    return bytes.fromhex(found[1]) if found else None
