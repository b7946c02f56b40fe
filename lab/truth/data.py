"""Reads the lab's own data files (lab/data/); the only place that knows where they lie."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent / "data"


@cache
def load(name: str) -> Any:
    """The parsed YAML file `name` below lab/data/; callers must not change it."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
