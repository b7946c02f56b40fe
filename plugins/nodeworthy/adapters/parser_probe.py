"""The probe's parsers as a child process: one file's bytes in, one `nodeworthy.parsed/1` document out.

The product does not import the probe: what reads a tool's output on a node reads it here too, over the same document.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from nodeworthy.errors import Permanent, Refused

_TIMEOUT = timedelta(minutes=2)
_UNKNOWN_KIND = 2


class ProbeParser:
    """Runs `python -m nodeworthy_probe parse`; `probe` is the folder that holds the package."""

    def __init__(self, probe: Path) -> None:
        self._probe = probe

    def parse(self, kind: str, blob: bytes) -> Mapping[str, Any]:
        """Return the parsed document. Refused for an unknown kind, Permanent when the parser breaks."""
        path = os.pathsep.join(filter(None, (str(self._probe), os.environ.get("PYTHONPATH"))))
        try:
            done = subprocess.run(  # noqa: S603 - no shell, and the kind is checked by the child
                [sys.executable, "-m", "nodeworthy_probe", "parse", "--", kind, "-"],
                input=blob,
                capture_output=True,
                timeout=_TIMEOUT.total_seconds(),
                check=False,
                env={**os.environ, "PYTHONPATH": path},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Permanent(
                f"The parser for {kind} was started and did not end ({error}): report it with the file."
            ) from error
        if done.returncode == _UNKNOWN_KIND:
            raise Refused(f"{kind} is no kind of file that can be read: use {_kinds(done.stderr)}.")
        try:
            document: Mapping[str, Any] = json.loads(done.stdout)
        except ValueError as error:
            raise Permanent(
                f"The parser for {kind} broke ({_last_line(done.stderr)}): report it with the file."
            ) from error
        return document


def _kinds(text: bytes) -> str:
    """Return the kinds that the parsers know, from what the child says about one that they do not."""
    return ", ".join(re.findall(r"[a-z0-9-]+", text.decode("utf-8", "replace").rpartition("choose from")[2]))


def _last_line(text: bytes) -> str:
    return (text.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1][:400]
