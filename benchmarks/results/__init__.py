"""Dated results, and how they are written."""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def write(result: dict[str, Any], text: str, *, keep: bool) -> None:
    """Print a result, and with `keep` store it."""
    sys.stdout.write(text)
    if keep:
        store(result, text)


def store(result: dict[str, Any], text: str) -> None:
    """Store a result as `<benchmark>-<date>.md` and `.json`; the same day replaces it."""
    date = datetime.now(UTC).date().isoformat()
    machine = {"date": date, "python": platform.python_version(), "machine": platform.machine()}
    stem = f"{result['benchmark']}-{date}"
    (HERE / f"{stem}.md").write_text(text, encoding="utf-8")
    (HERE / f"{stem}.json").write_text(json.dumps({**machine, **result}, indent=1) + "\n", encoding="utf-8")
