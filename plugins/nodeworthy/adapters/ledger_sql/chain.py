"""The audit's hash chain: every row carries SHA-256 over the row before it and its own canonical JSON.

Canonical means: keys sorted, no spaces, UTF-8, no NaN. A changed, missing or reordered row breaks the chain; a cut-off
end differs from the head that the node's row carries. Whoever may rewrite whole chains is caught by signed checkpoints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from nodeworthy.errors import Permanent

GENESIS: Final = "0" * 64
"""What the first row of a node calls the row before it."""

_SECRET_WORDS: Final = ("password", "passphrase", "private_key", "secret", "token", "authorization")


def canonical(value: object) -> str:
    """Return canonical JSON. Raises Permanent for NaN, for what JSON cannot hold and for a key that names a secret."""
    _refuse_secrets(value)
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
        )
    except (TypeError, ValueError) as error:
        raise Permanent(
            f"The ledger cannot store this as JSON ({error}): hand over finite numbers, texts and times."
        ) from error


def link(
    node: str, sequence: int, at: datetime, action: str, detail: Mapping[str, Any], previous: str
) -> dict[str, Any]:
    """Return the next row of a node's chain."""
    row: dict[str, Any] = {
        "node": node,
        "sequence": sequence,
        "at": at.astimezone(UTC).isoformat(timespec="microseconds"),
        "action": action,
        "detail": canonical(detail),
        "previous": previous,
    }
    return {**row, "hash": _hash(row)}


def breaks(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return one sentence for each place where a node's chain, in order of sequence, does not hold."""
    previous, expected = GENESIS, 1
    for row in rows:
        named = f"audit row {row['sequence']} of {row['node']}"
        if row["sequence"] != expected:
            yield f"{named} follows row {expected - 1}: rows are missing or were reordered."
        if row["previous"] != previous:
            yield f"{named} does not continue the row before it: one of the two was replaced."
        if row["hash"] != _hash({key: row[key] for key in ("node", "sequence", "at", "action", "detail", "previous")}):
            yield f"{named} was changed after it was written: its hash differs."
        previous, expected = row["hash"], row["sequence"] + 1


def _hash(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{row['previous']}\n{text}".encode()).hexdigest()


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"a {type(value).__name__}")


def _refuse_secrets(value: object) -> None:
    if isinstance(value, Mapping):
        for key, content in value.items():
            if str(key).lower() in _SECRET_WORDS:
                raise Permanent(f"The ledger stores no secrets and `{key}` names one: leave it out.")
            _refuse_secrets(content)
    elif isinstance(value, list | tuple):
        for content in value:
            _refuse_secrets(content)
