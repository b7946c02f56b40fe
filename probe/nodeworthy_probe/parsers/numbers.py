"""Strict numbers: what Python accepts and a tool would never print is refused."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


def finite(text: object) -> float | None:
    """The finite decimal number in ``text`` (a string or a number), else None."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return _finite_float(text)
    if not isinstance(text, str) or not _NUMBER.fullmatch(text.strip()):
        return None
    return _finite_float(text.strip())


def _finite_float(raw: str | float) -> float | None:
    try:
        value = float(raw)
    except (OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None


def rounding_step(text: str) -> float:
    """Half of the last decimal place of a printed number: how far rounding may have moved it."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(0.5 * 10.0 ** (-decimals + min(int(exponent or "0"), 300)))


def close(value: float, other: float, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree within either tolerance."""
    return abs(value - other) <= max(absolute, relative * max(abs(value), abs(other)))
