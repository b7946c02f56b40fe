"""Which of what a BMC says of its machinery refuses a node. Pure.

A leak detector that does not say that it is dry is never fine: it leaks, or nobody watches. Temperatures and fans are
held against the thresholds that the BMC itself states, never against figures of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nodeworthy.evidence.bmc_health import IN_USE, LINE_NORMAL, Health, Leaks
from nodeworthy.qualification.sku import Environment


@dataclass(frozen=True, slots=True)
class HealthRules:
    """How health is read and judged (`include/schemas/bmc-health-1.json`); words are in lower case."""

    most_single_reads: int
    most_pages: int
    healths: frozenset[str]
    lost_redundancy_refuses: bool
    margin_celsius: float


@dataclass(frozen=True, slots=True)
class HealthJudgement:
    """One phrase per thing that refuses the node, and one per remark."""

    refusals: tuple[str, ...]
    remarks: tuple[str, ...]


def health_rules_from_document(document: Mapping[str, object]) -> HealthRules:
    """The rules of a checked document."""
    reading, judging = document["reading"], document["judging"]
    assert isinstance(reading, Mapping)
    assert isinstance(judging, Mapping)
    return HealthRules(
        most_single_reads=int(reading["most_single_reads"]),
        most_pages=int(reading["most_pages"]),
        healths=frozenset(str(word).lower() for word in judging["refuses_health"]),
        lost_redundancy_refuses=judging["lost_redundancy"] == "refuse",
        margin_celsius=float(judging["margin_celsius"]),
    )


def leak_sentence(node: str, leaks: Leaks) -> str:
    """What stops the work on a leaking node, for a person."""
    named = "; ".join(f"{one.name} ({one.kind or 'leak detector'}) says {one.state}" for one in leaks.wet)
    return (
        f"{node} leaks: {named}. Nothing was switched and nothing will be: have a person look for liquid before any "
        "power action, then release the node's hold."
    )


def judge_leaks(leaks: Leaks, environment: Environment) -> tuple[str, ...]:
    """Return one phrase per detector that does not say that it is dry; a wet one stops the node by itself."""
    found = [f"incomplete, {gap}: nobody knows whether it leaks; restart or update the BMC" for gap in leaks.gaps]
    found += [
        f"incomplete, leak detector {one.name} says {one.state or 'nothing'}: nobody watches for a leak there; plug it "
        "in or replace it"
        for one in leaks.detectors
        if one.blind
    ]
    seen = sum(not one.blind for one in leaks.detectors)
    if seen < environment.leak_detectors and not found:
        found.append(
            f"incomplete, {seen} leak detectors are served where the SKU names {environment.leak_detectors}: plug the "
            "missing ones in, or update the BMC"
        )
    return tuple(found)


def judge_health(health: Health, rules: HealthRules, environment: Environment) -> HealthJudgement:
    """Judge what a BMC says of its machinery; `environment` is how much of it the SKU names."""
    refusals = [*_fans(health, rules, environment), *_supplies(health), *_hot(health, rules)]
    groups = list(_groups(health, rules))
    remarks = [f"not checked: {gap}" for gap in health.gaps] + list(_cautions(health, rules))
    (refusals if rules.lost_redundancy_refuses else remarks).extend(groups)
    return HealthJudgement(tuple(refusals), tuple(remarks))


def _fans(health: Health, rules: HealthRules, environment: Environment) -> Iterator[str]:
    for fan in health.fans:
        if fan.health.lower() in rules.healths:
            yield f"fan {fan.name} calls itself {fan.health.lower()}: replace it"
        elif fan.present and fan.speed == 0:
            yield f"fan {fan.name} stands still while the host has power: plug it in or replace it"
    present = sum(fan.present for fan in health.fans)
    if present >= environment.fans:
        return
    if not health.fans and health.gaps:
        yield f"incomplete, no fan could be read ({health.gaps[0]}): restart or update the BMC"
    else:
        yield f"{present} fans are present where the SKU names {environment.fans}: seat or replace the missing ones"


def _supplies(health: Health) -> Iterator[str]:
    for supply in health.supplies:
        if supply.line.lower() not in LINE_NORMAL:
            yield f"power supply {supply.name} has line input {supply.line}: check its cord and the feed behind it"
        elif not supply.present:
            yield f"power supply {supply.name} is {supply.state}: check its cord, or seat or replace it"


def _groups(health: Health, rules: HealthRules) -> Iterator[str]:
    known = {one.uri: one.works for one in (*health.fans, *health.supplies)}
    for group in health.groups:
        if group.state.lower() == "disabled":
            continue
        working = sum(known.get(uri, True) for uri in group.members)
        lost = group.needed and len(group.members) > group.needed and working <= group.needed
        if lost or group.health.lower() in rules.healths | {"warning"}:
            yield (
                f"the redundancy of {group.name} is lost ({working} of {len(group.members)} work, {group.needed} are "
                f"needed, health {group.health or 'not given'}): replace what failed before the node serves"
            )


def _hot(health: Health, rules: HealthRules) -> Iterator[str]:
    for sensor in health.temperatures:
        if sensor.state.lower() not in IN_USE:
            continue
        reading, upper, lower = sensor.celsius, sensor.upper_critical, sensor.lower_critical
        if reading is not None and upper is not None and reading >= upper - rules.margin_celsius:
            yield f"{sensor.name} reads {reading:g} C and its BMC calls {upper:g} C critical: check airflow and cooling"
        elif reading is not None and lower is not None and reading <= lower:
            yield f"{sensor.name} reads {reading:g} C and its BMC calls {lower:g} C critical: check the cooling"
        elif sensor.health.lower() in rules.healths:
            yield f"{sensor.name} calls itself {sensor.health.lower()}: check airflow and cooling"


def _cautions(health: Health, rules: HealthRules) -> Iterator[str]:
    for sensor in health.temperatures:
        caution = sensor.upper_caution
        critical = sensor.upper_critical
        if sensor.celsius is None or caution is None or sensor.state.lower() not in IN_USE:
            continue
        if sensor.celsius >= caution and (critical is None or sensor.celsius < critical - rules.margin_celsius):
            yield f"{sensor.name} reads {sensor.celsius:g} C and its BMC cautions from {caution:g} C on"
    for part in (*health.fans, *health.supplies):
        if part.health.lower() == "warning":
            yield f"{part.name} calls its health Warning"
