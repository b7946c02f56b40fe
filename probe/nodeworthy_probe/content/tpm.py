"""tpm2-tools: PCR values, quotes and the check of a quote.

Only the sha256 bank counts; a bank of zeros was never extended. tpm2_checkquote prints the PCR
values first and its errors last, so the errors decide. A TPM that cannot be reached is a fault of
the way to it, not of the platform's state.
"""

from __future__ import annotations

import hashlib
import re

from nodeworthy_probe.parsers import tpm_quote

from .sheet import Sheet

TOOL = "tpm2-tools"
_BANK = re.compile(r"^\s*(sha1|sha256|sha384|sha512)\s*:\s*$")
_PCR = re.compile(r"^\s+(\d{1,2})\s*:\s*(\S+)\s*$")
_DIGITS = {"sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}
_BOOT = ("0", "2", "4", "7")
_REFUSED = re.compile(r"validating nonce|Verify signature failed|Failed to validate|si"
                      r"gnature.*(?:mismatch|invalid|failed)|"
                      r"digest.*(?:mismatch|not match)|PCR.*(?:mismatch|not match)", re.IGNORECASE)  # fmt: skip


def read(text: str, sheet: Sheet) -> None:
    """Read PCRs, quote and errors."""
    banks = _banks(text, sheet)
    errors = re.findall(r"^(?:ERROR|WARNING)[: ].*$", text, re.MULTILINE)
    refused = [line for line in errors if _REFUSED.search(line)]
    for line in errors:
        if line in refused:
            sheet.note("security/quote-refused", "tpm", line)
        elif line.startswith("ERROR") and not refused:
            sheet.note("tool/failed", "tpm", line)
    if re.search(r"^quoted:", text, re.MULTILINE) or re.search(r"^calcDigest:", text, re.MULTILINE):
        _quote(text, sheet)
    elif "EventNum:" in text:
        sheet.tool = "tpm2_eventlog"
        if not banks:
            sheet.note("document/cut", "tpm", "the PCRs at the end of the event log are missing")
        _boot(banks, sheet, of_events=True)
    elif not errors or banks:
        _boot(banks, sheet)


def _banks(text: str, sheet: Sheet) -> dict[str, dict[str, str]]:
    banks: dict[str, dict[str, str]] = {}
    bank = ""
    for line in text.splitlines():
        if found := _BANK.match(line):
            bank = found[1]
            if bank in banks:
                sheet.note("document/duplicate", bank, f"the bank {bank} is there twice")
            banks.setdefault(bank, {})
        elif bank and (found := _PCR.match(line)):
            _pcr(bank, found[1], found[2], banks, sheet)
        elif line and not line.startswith(" "):
            bank = ""
    for name, values in banks.items():
        zeros = sum(set(value) <= {"0"} for value in values.values())
        sheet.number(f"pcr/{name}", "pcrs", len(values), "count")
        sheet.number(f"pcr/{name}", "zero_pcrs", zeros, "count")
    return banks


def _pcr(bank: str, index: str, raw: str, banks: dict[str, dict[str, str]], sheet: Sheet) -> None:
    value = raw.lower().removeprefix("0x")
    if len(value) != _DIGITS[bank] or not re.fullmatch(r"[0-9a-f]+", value):
        sheet.note("row/unreadable", f"pcr/{bank}/{index}", f"PCR {index} of {bank} is {raw[:80]}")
        return
    if index in banks[bank]:
        sheet.note("document/duplicate", f"pcr/{bank}/{index}", f"PCR {index} of {bank} is there twice")
    banks[bank][index] = value
    sheet.text(f"pcr/{bank}/{index}", "value", value)


def _boot(banks: dict[str, dict[str, str]], sheet: Sheet, *, of_events: bool = False) -> None:
    """An event log lists the PCRs that it extends, and nothing extends all of them."""
    sha256 = banks.get("sha256")
    if not sha256:
        sheet.note("row/missing", "tpm", "there is no PCR of the sha256 bank")
        return
    if all(set(value) <= {"0"} for value in sha256.values()):
        sheet.note("security/zero-bank", "pcr/sha256", "the sha256 bank is all zero: nothing was measured into it")
    for index in _BOOT:
        if index not in sha256:
            sheet.note("row/missing", f"pcr/sha256/{index}", f"PCR {index} is missing")
        elif set(sha256[index]) <= {"0"}:
            sheet.note("security/zero-pcr", f"pcr/sha256/{index}", f"PCR {index} is zero")
    _unused(banks, sheet)
    if not of_events:
        _gaps(sha256, sheet)


def _unused(banks: dict[str, dict[str, str]], sheet: Sheet) -> None:
    for name in set(banks) - {"sha256"}:
        if all(set(value) <= {"0"} for value in banks[name].values()):
            sheet.note("note/zero-bank", f"pcr/{name}", f"the bank {name} is allocated and unused")


def _gaps(sha256: dict[str, str], sheet: Sheet) -> None:
    numbers = sorted(int(index) for index in sha256)
    if len(numbers) > len(_BOOT) and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        sheet.note("row/missing", "pcr/sha256", f"PCRs are missing between {numbers[0]} and {numbers[-1]}")


def _quote(text: str, sheet: Sheet) -> None:
    sheet.tool = "tpm2_quote"
    quote = tpm_quote.parse(text)
    if isinstance(quote, str):
        code = "document/contradiction" if "not the one" in quote else "document/cut"
        sheet.note(code, "tpm", quote)
        return
    sheet.text("tpm", "digest", quote.digest)
    sheet.text("tpm", "signature_algorithm", quote.signature_algorithm)
    values = b"".join(
        bytes.fromhex(value)
        for bank in quote.pcrs.values()
        for _, value in sorted(bank.items(), key=lambda item: int(item[0]))
    )
    if hashlib.sha256(values).hexdigest() != quote.digest:
        sheet.note("document/contradiction", "tpm", "the PCR values do not hash to the digest that was quoted")
    _boot({bank: dict(pcrs) for bank, pcrs in quote.pcrs.items() if pcrs}, sheet)
