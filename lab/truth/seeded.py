"""Stable made-up identities and noise: the same seed, node and purpose give the same value in every run."""

from __future__ import annotations

import hashlib
import uuid

_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def _digest(*what: object) -> bytes:
    return hashlib.blake2b("|".join(map(str, what)).encode(), digest_size=32).digest()


def token(length: int, *what: object) -> str:
    """An upper-case serial number of `length` characters."""
    number = int.from_bytes(_digest(*what))
    text = ""
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        text += _ALPHABET[rest]
    return text


def digits(length: int, *what: object) -> str:
    """A decimal serial number of `length` digits that does not begin with 0."""
    return str(10 ** (length - 1) + int.from_bytes(_digest(*what)) % (9 * 10 ** (length - 1)))


def identity(*what: object) -> str:
    """A version-4 shaped UUID in lower case."""
    return str(uuid.UUID(bytes=_digest(*what)[:16], version=4))


def mac(prefix: str, *what: object) -> str:
    """A MAC address below a three-byte vendor prefix such as `B8:3F:D2`."""
    return prefix + "".join(f":{byte:02X}" for byte in _digest(*what)[:3])


def fraction(*what: object) -> float:
    """A number from 0 (included) to 1 (not included)."""
    return int.from_bytes(_digest(*what)[:8]) / 2**64


def noisy(value: float, spread: float, *what: object) -> float:
    """`value` times 1 plus or minus at most `spread` (0.003 = 0.3 %)."""
    return value * (1.0 + spread * (2.0 * fraction(*what) - 1.0))
