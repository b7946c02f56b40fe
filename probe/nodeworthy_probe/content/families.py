"""The family that a product's or a GPU's name belongs to, the most specific first."""

from __future__ import annotations

import re

_FAMILIES = ("GB300", "GB200", "GH200", "B300", "B200", "H200", "H100", "H800", "H20", "A100", "A800", "A10G", "A10",
    "L40S", "L40",
             "L4", "T4", "V100", "MI355X", "MI350X", "MI325X", "MI300X", "MI300A", "MI250X")  # fmt: skip


def family(name: str) -> str | None:
    """``GB200`` for "GB200 NVL"; None for a name that holds no known family."""
    return next((known for known in _FAMILIES if re.search(rf"(?<![A-Z0-9]){known}(?![0-9])", name)), None)
