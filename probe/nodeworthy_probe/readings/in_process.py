"""Tests that only read files, by the name that a plan gives them as their tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nodeworthy_probe.records import Reading

from . import pci
from .context import Context

READERS: Mapping[str, Callable[[Context, Path], tuple[dict[str, Any], Reading]]] = {**pci.READERS}
"""Each returns what it saw, which is kept as evidence, and what that says."""
