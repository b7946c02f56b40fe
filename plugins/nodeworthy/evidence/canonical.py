"""One byte sequence per value: what is hashed, signed and compared is always this form.

Canonical JSON here means UTF-8, sorted keys, no spaces, no NaN or Infinity, one line feed at the end; a value that has
no such form is refused. Two runs that saw the same evidence therefore write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value. ValueError for NaN and Infinity, TypeError for what is not JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def sha256_hex(content: bytes) -> str:
    """Return the SHA-256 of bytes in lower-case hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def without_nan(value: Any) -> Any:
    """Return a JSON value in which NaN and Infinity, which JSON has no form for, are null."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
