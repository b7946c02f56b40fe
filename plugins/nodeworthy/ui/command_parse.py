"""`nodeworthy parse KIND FILE` and `nodeworthy explain KIND CODE`: what a file says, and what a code means.

`parse` prints one JSON document (`include/schemas/parsed-1.json`) with a verdict by the content of the file alone; its
scope is `content`, so no node is qualified by it. The exit status is 0 whenever the file could be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodeworthy.errors import Permanent, Refused
from nodeworthy.qualification.content import SCOPE, ContentContext, judge_content
from nodeworthy.wiring import REPOSITORY, setting

if TYPE_CHECKING:
    from nodeworthy.adapters.library_faults import FaultLibrary
    from nodeworthy.evidence.findings import Explanation

_NVLINK_WORDS = 2


def add_commands(commands: Any) -> None:
    """Add both commands to the parser's sub-commands."""
    parse = commands.add_parser("parse", help="print what a tool's output says, with a verdict by its content")
    parse.add_argument("kind", help="the kind of output, for example nccl-tests, dmesg, nvidia-smi")
    parse.add_argument("file", help="a file, or - for standard input")
    parse.add_argument("--sku", help="a SKU or a GPU's family: how many GPUs and what they can do")
    parse.add_argument("--gpus", type=int, help="how many GPUs the node should have")
    parse.add_argument("--ports", type=int, help="how many ports of the fabric the node should have, for ibstat")
    parse.add_argument("--line-rate", type=float, help="the port's line rate in Gb/s, for perftest")
    parse.set_defaults(act=parse_file)
    explain = commands.add_parser("explain", help="print what a code means, which rule decides, who disagrees")
    explain.add_argument("kind", choices=["xid", "sxid", "dcgm", "nvlink5", "redfish"])
    explain.add_argument("code", help="a number; for dcgm also a name; for redfish a MessageId")
    explain.add_argument("words", nargs="*", help="for nvlink5: IntrInfo and ErrorStatus in hex")
    explain.set_defaults(act=explain_code)
    for command in (parse, explain):
        command.add_argument("--pool", help="a pool whose own decisions (include/faults/pools) count")


def parse_file(given: argparse.Namespace) -> None:
    """Print the document of one file. Permanent when the file cannot be read."""
    from nodeworthy.adapters.parser_probe import ProbeParser

    library = _library()
    rules = library.rules()
    if given.sku and rules.family_of(given.sku.upper()) is None:
        known = ", ".join(family.name for family in rules.devices)
        raise Refused(f"{given.sku} names no family of GPUs that is known ({known}): correct it or leave it out.")
    parsed = dict(ProbeParser(Path(setting("PROBE", str(REPOSITORY / "probe")))).parse(given.kind, _blob(given.file)))
    context = ContentContext(given.sku, given.gpus, given.line_rate, given.ports)
    judged = judge_content(parsed, rules, library.catalogue(given.pool), context)
    document = {
        **parsed,
        "scope": SCOPE,
        "verdict": str(judged.verdict),
        "code": judged.code,
        "reason": judged.reason,
    }
    print(json.dumps(document, indent=1))


def explain_code(given: argparse.Namespace) -> None:
    """Print one catalogue entry. Refused when the code is unknown to every table."""
    catalogue = _library().catalogue(given.pool)
    details: dict[str, object] = {}
    kind, code = given.kind, given.code
    if kind == "nvlink5":
        if len(given.words) < _NVLINK_WORDS:
            raise Refused(
                "explain nvlink5 needs the Xid and two words, for example: explain nvlink5 145 0x00000004 0x00000040"
            )
        kind, details = "xid", {"words": given.words, "unit": ""}
    elif kind not in ("dcgm", "redfish") and not code.isdigit():
        raise Refused(f"{code} is no number: give the code as the log prints it, for example: explain xid 79")
    meaning = catalogue.explain(kind, code, details)
    if meaning.fault is None:
        raise Refused(
            f"{kind} {code} stands in no table ({catalogue.sources[kind]}): treat it as unknown and ask the vendor."
        )
    lines = _lines(meaning, catalogue.sources)
    if any(rule.kind == kind for rule in catalogue.since_boot):
        decides = catalogue.decides_since_boot(kind, meaning.fault.code)
        said = "keeps the node from passing until a reboot" if decides else "is recorded and decides nothing"
        lines.insert(-1, f"  before the tests, since the boot: {said}")
    print("\n".join(lines))


def _lines(meaning: Explanation, sources: Any) -> list[str]:
    fault = meaning.fault
    assert fault is not None
    facts = [f"class {fault.category}"]
    facts += [f"severity {fault.severity}"] if fault.severity else []
    facts += [f"fatal: {fault.fatal}"] if fault.fatal else []
    facts += [f"applies to {', '.join(fault.applies)}"] if fault.applies else []
    lines = [f"{meaning.kind} {fault.code}: {fault.name}", f"  {', '.join(facts)}"]
    if meaning.decoded is not None:
        row = meaning.decoded
        lines.append(f"  decoded: {row.unit}, {row.severity}, action {row.action}, then {row.investigate}")
    lines += [
        f"  recommended action: {meaning.action.name} ({meaning.action.advice})",
        f"  verdict of a test that saw it: {meaning.verdict.value}",
        f"  deciding rule: {meaning.rule}",
    ]
    if meaning.disagree:
        lines.append("  sources that disagree:")
        lines += [f"    {source}: {words}" for source, words in sorted(meaning.disagree.items())]
    elif fault.positions:
        lines.append(
            f"  no source disagrees: {', '.join(f'{name} {words}' for name, words in sorted(fault.positions.items()))}"
        )
    return [*lines, f"  table: {sources[meaning.kind]}"]


def _library() -> FaultLibrary:
    from nodeworthy.adapters.library_faults import FaultLibrary

    return FaultLibrary(Path(setting("INCLUDE", str(REPOSITORY / "include"))))


def _blob(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Permanent(
            f"{name} was to be read and cannot be ({error.strerror}): name a file, or - for standard input."
        ) from error
