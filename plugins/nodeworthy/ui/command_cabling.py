"""`nodeworthy cabling FILE`: an InfiniBand fabric as ibnetdiscover saw it, against the fleet manifest's cables.

One line per difference: an adapter that is not in the fabric, one that is joined elsewhere, one without a planned
cable, one whose link is slower than most. The exit status is 1 when there are any, or when the file is not whole.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodeworthy.errors import Permanent, Refused
from nodeworthy.qualification.cabling import INFINIBAND, differences, links_of
from nodeworthy.wiring import REPOSITORY, setting, wiring

KIND = "ibnetdiscover"
SCHEMA = "nodeworthy.cabling/1"


def add_commands(commands: Any) -> None:
    """Add the command to the command line."""
    cabling = commands.add_parser("cabling", help="compare an InfiniBand fabric (ibnetdiscover) with the manifest")
    cabling.add_argument("file", help="what ibnetdiscover printed, or - for standard input")
    cabling.add_argument("--fleet", default="", help="the manifest; NODEWORTHY_FLEET when left out")
    cabling.add_argument("--json", action="store_true", help="the same for a program")
    cabling.set_defaults(act=compare)


def compare(given: argparse.Namespace) -> None:
    """Print every difference. Refused when there are any, the file is not whole, or the manifest plans no cable."""
    from nodeworthy.adapters.parser_probe import ProbeParser

    path = given.fleet or setting("FLEET", "")
    if not path:
        raise Refused("No manifest was named: give --fleet, or set NODEWORTHY_FLEET.")
    plan = {node.name: node.cabling for node in wiring().library.fleet(path)}
    planned = sum(cable.link == INFINIBAND for cables in plan.values() for cable in cables)
    if not planned:
        raise Refused(f"{path} plans no InfiniBand cable: give its cables `link: infiniband`.")
    document = ProbeParser(Path(setting("PROBE", str(REPOSITORY / "probe")))).parse(KIND, _blob(given.file))
    doubts = [finding["line"] for finding in document.get("findings", ())]
    if doubts:
        raise Refused(f"{given.file} is not a whole fabric ({doubts[0]}): run ibnetdiscover again.")
    found = differences(plan, links_of(document))
    if given.json:
        rows = [asdict(one) for one in found]
        print(json.dumps({"schema": SCHEMA, "planned": planned, "differences": rows}, indent=1))
    else:
        for one in found:
            print(f"{one.node} {one.device} {one.phrase}")
    said = f"{len(found)} differences from {planned} InfiniBand cables of the manifest"
    if found:
        raise Refused(f"The fabric is not cabled as planned: {said}.")
    if not given.json:
        print(f"The fabric is cabled as planned: {said}.")


def _blob(place: str) -> bytes:
    if place == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise Permanent(f"{place} cannot be read ({error.strerror}): correct the path.") from error
