"""Damage never passes, noise never changes a verdict, and nothing crashes a parser.

The quick tests try a few mutations of each family; the long one tries NODEWORTHY_MUTATIONS (a hundred thousand) per
family and writes what it found to `benchmarks/results/`.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nodeworthy_probe.content.kinds import KINDS, read

from tests.contract.content.damage import DESTRUCTIVE, NEUTRAL, Damage
from tests.contract.content.reading import ROOT, judged
from tests.data.content_seeds import SEEDS, Seed

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BY_NAME = {seed.name: seed for seed in SEEDS}


def _outcome(seed: Seed, damage: Damage, number: int) -> str | None:
    if damage in DESTRUCTIVE and damage.__name__ not in seed.damages:
        return None
    text = damage(seed, random.Random(number))
    return None if text is None or text == seed.text else judged(seed.kind, text).verdict.value


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_healthy_file_passes(name: str) -> None:
    """What fuzzing damages is whole before."""
    assert judged(BY_NAME[name].kind, BY_NAME[name].text).verdict.value == "pass"


@pytest.mark.parametrize("damage", DESTRUCTIVE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", sorted(BY_NAME))
@QUICK
@given(number=st.integers(0, 2**32))
def test_damage_never_passes(name: str, damage: Damage, number: int) -> None:
    """Cut, a row lost or doubled, NaN, another unit, a wrong count."""
    assert _outcome(BY_NAME[name], damage, number) != "pass"


@pytest.mark.parametrize("name", sorted(BY_NAME))
@QUICK
@given(number=st.integers(0, 2**32), damage=st.sampled_from(NEUTRAL))
def test_noise_changes_no_verdict(name: str, damage: Damage, number: int) -> None:
    """Host names, spaces, and lines of other programs."""
    assert _outcome(BY_NAME[name], damage, number) in ("pass", None)


@QUICK
@given(kind=st.sampled_from(KINDS), text=st.text(max_size=300), blob=st.binary(max_size=300))
def test_no_text_crashes_a_reader_and_none_passes(kind: str, text: str, blob: bytes) -> None:
    """Arbitrary text and bytes."""
    assert judged(kind, text).verdict.value != "pass"
    assert judged(kind, blob.decode("utf-8", "replace")).verdict.value != "pass"


@QUICK
@given(kind=st.sampled_from(KINDS), name=st.sampled_from(sorted(BY_NAME)))
def test_a_file_of_another_kind_never_passes(kind: str, name: str) -> None:
    """A reader that is given the wrong tool's output says so."""
    seed = BY_NAME[name]
    if seed.kind.startswith("dcgm-diag") and kind.startswith("dcgm-diag"):
        return
    if kind != seed.kind:
        assert judged(kind, seed.text).verdict.value != "pass"


@pytest.mark.long
@pytest.mark.timeout(0)
def test_many_mutations_of_every_family() -> None:
    """A hundred thousand mutated files per family; the result is a dated file."""
    wanted = int(os.environ.get("NODEWORTHY_MUTATIONS", "100000"))
    only = (
        os.environ.get("NODEWORTHY_FAMILIES", "").split(",") if os.environ.get("NODEWORTHY_FAMILIES") else list(KINDS)
    )
    families: dict[str, dict[str, int]] = {}
    began = time.monotonic()
    for kind in only:
        seeds = [seed for seed in SEEDS if seed.kind == kind]
        if seeds:
            families[kind] = _family(seeds, wanted)
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    report = {"date": datetime.now(UTC).date().isoformat(), "mutations_per_family": wanted,
              "seconds": round(time.monotonic() - began), "families": families}  # fmt: skip
    suffix = f"-{'-'.join(only)}" if len(only) < len(KINDS) else ""
    (folder / f"fuzz-content-{report['date']}{suffix}.json").write_text(
        json.dumps(report, indent=1) + "\n", encoding="utf-8"
    )
    assert sum(family["passed_though_damaged"] + family["changed_by_noise"] for family in families.values()) == 0


def _family(seeds: list[Seed], wanted: int) -> dict[str, int]:
    chance = random.Random(20261130)
    counts: Counter[str] = Counter(mutations=0, passed_though_damaged=0, changed_by_noise=0)
    for _ in range(40 * wanted):  # many a damage does not fit many a file
        seed, damage = chance.choice(seeds), chance.choice((*DESTRUCTIVE, *DESTRUCTIVE, *NEUTRAL))
        allowed = damage in NEUTRAL or damage.__name__ in seed.damages
        text = damage(seed, chance) if allowed else None
        if text is None or text == seed.text:
            continue
        counts["mutations"] += 1
        passed = judged(seed.kind, text).verdict.value == "pass"
        counts["passed_though_damaged"] += damage in DESTRUCTIVE and passed
        counts["changed_by_noise"] += damage in NEUTRAL and not passed
        if counts["mutations"] == wanted:
            break
    return dict(counts)


def test_the_reader_of_an_unknown_kind_is_refused() -> None:
    """A kind that no reader is for is a mistake of the caller."""
    with pytest.raises(KeyError):
        read("no-such-tool", "text")
