"""Lemons: parts that fail more often than chance allows, known by serial wherever they are plugged in.

The number of faults that a part of the population's rate would have in its time of service is a Poisson variable. A
part is a lemon when as many faults as it had are so unlikely that hardly one false lemon is expected among all parts
that were looked at. Faults of one part in several places blame the part, of several parts in one place the place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartFault:
    """One confirmed fault: the part's serial and kind, and the place (node and slot) that it was in."""

    serial: str
    kind: str
    place: str


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What is known of all parts within a time: faults, days in service and the node that each is in now.

    Parts are named by (serial, kind); a part that is in no node now is absent from `now_in`.
    """

    faults: tuple[PartFault, ...]
    days: Mapping[tuple[str, str], float]
    now_in: Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class LemonRule:
    """How many false lemons may be expected per look at the fleet; fewer faults than `minimum` never count."""

    false_lemons: float
    minimum: int


@dataclass(frozen=True, slots=True)
class Lemon:
    """A part, or a place, that fails too often; `chance` is how likely a sound one has as many faults."""

    name: str
    kind: str
    faults: int
    expected: float
    chance: float
    is_place: bool
    sentence: str


def lemons(faults: Iterable[PartFault], days: Mapping[tuple[str, str], float], rule: LemonRule) -> tuple[Lemon, ...]:
    """Return parts and places that fail too often, the least likely first.

    `days` is the time in service of every part that was looked at, by (serial, kind); a serial without faults counts
    too, it makes the population's rate. A fault of a serial that `days` does not know is left out.
    """
    known = [fault for fault in faults if (fault.serial, fault.kind) in days]
    found = [lemon for kind in sorted({fault.kind for fault in known}) for lemon in _of_kind(kind, known, days, rule)]
    return tuple(sorted(found, key=lambda lemon: (lemon.chance, lemon.name)))


def _of_kind(
    kind: str, faults: Iterable[PartFault], days: Mapping[tuple[str, str], float], rule: LemonRule
) -> list[Lemon]:
    served = {serial: time for (serial, of_kind), time in days.items() if of_kind == kind and time > 0}
    own = [fault for fault in faults if fault.kind == kind]
    by_serial = Counter(fault.serial for fault in own)
    found = []
    for serial, count in by_serial.items():
        # The part's own faults are left out of the rate that it is compared with.
        rate = (len(own) - count + 1) / max(1.0, sum(served.values()) - served.get(serial, 0.0))
        expected = rate * served.get(serial, 0.0)
        chance = at_least(count, expected)
        if count >= rule.minimum and chance * len(served) <= rule.false_lemons:
            places = sorted({fault.place for fault in own if fault.serial == serial})
            sentence = (
                f"{kind} {serial} had {count} faults in {served[serial]:.0f} days in {', '.join(places)}, where "
                f"{expected:.2g} would be usual (1 in {1 / chance:.2g}): replace it and do not use it again"
            )
            found.append(Lemon(serial, kind, count, expected, chance, False, sentence))
    return found + _places(kind, own, served, rule)


def _places(kind: str, own: list[PartFault], served: Mapping[str, float], rule: LemonRule) -> list[Lemon]:
    """Return places in which several parts of one kind failed: the slot, riser or cable is to blame, not the parts."""
    by_place: dict[str, list[str]] = {}
    for fault in own:
        by_place.setdefault(fault.place, []).append(fault.serial)
    found = []
    for place, serials in by_place.items():
        parts = len(set(serials))
        expected = (len(own) - parts + 1) / max(1, len(served))
        chance = at_least(parts, expected)
        if parts >= rule.minimum and chance * len(served) <= rule.false_lemons:
            sentence = (
                f"{place} had faults with {parts} different parts ({kind}), where {expected:.2g} would be usual: "
                "look at the slot, riser, cable and power before replacing one more part"
            )
            found.append(Lemon(place, kind, parts, expected, chance, True, sentence))
    return found


def at_least(count: int, expected: float) -> float:
    """Return the chance that a Poisson variable with this mean is `count` or more."""
    if count <= 0:
        return 1.0
    if expected <= 0:
        return 0.0
    # Summed from `count` upwards: 1 minus the rest would lose all digits where the chance is small.
    term = math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
    total, step = 0.0, count
    while term > total * 1e-16 or step < expected:
        total += term
        step += 1
        term *= expected / step
    return min(1.0, total)
