"""The judge: Great Expectations, once per judging batch.

Importing the library costs seconds of CPU and 230 MB, so it happens inside `judge` and nowhere else. The suite file's
expectations run on one long frame with the rows of all nodes; what failed is read per row and never from the library's
own `success`. Whatever is odd about a validation (an expectation that raised, one that is missing, one that looked at
another number of rows) ends the judgement with an error: nothing passes by accident.
"""

from __future__ import annotations

import gc
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.ports import JudgingBatch, Library
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import COLUMNS, Context, Row, read_contexts
from nodeworthy.qualification.sku import Vendor
from nodeworthy.qualification.suites import Suite
from nodeworthy.qualification.validation import part_name, validation_document

_MAP_PREFIXES = ("expect_column_values_", "expect_column_pair_values_", "expect_compound_columns_")
_INDEX = ("row",)
_CHUNK = 1024
"""So many rows are turned into columns at once: they fit the processor's cache, half a million do not."""
_FIGURES = ("value", "floor", "most", "ceiling", "least", "reference_low", "slot_low", "slot_median")
_KINDS = {"row": "int64"} | dict.fromkeys((*_FIGURES, "evidence", "evidence_most"), "float64")
"""Kinds of the frame's columns; the others hold texts as they are, which saves turning millions of them over."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What one validation said: the codes each row failed, and with which version of the library."""

    failed: Mapping[int, tuple[str, ...]]
    engine: str


Ask = Callable[[Any, Any, Suite], list[Any]]
"""Asks the library, once: the module, the frame of all rows, the suite; one answer per expectation."""

_Asked = dict[tuple[frozenset[str], Vendor], Suite]
"""Suites by what was left out and whose tools were used."""


class JudgeGx:
    """Implements `ports.Judge` with suites and baselines from the library of files; `ask` is how GX is asked."""

    def __init__(self, library: Library, ask: Ask | None = None) -> None:
        self._library = library
        self._ask = ask or ask_gx

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Return one judgement per result and the validation document. Permanent when the validation is in doubt."""
        if not batch.results:
            return (), {}
        with _collector_paused():
            return self._judge(batch, self._suite(batch.results))

    def _judge(self, batch: JudgingBatch, suite: Suite) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        baselines = {sku.name: self._library.baselines(sku.name) for sku in batch.skus.values()}
        asked: _Asked = {}
        read = list(
            read_contexts(
                _context(stored, _asked(stored, suite, batch.skus[stored.node].vendor, asked), batch, baselines)
                for stored in batch.results
            )
        )
        rows = tuple(row for _, _, of_node in read for row in of_node)
        if not rows:
            raise Permanent(
                f"Suite {suite.name} demands no figure for scope {batch.scope}: add tests with metrics to it."
            )
        validation = validate(rows, suite, self._ask)
        judgements = tuple(
            decide(
                Case(
                    context.stored,
                    context.suite,
                    of_node,
                    validation.failed,
                    result,
                    batch.histories.get(context.stored.bundle.sha256),
                )
            )
            for context, result, of_node in read
        )
        parts = {part_name(context.stored.node, context.stored.segment): of_node for context, _, of_node in read}
        return judgements, validation_document(suite, parts, validation.failed, validation.engine)

    def _suite(self, results: Sequence[StoredResult]) -> Suite:
        names = {stored.suite for stored in results}
        parts = [(stored.node, stored.segment) for stored in results]
        if len(names) != 1 or len(set(parts)) != len(parts):
            raise Permanent(
                "A judging batch holds results of one suite, one per node and segment: split it and judge the parts."
            )
        return self._library.suite(names.pop())


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking half a million rows again and again: it takes half the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Through the permanent generation and back, what was made goes to the oldest one without being walked.
        gc.freeze()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _asked(stored: StoredResult, suite: Suite, vendor: Vendor, known: _Asked) -> Suite:
    """Return the suite as this result's plan asked for it; results that asked for the same get the same object."""
    off = frozenset(row["test"] for row in stored.switched_off)
    if (off, vendor) not in known:
        known[off, vendor] = suite.on(vendor).without(off)
    return known[off, vendor]


def _context(
    stored: StoredResult, suite: Suite, batch: JudgingBatch, baselines: Mapping[str, Sequence[Baseline]]
) -> Context:
    sku = batch.skus[stored.node]
    return Context(
        stored=stored,
        suite=suite,
        sku=sku,
        baselines=baselines[sku.name],
        firmware_set=batch.firmware_sets.get(stored.node, ""),
        serial=batch.serials.get(stored.node, ""),
    )


def load() -> Any:
    """Import Great Expectations, silent and without its telemetry. It takes seconds of CPU the first time."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # While it is imported it tells of hundreds of its functions.
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    import great_expectations
    from great_expectations.data_context.types import base

    # It sets its own level and tells at each judgement of a folder that nothing is ever written to.
    logging.getLogger(base.__name__).setLevel(logging.WARNING)
    return great_expectations


def validate(rows: Sequence[Row], suite: Suite, ask: Ask | None = None) -> Validation:
    """Run the suite's expectations on the rows, once. Permanent when the library breaks or looked at something else."""
    gx = load()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = (ask or ask_gx)(gx, _frame(rows), suite)
    except Exception as error:
        # The library's errors have no common root, and none of them may become a pass.
        raise Permanent(
            f"The judge could not validate {len(rows)} rows of suite {suite.name} ({type(error).__name__}: {error}): "
            "nothing was judged; correct the suite file and judge again."
        ) from error
    return Validation(_failed(results, rows, suite), f"great_expectations {gx.__version__}")


def _frame(rows: Sequence[Row]) -> Any:
    import numpy
    import pandas

    columns: list[list[Any]] = [[] for _ in COLUMNS]
    for start in range(0, len(rows), _CHUNK):
        for column, part in zip(columns, zip(*rows[start : start + _CHUNK], strict=True), strict=False):
            column.extend(part)
    made = {}
    for name, column in zip(COLUMNS, columns, strict=True):
        kind = _KINDS.get(name, "object")
        made[name] = pandas.Series(numpy.array(column, kind), dtype=kind, copy=False)
    return pandas.DataFrame(made, copy=False)


def ask_gx(gx: Any, frame: Any, suite: Suite) -> list[Any]:
    """Return what the library answers to each expectation of the suite about the frame."""
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    expectations = context.suites.add(gx.ExpectationSuite(**_suite_document(suite)))
    asset = context.data_sources.add_pandas("judging_batch").add_dataframe_asset("rows")
    definition = gx.ValidationDefinition(
        name="judgement", data=asset.add_batch_definition_whole_dataframe("all"), suite=expectations
    )
    result = definition.run(
        batch_parameters={"dataframe": frame},
        expectation_parameters={"rows": len(frame)},
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": list(_INDEX)},
    )
    return list(result.results)


def _suite_document(suite: Suite) -> dict[str, Any]:
    return {"name": suite.name, "expectations": [dict(row) for row in suite.expectations["expectations"]], "meta": {}}


def _failed(results: Sequence[Any], rows: Sequence[Row], suite: Suite) -> dict[int, tuple[str, ...]]:
    order = {check.code: check.order for check in suite.checks()}
    answered = [result.expectation_config.meta["code"] for result in results]
    if sorted(answered) != sorted(order):
        raise Permanent(
            f"The judge answered {len(answered)} of {len(order)} expectations of suite {suite.name}: nothing was "
            "judged; read the validation in this task's log and correct the suite file."
        )
    failed: dict[int, list[str]] = {}
    for code, result in zip(answered, results, strict=True):
        for number in _failing_rows(code, result, rows):
            failed.setdefault(number, []).append(code)
    return {number: tuple(sorted(codes, key=order.__getitem__)) for number, codes in failed.items()}


def _failing_rows(code: str, result: Any, rows: Sequence[Row]) -> list[int]:
    kind = result.expectation_config.type
    if _raised(result.exception_info):
        raise Permanent(
            f"Expectation {code} raised an error inside the judge: nothing was judged; correct the suite file."
        )
    if not kind.startswith(_MAP_PREFIXES):
        if not result.success:
            raise Permanent(f"Expectation {code} does not hold for the frame of {len(rows)} rows: nothing was judged.")
        return []
    if result.result.get("element_count") != len(rows):
        raise Permanent(
            f"Expectation {code} looked at {result.result.get('element_count')} of {len(rows)} rows: "
            "nothing was judged; correct the suite file."
        )
    failing = [int(index["row"]) for index in result.result.get("unexpected_index_list") or ()]
    if bool(failing) == bool(result.success):
        raise Permanent(f"Expectation {code} failed without naming a row: nothing was judged; correct the suite file.")
    return failing


def _raised(exception_info: Any) -> bool:
    """Tell whether the library caught an error; it keeps one record, or one per metric."""
    if not isinstance(exception_info, Mapping):
        return True
    if "raised_exception" in exception_info:
        return bool(exception_info["raised_exception"])
    return any(_raised(inner) for inner in exception_info.values())
