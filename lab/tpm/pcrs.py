"""The sha256 bank: which values the PCRs hold after a measured boot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

COUNT = 24
_ZERO = bytes(32)
_UNSEEN = hashlib.sha256(b"nodeworthy-lab:an event that the log does not show").digest()


def replay(events: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Extend 24 zero PCRs with the events: new = SHA-256(old || digest)."""
    bank = [_ZERO] * COUNT
    for event in events:
        index = int(event["pcr"])
        bank[index] = hashlib.sha256(bank[index] + bytes.fromhex(event["digest_sha256"])).digest()
    return bank


def bank_of(tpm: Mapping[str, Any]) -> list[bytes]:
    """The PCRs of a view's ``tpm`` entry, with its fault applied."""
    fault = tpm.get("fault")
    if fault == "zero-bank":
        return [_ZERO] * COUNT
    events = list(tpm.get("events", []))
    if fault == "extra-event":
        events.append({"pcr": 4, "digest_sha256": _UNSEEN.hex()})
    return replay(events)
