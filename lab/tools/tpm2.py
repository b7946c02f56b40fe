"""tpm2_quote and tpm2_pcrread of tpm2-tools 5.x, on the node's software TPM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.tools.view import NodeView, Output
from lab.tpm.pcrs import bank_of

_LONG = {
    "-c": "--key-context", "-l": "--pcr-list", "-q": "--qualification", "-m": "--message", "-s": "--signature",
    "-f": "--format", "-o": "--pcr", "-F": "--pcrs_format", "-g": "--hash-algorithm", "-Q": "--quiet",
}  # fmt: skip
_ALL = tuple(range(24))


class _Refused(Exception):
    """What the real tool would say before it ends with 1."""


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Dispatch; errors look like tpm2-tools' own."""
    try:
        return _quote(_options(arguments), view) if tool == "tpm2_quote" else _pcrread(arguments, view)
    except (_Refused, OSError) as error:
        return Output("", 1, 0.1, f"ERROR: {error}\nERROR: Unable to run {tool}\n")


def _options(arguments: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        options[_LONG.get(name, name)] = value if equals else next(rest, "")
    return options


def _selection(text: str) -> list[int]:
    bank, _, indexes = text.partition(":")
    if bank != "sha256":
        raise _Refused(f"the bank {bank} is not allocated")
    if indexes in ("", "all"):
        return list(_ALL)
    if not all(index.isdigit() and int(index) < len(_ALL) for index in indexes.split(",")):
        raise _Refused(f"Could not parse pcr list: {text}")
    return sorted({int(index) for index in indexes.split(",")})


def _quote(options: dict[str, str], view: NodeView) -> Output:
    from lab.tpm.software_tpm import SoftwareTpm  # heavy: cryptography

    given = Path(options.get("--key-context", ""))
    key = given if given.is_file() else view.folder / "tpm" / "iak.key"
    try:
        nonce = bytes.fromhex(options.get("--qualification", ""))
    except ValueError as error:
        raise _Refused("Invalid qualifying data") from error
    tpm = SoftwareTpm(key, view.document.get("tpm", {}))
    quote = tpm.quote(nonce, _selection(options.get("--pcr-list", "")), clock_ms=4000 + view.attempt("tpm2_quote"))
    files = {"--message": quote.attest, "--signature": quote.signature, "--pcr": b"".join(quote.pcrs.values())}
    for option, content in files.items():
        if options.get(option):
            Path(options[option]).write_bytes(content)
    lines = [f"quoted: {quote.attest.hex()}", "signature:", "  alg: ecdsa", f"  sig: {quote.signature.hex()}", "pcrs:",
             "  sha256:", *_pcr_lines(quote.pcrs), f"calcDigest: {quote.digest.hex()}"]  # fmt: skip
    return Output("\n".join(lines) + "\n", seconds=0.3)


def _pcrread(arguments: list[str], view: NodeView) -> Output:
    lists = [argument for argument in arguments if not argument.startswith("-")]
    bank = bank_of(view.document.get("tpm", {}))
    selection = _selection(lists[0]) if lists else list(_ALL)
    return Output(
        "  sha256:\n" + "\n".join(_pcr_lines({index: bank[index] for index in selection})) + "\n", seconds=0.1
    )


def _pcr_lines(pcrs: Mapping[int, bytes]) -> list[str]:
    return [f"    {index:<2}: 0x{value.hex().upper()}" for index, value in pcrs.items()]
