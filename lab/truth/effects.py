"""What was done to the fleet, counted from outside: the lab's own record of every effect, by effect id.

Tests read it to prove that nothing was done twice, whatever the product's ledger says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Effect:
    """One change that somebody made; `effect_id` is the X-Nodeworthy-Effect it carried, if any."""

    number: int
    at: datetime
    kind: str
    node: str
    effect_id: str | None
    detail: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The JSON form that `lab status --effects` shows."""
        return {
            "number": self.number,
            "at": self.at.isoformat(),
            "kind": self.kind,
            "node": self.node,
            "effect_id": self.effect_id,
            **self.detail,
        }


class EffectLog:
    """An append-only list of effects."""

    def __init__(self) -> None:
        self._rows: list[Effect] = []

    def add(self, at: datetime, kind: str, node: str, effect_id: str | None, detail: dict[str, Any]) -> Effect:
        """Append one effect and return it."""
        effect = Effect(len(self._rows) + 1, at, kind, node, effect_id, detail)
        self._rows.append(effect)
        return effect

    def after(self, number: int) -> list[Effect]:
        """The effects that came after the one of this number, in order."""
        return self._rows[number:]

    def __iter__(self) -> Iterator[Effect]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def counts(self) -> dict[str, int]:
        """How many effects of each kind there were."""
        return dict(sorted(Counter(row.kind for row in self._rows).items()))
