"""``nodeworthy-probe parse KIND FILE``: one file in, one JSON document on standard output.

``-`` reads standard input. Exit codes: 0 the file was read, whatever it says; 1 it could not be
read; 2 the kind is unknown. No plan is needed and nothing is run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .kinds import KINDS, read


def main(arguments: list[str]) -> int:
    """Run the command; the reason of a refusal is one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="nodeworthy-probe parse", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("file")
    given = parser.parse_args(arguments)
    try:
        blob = sys.stdin.buffer.read() if given.file == "-" else Path(given.file).read_bytes()
    except OSError as error:
        sys.stderr.write(f"{given.file} cannot be read ({error.strerror}); name a file that exists, or - for input.\n")
        return 1
    sys.stdout.write(json.dumps(read(given.kind, blob.decode("utf-8", "replace")).document(), indent=1) + "\n")
    return 0
