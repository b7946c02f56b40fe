"""The rules for a verdict by content alone, as frozen values of `include/faults/content.yaml` and `physics.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodeworthy.evidence.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Limit:
    """A measurement above `above` (in the metric's own unit) asks for `verdict`."""

    kind: str
    metric: str
    above: float
    verdict: Verdict
    source: str
    when: str | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """Results that differ only in `parameter` must differ by `least_effect_percent`."""

    kind: str
    metric: str
    parameter: str
    same: tuple[str, ...]
    least_effect_percent: float


@dataclass(frozen=True, slots=True)
class LineRate:
    """Which figures belong to a port of a known rate, Gb/s."""

    kind: str
    metric: str
    rates_gbps: tuple[float, ...]
    least_share: float
    most_share: float


@dataclass(frozen=True, slots=True)
class Family:
    """What a family of GPUs has and cannot exceed; `limits` by name, units in the names."""

    name: str
    pattern: re.Pattern[str]
    gpus: int
    nvlinks: int
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Which measurement is held against which limit of its family."""

    pattern: re.Pattern[str]
    unit: str
    scale: float
    limit: str
    statistic: str | None
    kinds: tuple[str, ...]
    nodes: int | None


@dataclass(frozen=True, slots=True)
class ContentRules:
    """All rules; `order` holds the verdicts other than pass, the gravest first."""

    order: tuple[Verdict, ...]
    families: Mapping[str, Verdict]
    codes: Mapping[str, Verdict]
    limits: Sequence[Limit]
    near_miss_percent: float
    switches: Sequence[Switch]
    line_rate: LineRate
    counted_kinds: tuple[str, ...]
    plausible_counts: tuple[int, ...]
    devices: Sequence[Family]
    ceilings: Sequence[Ceiling]

    def verdict_of(self, code: str) -> Verdict:
        """The verdict that a note asks for: by its code, else its family; an unknown family is incomplete."""
        return self.codes.get(code) or self.families.get(code.split("/", 1)[0], Verdict.INCOMPLETE)

    def family_of(self, model: str) -> Family | None:
        """The family of a GPU's name, the first in the file that fits."""
        return next((family for family in self.devices if family.pattern.search(model)), None)


def rules_from_documents(content: Mapping[str, Any], physics: Mapping[str, Any]) -> ContentRules:
    """The rules of checked documents (`content-rules-1.json`, `physics-1.json`)."""
    rate, counts = content["line_rate"], content["gpu_counts"]
    return ContentRules(
        order=tuple(Verdict(word) for word in content["order"]),
        families={family: Verdict(word) for family, word in content["families"].items()},
        codes={code: Verdict(word) for code, word in content["codes"].items()},
        limits=tuple(
            Limit(
                row["kind"], row["metric"], float(row["above"]), Verdict(row["verdict"]), row["source"], row.get("when")
            )
            for row in content["limits"]
        ),
        near_miss_percent=float(content["near_miss_percent"]),
        switches=tuple(
            Switch(row["kind"], row["metric"], row["parameter"], tuple(row["same"]), float(row["least_effect_percent"]))
            for row in content["switches"]
        ),
        line_rate=LineRate(
            rate["kind"], rate["metric"], tuple(map(float, rate["rates_gbps"])), rate["least_share"], rate["most_share"]
        ),
        counted_kinds=tuple(counts["kinds"]),
        plausible_counts=tuple(counts["plausible"]),
        devices=tuple(_family(name, row) for name, row in physics["families"].items()),
        ceilings=tuple(_ceiling(row) for row in physics["ceilings"]),
    )


def _family(name: str, row: Mapping[str, Any]) -> Family:
    limits = {key: float(value) for key, value in row.items() if key not in ("match", "gpus", "nvlinks")}
    limits["peer_gbps"] = max(int(row["nvlinks"]) * limits["nvlink_gbps"], limits["host_gbps"])
    return Family(name, re.compile(row["match"]), int(row["gpus"]), int(row["nvlinks"]), limits)


def _ceiling(row: Mapping[str, Any]) -> Ceiling:
    return Ceiling(
        pattern=re.compile(row["metric"]),
        unit=row["unit"],
        scale=float(row["scale"]),
        limit=row["limit"],
        statistic=row.get("statistic"),
        kinds=tuple(row.get("kinds", ())),
        nodes=row.get("nodes"),
    )
