"""The TPM quote with everything a verifier needs beside it: event log and key certificate."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from nodeworthy_probe.parsers import event_log, tpm_quote
from nodeworthy_probe.parsers.tpm_quote import Quote
from nodeworthy_probe.records import Reading

from .context import Context

EVENT_LOG = ("NODEWORTHY_EVENT_LOG_FILE", "/sys/kernel/security/tpm0/binary_bios_measurements")
CERTIFICATE = ("NODEWORTHY_IAK_CERTIFICATE_FILE", "/etc/nodeworthy/iak.pem")
KEY_CONTEXT = ("NODEWORTHY_TPM_KEY", "0x81010002")
_ALGORITHMS = {"ecdsa": "ecdsa-p256-sha256", "rsassa": "rsassa-sha256"}
_DEFAULT_PCRS = (0, 2, 4, 7)  # firmware, option ROMs, boot loader, secure boot


def command(context: Context, folder: Path) -> list[str]:
    """The command line of ``tpm2_quote``; its files go to ``folder``."""
    parameters = context.test.parameters
    pcrs = parameters.get("pcrs") or _DEFAULT_PCRS
    key = str(parameters.get("key_context") or os.environ.get(KEY_CONTEXT[0]) or KEY_CONTEXT[1])
    return [
        context.test.tool,
        "--key-context", key,
        "--pcr-list", "sha256:" + ",".join(str(int(pcr)) for pcr in pcrs),
        "--hash-algorithm", "sha256",
        "--qualification", context.plan.nonce,
        "--message", str(folder / "quote.bin"),
        "--signature", str(folder / "signature.der"),
        "--format", "plain",
        *context.test.arguments,
    ]  # fmt: skip


def read(text: str, context: Context, folder: Path) -> Reading:
    """The attestation, or the reason why there is none."""
    quote = tpm_quote.parse(text)
    if isinstance(quote, str):
        return Reading(problem=quote)
    if _file(folder / "quote.bin") != quote.quoted:
        return Reading(problem="the quote file differs from the printed quote")
    algorithm = _ALGORITHMS.get(quote.signature_algorithm)
    signature = _file(folder / "signature.der")
    if algorithm is None or not signature:
        return Reading(problem=f"the signature ({quote.signature_algorithm or 'of unknown kind'}) cannot be used")
    events = event_log.parse(_file(_place(EVENT_LOG)) or b"")
    certificate = _file(_place(CERTIFICATE)) or b""
    if isinstance(events, str):
        return Reading(problem=f"{events} ({_place(EVENT_LOG)})")
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return Reading(problem=f"the attestation key's certificate is missing ({_place(CERTIFICATE)})")
    return Reading(
        attestation={
            "quote_base64": base64.b64encode(quote.quoted).decode("ascii"),
            "signature_base64": base64.b64encode(signature).decode("ascii"),
            "signature_algorithm": algorithm,
            "iak_certificate_pem": certificate.decode("ascii", "replace"),
            "pcrs": {bank: dict(values) for bank, values in quote.pcrs.items()},
            "event_log": [
                {"pcr": event.pcr, "type": event.kind, "digest_sha256": event.digest_sha256,
                 "description": event.description}
                for event in events
            ],
            "nonce": context.plan.nonce,
        },
        lines=(_line(quote, len(events)),),
    )  # fmt: skip


def _place(variable: tuple[str, str]) -> Path:
    return Path(os.environ.get(variable[0]) or variable[1])


def _file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _line(quote: Quote, events: int) -> str:
    extended = sum(set(value) != {"0"} for values in quote.pcrs.values() for value in values.values())
    return f"quote of {len(quote.quoted)} bytes over {extended} extended PCRs, {events} boot events; not verified here"
