"""What figures alone ask for: limits, physics, switches without effect, counts, line rates.

Each function yields verdict, code, component and sentence. Figures are compared in the unit that the rule names; one in
another unit is not compared, and the parser has already said so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.qualification.content_rules import Ceiling, ContentRules, Family

if TYPE_CHECKING:
    from nodeworthy.qualification.content import ContentContext

Found = tuple[Verdict, str, str, str]
Row = Mapping[str, Any]


def figure_causes(parsed: Mapping[str, Any], rules: ContentRules, context: ContentContext) -> Iterator[Found]:
    """Everything that the measurements of a document ask for."""
    yield from _limits(parsed, rules)
    yield from _physics(parsed, rules, context)
    yield from _switches(parsed, rules)
    yield from _counts(parsed, rules, context)
    yield from _line_rate(parsed, rules, context)


def _limits(parsed: Mapping[str, Any], rules: ContentRules) -> Iterator[Found]:
    for limit in rules.limits:
        for row in _rows(parsed, limit.metric) if parsed["kind"] == limit.kind else ():
            if abs(row["value"]) > limit.above and (limit.when is None or row["parameters"].get(limit.when)):
                yield (
                    limit.verdict,
                    f"limit/{limit.metric}",
                    row["component"],
                    f"{row['component']}: {limit.metric} is {row['value']:g} {row['unit']}, the limit is "
                    f"{limit.above:g}",
                )


def _physics(parsed: Mapping[str, Any], rules: ContentRules, context: ContentContext) -> Iterator[Found]:
    models = {text["component"]: text["value"] for text in parsed["texts"] if text["name"] == "model"}
    named = [family for model in models.values() if (family := rules.family_of(model))]
    if context.sku is not None and (family := rules.family_of(context.sku.upper())):
        named = [family]
    devices = named or list(rules.devices)
    for row in parsed["measurements"]:
        ceiling = next((ceiling for ceiling in rules.ceilings if _applies(ceiling, row, parsed)), None)
        if ceiling is None:
            continue
        limit, name = max((device.limits[ceiling.limit], device.name) for device in devices)
        value = row["value"] * ceiling.scale
        if value > limit:
            of = f"a {name}" if named else "any part"
            yield (
                Verdict.IMPOSSIBLE,
                f"physics/{row['metric']}",
                row["component"],
                f"{row['component']}: {row['metric']} {row['value']:g} {row['unit']} is above what {of} can do "
                f"({limit / ceiling.scale:g})",
            )


def _applies(ceiling: Ceiling, row: Row, parsed: Mapping[str, Any]) -> bool:
    nodes = row["parameters"].get("nodes")
    return (
        row["unit"] == ceiling.unit
        and ceiling.pattern.fullmatch(row["metric"]) is not None
        and (ceiling.statistic is None or row["statistic"] == ceiling.statistic)
        and (not ceiling.kinds or parsed["kind"] in ceiling.kinds)
        and (ceiling.nodes is None or nodes == ceiling.nodes)
        and not (ceiling.limit == "memory_gbps" and row["component"] == "cpu")
    )


def _switches(parsed: Mapping[str, Any], rules: ContentRules) -> Iterator[Found]:
    for switch in rules.switches:
        if parsed["kind"] != switch.kind:
            continue
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in _rows(parsed, switch.metric):
            groups.setdefault(tuple(row["parameters"].get(name) for name in switch.same), []).append(row)
        for rows in groups.values():
            values = {row["parameters"].get(switch.parameter): row["value"] for row in rows}
            low, high = min(values.values()), max(values.values())
            if len(values) > 1 and high > 0 and (high - low) / high * 100 < switch.least_effect_percent:
                yield (
                    Verdict.INVALID,
                    f"switch/{switch.parameter}",
                    "node",
                    f"{switch.parameter} {' and '.join(map(str, values))} give {high:g} and {low:g} "
                    f"{rows[0]['unit']}: the switch did nothing",
                )


def _counts(parsed: Mapping[str, Any], rules: ContentRules, context: ContentContext) -> Iterator[Found]:
    seen = next((int(row["value"]) for row in _rows(parsed, "gpus") if row["component"] == "node"), None)
    family = rules.family_of(context.sku.upper()) if context.sku else None
    expected = context.gpus if context.gpus is not None else family.gpus if family else None
    if expected is not None and seen is not None and seen != expected:
        yield Verdict.INCOMPLETE, "context/gpu-count", "node", f"{seen} of {expected} GPUs are there"
    elif expected is None and seen not in (None, *rules.plausible_counts) and parsed["kind"] in rules.counted_kinds:
        yield Verdict.INCOMPLETE, "context/gpu-count", "node", f"{seen} GPUs are no server's number: one may be missing"
    ports = next((int(row["value"]) for row in _rows(parsed, "ports") if row["component"] == "node"), None)
    if context.ports is not None and ports is not None and ports != context.ports:
        yield Verdict.INCOMPLETE, "context/port-count", "node", f"{ports} of {context.ports} ports are there"
    yield from _links(parsed, rules)
    yield from _wrong_family(parsed, rules, family)


def _wrong_family(parsed: Mapping[str, Any], rules: ContentRules, family: Family | None) -> Iterator[Found]:
    for text in parsed["texts"] if family else ():
        own = rules.family_of(text["value"]) if text["name"] == "model" else None
        if family and own and own.name.split("-")[0] != family.name.split("-")[0]:
            yield Verdict.INVALID, "context/sku", text["component"], f"{text['value']} is no {family.name}"


def _links(parsed: Mapping[str, Any], rules: ContentRules) -> Iterator[Found]:
    models = {text["component"]: text["value"] for text in parsed["texts"] if text["name"] == "model"}
    for row in _rows(parsed, "nvlinks_up"):
        family = rules.family_of(models.get(row["component"], ""))
        if family and family.nvlinks and row["value"] < family.nvlinks and "PCI" not in models[row["component"]]:
            yield (
                Verdict.INCOMPLETE,
                "context/nvlinks",
                row["component"],
                f"{row['component']}: {row['value']:g} of {family.nvlinks} NVLinks are listed",
            )


def _line_rate(parsed: Mapping[str, Any], rules: ContentRules, context: ContentContext) -> Iterator[Found]:
    """Each run's best figure; one over both directions counts half."""
    rule = rules.line_rate
    for row in _rows(parsed, rule.metric) if parsed["kind"] == rule.kind else ():
        if row["statistic"] == "max" and row["unit"] == "Gb/s":
            yield from _of_line_rate(float(row["value"]) / int(row["parameters"].get("directions", 1)), rules, context)


def _of_line_rate(value: float, rules: ContentRules, context: ContentContext) -> Iterator[Found]:
    rule = rules.line_rate
    rates = (context.line_rate_gbps,) if context.line_rate_gbps else rule.rates_gbps
    if value > max(rates) * rule.most_share:
        yield (
            Verdict.IMPOSSIBLE,
            "physics/line-rate",
            "node",
            f"{value:.1f} Gb/s is above the line rate of {max(rates):g} Gb/s",
        )
    elif any(rule.least_share * rate <= value <= rule.most_share * rate for rate in rates):
        return
    elif context.line_rate_gbps:
        share = value / context.line_rate_gbps * 100
        yield (
            Verdict.FAIL,
            "limit/line-rate",
            "node",
            f"{value:.1f} Gb/s is {share:.0f} % of the line rate {context.line_rate_gbps:g}",
        )
    else:
        yield (
            Verdict.INCOMPLETE,
            "context/line-rate",
            "node",
            f"{value:.1f} Gb/s is low for any port from 100 Gb/s and the file names no line rate: give --line-rate",
        )


def _rows(parsed: Mapping[str, Any], metric: str) -> Iterator[Row]:
    return (row for row in parsed["measurements"] if row["metric"] == metric)
