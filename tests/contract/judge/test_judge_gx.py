"""The judge on Great Expectations: agrees with the reference implementation, and lets nothing pass by accident."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nodeworthy.adapters.judge_gx import JudgeGx, ask_gx, validate
from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.ports import JudgingBatch
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.frame import build_rows
from nodeworthy.qualification.suites import Suite
from nodeworthy.qualification.validation import part_of

from tests.unit.qualification.written_results import (
    H100,
    ShippedFiles,
    context,
    degraded,
    find,
    healthy,
    judged_purely,
    noisy,
    spoilt,
    stored,
)


class AlteredFiles(ShippedFiles):
    """The shipped files with some expectations replaced."""

    def __init__(self, *expectations: Mapping[str, Any], keep: bool = True) -> None:
        self._expectations = expectations
        self._keep = keep

    def suite(self, name: str) -> Suite:
        """Return the suite with other expectations."""
        suite = super().suite(name)
        if name != "l1":
            return suite
        kept = list(suite.expectations["expectations"]) if self._keep else []
        return replace(suite, expectations={"name": name, "expectations": [*kept, *self._expectations]})


def batch(*documents: Mapping[str, Any], names: tuple[str, ...] = ()) -> JudgingBatch:
    """A judging batch of H100 nodes."""
    results = tuple(
        stored(document, names[number] if names else str(document.get("node")))
        for number, document in enumerate(documents)
    )
    return JudgingBatch(Scope.HARDWARE, results, {one.node: H100 for one in results}, {})


def judge(*documents: Mapping[str, Any], library: ShippedFiles | None = None) -> tuple[Judgement, ...]:
    """Judge documents together."""
    return JudgeGx(library or ShippedFiles()).judge(batch(*documents))[0]  # type: ignore[arg-type]


def test_a_wave_is_judged_together_and_only_the_bad_node_fails() -> None:
    """Three nodes, the second with one GPU's links 4 % slow: pass, fail with the GPU's name, pass."""
    slow = healthy("gpu-a02")
    degraded(slow, gpu=4, amount=0.04)
    verdicts = judge(healthy("gpu-a01"), slow, healthy("gpu-a03"))
    assert [one.verdict for one in verdicts] == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]
    assert verdicts[1].sentence.startswith("gpu-a02 fail: gpu/4 peer_bandwidth median 380.2 GB/s is 4.0 % below")


_ODD: list[Any] = [
    None,
    float("nan"),
    float("inf"),
    -1.0,
    0.0,
    1.0,
    7.0,
    16.0,
    18.0,
    51.0,
    380.0,
    396.0,
    470.0,
    1e9,
    "N/A",
    True,
]
_CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.sampled_from(["value", "unit", "status", "component", "drop", "twice", "execution", "transport", "sku"]),
        st.integers(0, len(_ODD) - 1),
    ),
    min_size=1,
    max_size=12,
)
_WORDS = {
    "unit": ["GiB/s", "GB/s", "count", ""],
    "status": ["missing", "waived", "not-checked", "ok", "odd"],
    "component": ["gpu/8", "gpu/0", "node", "gpu/0-gpu/1"],
    "execution": ["crashed", "skipped", "timed-out", "odd", "completed"],
    "transport": ["NVLS", "SHM", None],
}


def _change(document: dict[str, Any], place: int, what: str, odd: int) -> None:
    rows = document["measurements"]
    row = rows[place % len(rows)]
    if what == "value":
        row["value"] = _ODD[odd]
    elif what == "drop":
        rows.remove(row)
    elif what == "twice":
        rows.append(dict(row))
    elif what == "sku":
        document["sku"] = "h200-sxm-8" if odd == 0 else "h100-sxm-8"
    elif what in ("execution", "transport"):
        test = document["tests"][place % len(document["tests"])]
        test[what] = _WORDS[what][odd % len(_WORDS[what])]
    else:
        row[what] = _WORDS[what][odd % len(_WORDS[what])]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(changes=_CHANGES)
def test_great_expectations_and_the_reference_implementation_agree(changes: list[tuple[int, str, int]]) -> None:
    """On any spoilt frame both name the same failing checks for the same rows."""
    document = healthy()
    for place, what, odd in changes:
        _change(document, place, what, odd)
    given_context = context(stored(document, "gpu-a01"))
    rows = build_rows([given_context])
    suite = given_context.suite
    assert dict(validate(rows, suite).failed) == failed_checks(rows, suite.checks())


RECORDED = ("temperature", "xid_since_boot", "corrected_events_new")
"""What no expectation is about."""


def test_no_destructive_change_passes() -> None:
    """Two hundred results with one dropped, doubled, nulled, renamed or re-united figure each: none passes."""
    chance = random.Random(20261130)
    documents = []
    for number in range(200):
        document = healthy(f"gpu-{number:03}")
        judged = [row for row in document["measurements"] if row["metric"] not in RECORDED]
        row, kind = chance.choice(judged), number % 5
        if kind == 0:
            document["measurements"].remove(row)
        elif kind == 1:
            document["measurements"].append(dict(row))
        else:
            row.update([{"value": None}, {"component": "gpu/9"}, {"unit": "furlong"}][kind - 2])
        documents.append(document)
    assert Verdict.PASS not in {one.verdict for one in judge(*documents)}


def test_a_result_without_any_row_is_incomplete() -> None:
    """A result that cannot be read, or holds nothing, gives rows without values; an empty frame never reaches GX."""
    empty = spoilt(lambda document: document.update(measurements=[], tests=[]))
    (one,) = judge(empty)
    assert one.verdict is Verdict.INCOMPLETE
    judgements, _ = JudgeGx(ShippedFiles()).judge(batch({}, names=("gpu-a01",)))  # type: ignore[arg-type]
    assert judgements[0].verdict is Verdict.INVALID


def test_an_empty_batch_is_nothing_and_a_mixed_one_refused() -> None:
    """No results, no judgement; two results of one node cannot be told apart in one frame."""
    assert JudgeGx(ShippedFiles()).judge(batch()) == ((), {})  # type: ignore[arg-type]
    with pytest.raises(Permanent, match="one per node"):
        judge(healthy(), healthy())


@pytest.mark.parametrize(
    "expectation",
    [
        {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "nowhere", "value_set": [1]}},
        {"type": "expect_column_values_to_be_splendid", "kwargs": {"column": "value"}},
        {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "value", "colour": "red"}},
        {"type": "expect_column_mean_to_be_between", "kwargs": {"column": "value", "min_value": 1e9}},
    ],
    ids=["missing column", "unknown expectation", "unknown argument", "fails for the whole frame"],
)
def test_a_validation_that_breaks_judges_nothing(expectation: dict[str, Any]) -> None:
    """An expectation that raises, does not exist or speaks of the frame as a whole ends the judgement."""
    meta = {"meta": {"layer": 2, "verdict": "fail", "code": "own"}}
    with pytest.raises(Permanent, match="nothing was judged"):
        judge(healthy(), library=AlteredFiles({**expectation, **meta}))


def test_an_operators_own_expectation_decides_too() -> None:
    """A column check of a code that the product does not know fails the row that breaks it."""
    own = {
        "type": "expect_column_values_to_not_be_in_set",
        "kwargs": {"column": "value", "value_set": [81559]},
        "meta": {"layer": 2, "verdict": "fail", "code": "own"},
    }
    (one,) = judge(healthy(), library=AlteredFiles(own))
    assert (one.verdict, one.reasons[0].code) == (Verdict.FAIL, "own")


def test_nothing_passes_when_expectations_are_not_answered() -> None:
    """A library that answers fewer expectations than were asked is not believed."""

    def forgetful(gx: Any, frame: Any, suite: Suite) -> list[Any]:
        return ask_gx(gx, frame, suite)[1:]

    with pytest.raises(Permanent, match="nothing was judged"):
        JudgeGx(ShippedFiles(), forgetful).judge(batch(healthy()))  # type: ignore[arg-type]


def test_sixty_four_nodes_are_one_validation_under_two_seconds() -> None:
    """One call of the library for the whole wave; the time is processor time, after the import."""
    calls: list[int] = []

    def counted(gx: Any, frame: Any, suite: Suite) -> list[Any]:
        calls.append(len(frame))
        return ask_gx(gx, frame, suite)

    counting = JudgeGx(ShippedFiles(), counted)  # type: ignore[arg-type]
    documents = [healthy(f"gpu-{number:03}", noisy(number, 0.0017, 0.0015)) for number in range(64)]
    counting.judge(batch(documents[0]))
    calls.clear()
    began = time.process_time()
    verdicts, _ = counting.judge(batch(*documents))
    seconds = time.process_time() - began
    assert calls == [64 * 408]
    assert {one.verdict for one in verdicts} == {Verdict.PASS}
    assert seconds < 2.0


def test_a_nodes_part_of_the_evidence_does_not_depend_on_the_batch() -> None:
    """Judged alone or among others, a node's validation has the same bytes."""
    slow = healthy("gpu-a02")
    degraded(slow, gpu=1, amount=0.05)
    judge_of_files = JudgeGx(ShippedFiles())  # type: ignore[arg-type]
    alone, one = judge_of_files.judge(batch(slow))
    together, all_three = judge_of_files.judge(batch(healthy("gpu-a01"), slow, healthy("gpu-a03")))
    assert canonical_json(part_of(one, "gpu-a02")) == canonical_json(part_of(all_three, "gpu-a02"))
    assert alone[0] == together[1]


def test_a_real_result_needs_a_reference_of_real_hardware() -> None:
    """Baselines without any reference judge real hardware by floor and ceiling."""

    class WithoutReferences(ShippedFiles):
        def baselines(self, sku: str) -> tuple[Baseline, ...]:
            return tuple(replace(baseline, reference=None) for baseline in super().baselines(sku))

    real = spoilt(lambda document: document.update(simulated=False))
    assert judge(real)[0].verdict is Verdict.INCOMPLETE
    assert judge(real, library=WithoutReferences())[0].verdict is Verdict.PASS


def test_the_serial_that_the_probe_saw_counts() -> None:
    """A result from another chassis under the same name is not this node's."""
    one = replace(batch(healthy()), serials={"gpu-a01": "SN-of-another"})
    judgements, _ = JudgeGx(ShippedFiles()).judge(one)  # type: ignore[arg-type]
    assert (judgements[0].verdict, judgements[0].reasons[0].code) == (Verdict.INVALID, "wrong_document")


def test_both_judges_say_the_same_words() -> None:
    """The judgement, sentences included, is that of the reference implementation."""
    document = spoilt(lambda one: find(one, "nvlinks_up", "gpu/2").update(value=17))
    assert judge(document)[0] == judged_purely(document)
