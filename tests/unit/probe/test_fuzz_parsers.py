"""Whatever happens to a tool's output, no reader crashes and no damaged figure looks whole.

Destructive mutations (cuts, lost lines, overwritten and doubled stretches) are applied to good
outputs; a figure that is still given must be the original within what the tool itself rounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nodeworthy_probe.parsers import dcgm, dcgm_text, event_log, kernel_log, lldp, nccl_tests, nvbandwidth, tpm_quote
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.readings import bandwidth, collective, gpu_diag, gpu_identity
from nodeworthy_probe.readings.context import Context, Interpreter

from lab.tools import all_reduce_perf, dcgmi
from lab.tools import nvbandwidth as fake_nvbandwidth
from lab.tools.view import NodeView
from tests.data import node_views
from tests.unit.probe.test_parse_nvbandwidth import TEXT

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAN = read_plan(json.dumps(node_views.plan()))


def _good_outputs(tmp_folder: str = "/nonexistent") -> dict[str, str]:
    view = NodeView(node_views.view(), Path(tmp_folder))
    specs = {spec.test: spec for spec in PLAN.tests}
    return {
        "gpu.diag": dcgmi.run("dcgmi", list(specs["gpu.diag"].arguments), view).text,
        "pcie.bandwidth": fake_nvbandwidth.run("nvbandwidth", list(specs["pcie.bandwidth"].arguments), view).text,
        "nvlink.bandwidth": fake_nvbandwidth.run("nvbandwidth", list(specs["nvlink.bandwidth"].arguments), view).text,
        "collective.all_reduce": all_reduce_perf.run("x", ["-b", "1G", "-e", "8G", "-f", "2", "-g", "8"], view).text,
    }


GOOD = _good_outputs()
READERS: dict[str, Interpreter] = {
    "gpu.diag": gpu_diag.read,
    "pcie.bandwidth": bandwidth.read,
    "nvlink.bandwidth": bandwidth.read,
    "collective.all_reduce": collective.read,
    "gpu.identity": gpu_identity.read,
}


def _context(test: str) -> Context:
    return Context(PLAN, next(spec for spec in PLAN.tests if spec.test == test))


def _values(test: str, text: str) -> dict[tuple[str, str], float | None]:
    return {(row.component, row.metric): row.value for row in READERS[test](text, _context(test)).measurements}


def _mutate(text: str, at: int, length: int, filler: str, how: str) -> str:
    start = at % max(len(text), 1)
    if how == "cut":
        return text[:start]
    if how == "drop":
        return text[:start] + text[start + length :]
    if how == "overwrite":
        return text[:start] + filler[:length] + text[start + length :]
    lines = text.splitlines(keepends=True)
    line = at % max(len(lines), 1)
    return "".join(lines[:line] + lines[line + 1 :])


mutations = st.tuples(
    st.integers(0, 1_000_000),
    st.integers(1, 40),
    st.text(min_size=40, max_size=40),
    st.sampled_from(["cut", "drop", "overwrite", "line"]),
)


@QUICK
@given(test=st.sampled_from(sorted(GOOD)), mutation=mutations)
def test_a_damaged_output_gives_the_true_figure_or_none(test: str, mutation: tuple[int, int, str, str]) -> None:
    """Every number that survives the damage is the one that was printed, within 0.5 %."""
    truth = _values(test, GOOD[test])
    seen = _values(test, _mutate(GOOD[test], *mutation))

    for key, value in seen.items():
        if value is None or key[1] in ("diag_tests_run", "diag_tests_skipped"):
            continue
        original = truth.get(key)
        assert original is not None
        if key[1] not in ("diag_failures", "diag_config_failures") or value < original:
            assert abs(value - original) <= 0.005 * abs(original), (key, original, value)


@QUICK
@given(test=st.sampled_from(sorted(READERS)), text=st.text(max_size=400))
def test_arbitrary_text_gives_no_figure(test: str, text: str) -> None:
    """Readers neither raise nor find a number in noise."""
    assert all(value is None for value in _values(test, text).values())


@QUICK
@given(text=st.text(max_size=400), blob=st.binary(max_size=400))
def test_parsers_never_raise(text: str, blob: bytes) -> None:
    """The bare parsers hold for text and bytes of any kind."""
    parsers: tuple[Callable[[str], object], ...] = (
        nccl_tests.parse,
        nvbandwidth.parse,
        dcgm.parse,
        kernel_log.parse,
        tpm_quote.parse,
        dcgm_text.parse_table,
        dcgm_text.parse_links,
        lldp.parse,
    )
    for parse in parsers:
        parse(text)
        parse(blob.decode("latin-1"))
    event_log.parse(blob)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    "nvbandwidth",
    "testcases",
    "name",
    "status",
    "bandwidth_matrix",
    "test_categories",
    "tests",
    "results",
    "entity_id",
    "entity_group",
    "warnings",
    "test_summary",
    "gpus",
    "gpu_count",
    "values",
    "index",
]


@QUICK
@given(
    test=st.sampled_from(["gpu.diag", "pcie.bandwidth", "nvlink.bandwidth", "gpu.identity"]),
    root=st.sampled_from(["nvbandwidth", "DCGM Diagnostic", "DCGM GPU Diagnostic", "gpu_count"]),
    value=st.recursive(
        JSON_VALUES,
        lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=5) | st.lists(inner, max_size=3),
        max_leaves=12,
    ),
)
def test_json_of_a_wrong_shape_never_raises(test: str, root: str, value: object) -> None:
    """Known keys with values of the wrong kind."""
    READERS[test](json.dumps({root: value}), _context(test))


@QUICK
@given(mutation=mutations)
def test_a_damaged_text_matrix_is_never_verified_with_other_cells(mutation: tuple[int, int, str, str]) -> None:
    """The text form of nvbandwidth under the same damage."""
    report = nvbandwidth.parse(_mutate(TEXT, *mutation))
    case = report.testcase("device_to_device_memcpy_read_ce")

    if report.problem is None and case is not None and case.verified:
        assert case.cells == (396.10, 395.90)
