"""Resource quantities (`1500m`, `2Gi`, `8`): parsing and adding, as in apimachinery's resource.Quantity."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$")


def parse(text: Any) -> Fraction:
    """The exact value; ValueError when it is no quantity."""
    match = _FORM.match(str(text))
    if not match:
        raise ValueError(f"{text!r} is not a quantity")
    number = Fraction(match[1])
    return number * Fraction(10) ** int(match[2][1:]) if match[2] else number * _SUFFIXES[match[3] or ""]
