"""One look at all GPUs of an AMD node through ``amd-smi``, printed as JSON on standard output.

Runs the tool once per part, because each prints another document; what a call printed stands there word for word.
Run it with ``python -m nodeworthy_probe.amd_snapshot``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SCHEMA = "nodeworthy.amd-smi-snapshot/1"
TOOL = "amd-smi"
CALLS = {
    "static": ("static",),
    "metric": ("metric",),
    "bad_pages": ("bad-pages",),
    "xgmi": ("xgmi", "--link-status"),
}


def main() -> int:
    """Print the snapshot; 127 without the tool (the reason goes to standard error)."""
    try:
        calls = {name: _call(arguments) for name, arguments in CALLS.items()}
    except OSError as error:
        sys.stderr.write(f"this node has no {TOOL}: its GPUs are not AMD's, or ROCm is not in the pod ({error})\n")
        return 127
    sys.stdout.write(json.dumps({"schema": SCHEMA, "calls": calls}, indent=1) + "\n")
    return 0


def _call(arguments: tuple[str, ...]) -> dict[str, Any]:
    done = subprocess.run([TOOL, *arguments, "--json"], capture_output=True, text=True, errors="replace", check=False)
    return {"exit_code": done.returncode, "text": done.stdout, "error": done.stderr[-400:]}


if __name__ == "__main__":
    sys.exit(main())
