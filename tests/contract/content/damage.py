"""Ways to damage a healthy file, and ways to change it that mean nothing.

Each takes a seed and a random source, and gives the new text or None where the seed offers nothing to change.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from tests.data.content_seeds import Seed

_NUMBER = re.compile(r"(?<![\w.:/-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.:])")
_UNITS = {
    "GB/s": "MB/s",
    "Gb/sec": "MB/sec",
    "Gflop/s": "Tflop/s",
    "MiB": "GiB",
    "MB/s": "GB/s",
    "seconds": "minutes",
    "Gflops": "Tflops",
}
_UNIT = re.compile("|".join(rf"(?<![\w/]){re.escape(unit)}(?![\w/])" for unit in _UNITS))
_NOISE = (
    "2026-11-30 10:00:00 gpu-node-7 systemd[1]: Started session 4 of user root.",
    "Nov 30 10:00:01 gpu-node-7 sshd[4242]: Accepted publickey for root",
    "INFO waiting for 3 of 8 workers",
    "Handling connection for 9400",
)
Damage = Callable[[Seed, random.Random], "str | None"]


def _rows(seed: Seed) -> tuple[list[str], list[int]]:
    lines = seed.text.splitlines(keepends=True)
    return lines, [place for place, line in enumerate(lines) if re.search(seed.rows, line)]


def cut(seed: Seed, chance: random.Random) -> str | None:
    """The file ends too early."""
    end = seed.text.rindex(seed.cut_after) + len(seed.cut_after) if seed.cut_after else len(seed.text) - 2
    place = chance.randrange(seed.cut_from, end)
    return (
        None
        if seed.whole_before and seed.text[place:].lstrip("\n").startswith(seed.whole_before)
        else seed.text[:place]
    )


def drop(seed: Seed, chance: random.Random) -> str | None:
    """A row is not there."""
    lines, rows = _rows(seed)
    place = chance.choice(rows)
    return "".join(lines[:place] + lines[place + 1 :])


def double(seed: Seed, chance: random.Random) -> str | None:
    """A row is there twice."""
    lines, rows = _rows(seed)
    place = chance.choice(rows)
    return "".join(lines[: place + 1] + lines[place:])


def not_a_number(seed: Seed, chance: random.Random) -> str | None:
    """A number of a row is none."""
    lines, rows = _rows(seed)
    spots = [(place, found.span()) for place in rows for found in _NUMBER.finditer(lines[place])]
    if not spots:
        return None
    place, (start, end) = chance.choice(spots)
    lines[place] = lines[place][:start] + chance.choice(["NaN", "nan", "-nan"]) + lines[place][end:]
    return "".join(lines)


def other_unit(seed: Seed, chance: random.Random) -> str | None:
    """A row is in another unit."""
    lines, rows = _rows(seed)
    spots = [(place, found) for place in rows for found in _UNIT.finditer(lines[place])]
    if not spots:
        return None
    place, found = chance.choice(spots)
    lines[place] = lines[place][: found.start()] + _UNITS[found[0]] + lines[place][found.end() :]
    return "".join(lines)


def wrong_count(seed: Seed, chance: random.Random) -> str | None:
    """A count in the file is not that of its rows."""
    if not seed.counts:
        return None
    old, new = chance.choice(seed.counts)
    assert old in seed.text
    return seed.text.replace(old, new, 1)


def noise(seed: Seed, chance: random.Random) -> str | None:
    """Another program logs between the lines, or before a document."""
    lines = seed.text.splitlines(keepends=True)
    if seed.kind in ("dmesg", "fabric-manager") or seed.text.startswith("<"):
        return None  # a log is made of such lines
    for _ in range(chance.randrange(1, 5)):
        lines.insert(chance.randrange(len(lines)) if seed.noise else 0, chance.choice(_NOISE) + "\n")
    return "".join(lines)


def other_names(seed: Seed, chance: random.Random) -> str | None:
    """The host has another name."""
    return seed.text.replace("gpu-node-1", f"rack{chance.randrange(1000)}-u{chance.randrange(48)}")


def spaces(seed: Seed, chance: random.Random) -> str | None:
    """Lines end in spaces; documents are indented differently."""
    if seed.text.startswith("{") and seed.kind != "dcgm-health":
        return json.dumps(json.loads(seed.text), indent=chance.randrange(5)) + "\n"
    lines = [line.rstrip("\n") + " " * chance.randrange(3) + "\n" for line in seed.text.splitlines()]
    return "".join(lines)


DESTRUCTIVE: tuple[Damage, ...] = (cut, drop, double, not_a_number, other_unit, wrong_count)
NEUTRAL: tuple[Damage, ...] = (noise, other_names, spaces)
