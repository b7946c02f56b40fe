"""Reading suites from documents, and refusing those that would let something pass unseen.

Great Expectations passes an empty frame, a null in a range check and a pair with a missing side unless it is told not
to. So every suite must count its rows, name its columns, refuse nulls, compare pairs with nothing ignored, and may not
be satisfied by "mostly".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.qualification.documents import figure, optional_figure, refuse_unknown_keys, rows, text
from nodeworthy.qualification.sku import Vendor
from nodeworthy.qualification.suites import BY_BASELINE, LONGEST_SEGMENT, MetricSpec, Per, Suite, TestSpec

Words = TypeVar("Words", bound=StrEnum)

SUITE_SCHEMA = "nodeworthy.suite/1"
_KEYS = (
    "schema", "name", "level", "version", "description", "includes", "tests", "expectations", "nodes", "segments",
)  # fmt: skip
_TEST_KEYS = (
    "test", "tool", "arguments", "timeout_seconds", "parameters", "environment", "transport", "metrics", "scopes",
    "usual_seconds", "repeats", "retry", "near_miss_percent", "image", "needs", "only_with", "only_for", "by_vendor",
)  # fmt: skip
_VARIANT_KEYS = (
    "tool", "arguments", "parameters", "environment", "timeout_seconds", "usual_seconds", "needs", "lacks", "metrics",
)  # fmt: skip
_METRIC_KEYS = (
    "metric", "per", "unit", "statistic", "judged", "parameters", "derived_from", "explained_by", "headline", "action",
)  # fmt: skip
_META_KEYS = ("layer", "verdict", "code", "action", "why")
ROW_COUNT = "expect_table_row_count_to_be_between"
COLUMN_EXISTS = "expect_column_to_exist"
NOT_NULL = "expect_column_values_to_not_be_null"
PAIR_PREFIX = "expect_column_pair_"
NEEDED_COLUMNS = ("node", "component", "metric", "value", "unit", "status")
ROWS_PARAMETER = {"$PARAMETER": "rows"}
"""A pod that runs longer loses too much when it is interrupted."""
MOST_NEAR = 2.0
"""Per cent: twice what the tools' figures vary from run to run. What misses by more is no noise."""
_WRITES = re.compile(r"--(?:rw|readwrite)=\S*(?:write|rw|trim)")
"""fio's access patterns that change what is on a drive."""
_RETRIED = ("crashed", "timed-out", "unparsable")
_LEVELS_OF_SEVERAL_NODES = ("M0", "M1", "M2", "M3")
_FIT = frozenset({Verdict.INCOMPLETE, Verdict.NOT_RUN, Verdict.TOOL_ERROR, Verdict.INVALID})


def suite_from_document(
    document: Mapping[str, Any],
    include: Callable[[str], Suite] | None = None,
    where: str = "the suite file",
) -> Suite:
    """Read a suite with what it includes; `include` returns another suite by name.

    Raises Permanent with one sentence for the first thing that is unknown, missing, or would let a row pass unseen.
    """
    refuse_unknown_keys(document, _KEYS, where)
    if document.get("schema") != SUITE_SCHEMA:
        raise Permanent(f"{where}: schema is {document.get('schema')!r}, expected {SUITE_SCHEMA!r}: convert the file.")
    name = text(document, "name", where)
    included = [_included(other, name, include, where) for other in document.get("includes", ())]
    own = tuple(_test(row, where) for row in rows(document, "tests", where))
    tests = tuple(test for suite in included for test in suite.tests) + own
    expectations = [row for suite in included for row in suite.expectations["expectations"]]
    expectations += list(document.get("expectations", {}).get("expectations", ()))
    _refuse_unsafe(expectations, where)
    _refuse_duplicates([test.test for test in tests], "test", where)
    suite = Suite(
        name=name,
        level=text(document, "level", where),
        tests=tests,
        expectations={"name": name, "expectations": expectations, "meta": {"version": int(document["version"])}},
        version=int(figure(document, "version", where)),
        description=str(document.get("description", "")),
        nodes=_nodes(document, where),
        each=_each(document, None if include is None else included, where),
        within=str((document.get("nodes") or {}).get("within", "")),
        segments=_whole(document, "segments", where),
    )
    _refuse_long_segments(suite, where)
    return suite


def _nodes(document: Mapping[str, Any], where: str) -> tuple[int, int]:
    """Return the fewest and most nodes of a run: a level for several nodes must say how many, others may not."""
    several = document.get("level") in _LEVELS_OF_SEVERAL_NODES
    row = document.get("nodes")
    if row is None and not several:
        return (1, 1)
    if not several or not isinstance(row, Mapping):
        raise Permanent(
            f"{where}: level {document.get('level')} and `nodes` {row!r} disagree: a level for several nodes names "
            "at_least and at_most, a level for one node has no `nodes`."
        )
    least, most = _whole(row, "at_least", where), _whole(row, "at_most", where)
    if not 2 <= least <= most:
        raise Permanent(f"{where}: nodes from {least} to {most}: write at least 2, and at_most not below at_least.")
    return (least, most)


def _each(document: Mapping[str, Any], included: Sequence[Suite] | None, where: str) -> str:
    """Return the suite of each node of a group. Who leads must run its tests too, so a file must include it.

    `included` is None where all tests stand in the document itself, as in a dossier.
    """
    name = str((document.get("nodes") or {}).get("each", ""))
    if name and included is not None and name not in [suite.name for suite in included]:
        raise Permanent(f"{where}: each node would run {name} and who leads the group would not: include {name}.")
    return name


def _whole(row: Mapping[str, Any], key: str, where: str) -> int:
    value = row.get(key, 1)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Permanent(f"{where}: `{key}` is {value!r}: write a whole number from 1 on.")
    return value


def _refuse_long_segments(suite: Suite, where: str) -> None:
    """A suite of one node runs in pods of at most four hours, counted by its time-outs; second tries must fit in.

    Own checks come on top: an operator who adds one to L1 means no other suite.
    """
    each = (suite.on(vendor).tests for vendor in Vendor)
    shipped = ([test for test in tests if not test.image] for tests in each)
    once = max(sum((test.timeout * test.repeats for test in tests), timedelta(0)) for tests in shipped)
    if suite.nodes == (1, 1) and once > LONGEST_SEGMENT:
        raise Permanent(
            f"{where}: the tests of one pod may take {once.total_seconds() / 3600:.1f} h: shorten their time-outs "
            "to 4 h together and raise `segments`, so that an interruption costs one segment."
        )


def _included(other: str, name: str, include: Callable[[str], Suite] | None, where: str) -> Suite:
    if include is None or other == name:
        raise Permanent(f"{where}: suite {name} includes {other} and it cannot be read here: load it from the library.")
    return include(other)


def _test(row: Mapping[str, Any], where: str) -> TestSpec:
    here = f"{where}, test {row.get('test', '?')}"
    refuse_unknown_keys(row, _TEST_KEYS, here)
    timeout = figure(row, "timeout_seconds", here)
    if timeout <= 0:
        raise Permanent(f"{here}: timeout_seconds is {timeout:g}: give the test time to run.")
    metrics = tuple(_metric(spec, here) for spec in row.get("metrics", ()))
    _refuse_duplicates([f"{spec.metric} ({spec.statistic})" for spec in metrics], "metric", here)
    return TestSpec(
        test=text(row, "test", here),
        tool=text(row, "tool", here),
        arguments=tuple(str(argument) for argument in row.get("arguments", ())),
        timeout=timedelta(seconds=timeout),
        parameters=dict(row.get("parameters", {})),
        environment=dict(row.get("environment", {})),
        transport=tuple(row.get("transport", ())),
        metrics=metrics,
        scopes=tuple(_word(Scope, scope, here) for scope in row.get("scopes", list(Scope))),
        usual=timedelta(seconds=optional_figure(row, "usual_seconds", here) or 0.0),
        repeats=_whole(row, "repeats", here),
        retry=_retry(row, here),
        near_miss_percent=_near_miss(row, here),
        image=str(row.get("image", "")),
        needs=tuple(row.get("needs", ())),
        only_with=_only_with(row, here),
        only_for=tuple(_word(Vendor, word, here) for word in row.get("only_for", ())),
        by_vendor={_word(Vendor, word, here): _variant(row, own, here) for word, own in _variants(row).items()},
    )


def _variants(row: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = row.get("by_vendor", {})
    return found


def _variant(row: Mapping[str, Any], own: Mapping[str, Any], where: str) -> TestSpec:
    """Return the test as another vendor's nodes do it. Permanent when it lacks a metric that the test has not."""
    refuse_unknown_keys(own, _VARIANT_KEYS, f"{where}, by_vendor")
    names = {spec["metric"] for spec in row.get("metrics", ())}
    lacks = set(own.get("lacks", ()))
    if strange := sorted(lacks - names):
        raise Permanent(f"{where}, by_vendor: it lacks {', '.join(strange)}, which the test never had: correct it.")
    kept = [spec for spec in row.get("metrics", ()) if spec["metric"] not in lacks]
    common = {key: value for key, value in row.items() if key not in ("by_vendor", "only_for")}
    changed = {key: value for key, value in own.items() if key != "lacks"}
    if "tool" in own:
        common.pop("arguments", None)
    return _test({**common, **changed, "metrics": [*kept, *own.get("metrics", ())]}, where)


def _only_with(row: Mapping[str, Any], where: str) -> str:
    """What destroys data may name no drive but `{scratch_drives}`, which a SKU must have declared for that."""
    kind = str(row.get("only_with", ""))
    arguments = [str(argument) for argument in row.get("arguments", ())]
    writes = any(_WRITES.match(argument) for argument in arguments)
    if writes and (kind != Per.SCRATCH or arguments[0] != "{scratch_drives}"):
        raise Permanent(
            f"{where}: it writes to drives: let its arguments begin with {{scratch_drives}} and say only_with "
            "scratch, so that it runs on drives alone that a SKU declared for it."
        )
    return kind


def _retry(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    words = tuple(row.get("retry", ()))
    unknown = [word for word in words if word not in _RETRIED]
    if unknown:
        raise Permanent(
            f"{where}: retry after {', '.join(map(str, unknown))} is not offered: use {', '.join(_RETRIED)}; a figure "
            "that is too low is never measured again until it fits (near_miss_percent allows one more try)."
        )
    return words


def _near_miss(row: Mapping[str, Any], where: str) -> float | None:
    percent = optional_figure(row, "near_miss_percent", where)
    if percent is not None and not 0 < percent <= MOST_NEAR:
        raise Permanent(
            f"{where}: near_miss_percent is {percent:g}: above 0 and at most {MOST_NEAR:g}, or leave it out."
        )
    return percent


def _metric(row: Mapping[str, Any], where: str) -> MetricSpec:
    here = f"{where}, metric {row.get('metric', '?')}"
    refuse_unknown_keys(row, _METRIC_KEYS, here)
    return MetricSpec(
        metric=text(row, "metric", here),
        per=_word(Per, row.get("per"), here),
        unit=text(row, "unit", here),
        statistic=text(row, "statistic", here),
        judged=bool(row.get("judged", True)),
        parameters=dict(row.get("parameters", {})),
        derived_from=str(row.get("derived_from", "")),
        explained_by=str(row.get("explained_by", "")),
        headline=bool(row.get("headline", False)),
        action=str(row.get("action", "")),
    )


def _word(words: type[Words], word: Any, where: str) -> Words:
    if word not in set(words):
        raise Permanent(f"{where}: {word!r} is none of {', '.join(words)}: use one of them.")
    return words(word)


def _refuse_duplicates(names: list[str], what: str, where: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Permanent(f"{where}: {what} {', '.join(twice)} stands there twice: keep one.")


# -- What a suite must expect ------------------------------------------------------------------------------------


def _refuse_unsafe(expectations: list[Any], where: str) -> None:
    for expectation in expectations:
        _refuse_unsafe_one(expectation, where)
    _refuse_duplicates([row["meta"]["code"] for row in expectations], "code", where)
    counted = [row["kwargs"] for row in expectations if row["type"] == ROW_COUNT]
    if not any(k.get("min_value") == ROWS_PARAMETER and k.get("max_value") == ROWS_PARAMETER for k in counted):
        raise Permanent(
            f"{where}: no expectation counts the rows: add {ROW_COUNT} with min and max from $PARAMETER rows."
        )
    present = {row["kwargs"].get("column") for row in expectations if row["type"] == COLUMN_EXISTS}
    lacking = [column for column in NEEDED_COLUMNS if column not in present]
    if lacking:
        raise Permanent(f"{where}: no {COLUMN_EXISTS} for {', '.join(lacking)}: add one for each.")
    if not any(row["type"] == NOT_NULL and row["kwargs"].get("column") == "value" for row in expectations):
        raise Permanent(f"{where}: nothing refuses a missing value: add {NOT_NULL} for the column value.")


def _refuse_unsafe_one(expectation: Any, where: str) -> None:
    if not isinstance(expectation, Mapping) or not {"type", "kwargs", "meta"} <= set(expectation):
        raise Permanent(f"{where}: an expectation lacks type, kwargs or meta: write all three.")
    here, kwargs = f"{where}, {expectation['type']}", expectation["kwargs"]
    _refuse_bad_meta(expectation["meta"], here)
    if kwargs.get("mostly", 1) != 1:
        raise Permanent(f"{here}: mostly is {kwargs['mostly']}: every row counts, remove it.")
    if expectation["type"].startswith(PAIR_PREFIX) and kwargs.get("ignore_row_if") != "neither":
        raise Permanent(f'{here}: a pair with a missing side would be ignored: set ignore_row_if to "neither".')
    if "row_condition" in kwargs:
        raise Permanent(f"{here}: row_condition leaves rows out: give the rows a limit that says what you mean.")


def _refuse_bad_meta(meta: Mapping[str, Any], where: str) -> None:
    refuse_unknown_keys(meta, _META_KEYS, f"{where}, meta")
    code, layer, verdict = text(meta, "code", where), meta.get("layer"), meta.get("verdict")
    if layer not in (1, 2, 3):
        raise Permanent(f"{where}: code {code} is in layer {layer!r}: use 1 (fit), 2 (baseline) or 3 (peers).")
    if layer == 1 and verdict not in _FIT:
        raise Permanent(
            f"{where}: code {code} of layer 1 says {verdict!r}: a bad test is not a bad node, "
            f"use {', '.join(sorted(_FIT))}."
        )
    if verdict != BY_BASELINE and (verdict not in set(Verdict) or verdict == Verdict.PASS):
        raise Permanent(f"{where}: code {code} says {verdict!r}: use a verdict that is not pass, or {BY_BASELINE}.")
