"""A node against its own earlier runs: what is remarked on, what is not, and that a dossier holds all it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.evidence.history import Figure
from nodeworthy.evidence.verdicts import Judgement, Verdict
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import Context, build_rows
from nodeworthy.qualification.own_history import (
    History,
    figure_of,
    figures_of,
    history_from_document,
    history_of,
    parts_of,
)
from nodeworthy.qualification.statistical_rules import rules_from_document
from nodeworthy.qualification.validation import part_of, validation_document

from tests.unit.qualification.written_results import H100, INCLUDE, ShippedFiles, degraded, healthy, stored

RULES = yaml.safe_load((INCLUDE / "statistics" / "combined.yaml").read_text("utf-8"))
OWN = rules_from_document(RULES, "combined.yaml").own_history
FILES = ShippedFiles()
SUITE, BASELINES = FILES.suite("l1"), FILES.baselines("h100-sxm-8")


def judged(document: dict[str, Any], history: History | None) -> Judgement:
    """Judge one result with its node's history, by the reference implementation."""
    kept = stored(document)
    rows = build_rows([Context(kept, SUITE, H100, BASELINES, H100.firmware_set)])
    return decide(Case(kept, SUITE, rows, failed_checks(rows, SUITE.checks()), history=history))


def run(document: dict[str, Any]) -> tuple[Figure, ...]:
    """Return what a result adds to its node's history."""
    kept = stored(document)
    rows = build_rows([Context(kept, SUITE, H100, BASELINES, H100.firmware_set)])
    whole = validation_document(
        SUITE, {kept.node: rows}, failed_checks(rows, SUITE.checks()), "the reference implementation"
    )
    return figures_of(kept, part_of(whole, kept.node)).figures


def lower(percent: float, gpu: int = 4) -> dict[str, Any]:
    """A result in which one GPU's links lost so much."""
    document = healthy()
    degraded(document, gpu, percent / 100)
    return document


def serials(document: dict[str, Any], *names: str) -> dict[str, Any]:
    """Give the GPUs of a result their serials."""
    texts = [{"component": f"gpu/{number}", "name": "serial", "value": name} for number, name in enumerate(names)]
    return {**document, "texts": texts}


def test_a_slow_decline_is_noticed_and_fails_nobody() -> None:
    """Twenty sound runs, then 2 % less in every run: each passes its limits, and it is noticed."""
    history = history_of([run(healthy())] * 20 + [run(lower(2))] * 10, OWN)
    found = judged(lower(2), history)
    assert found.verdict is Verdict.PASS
    said = {one.component: one.sentence for one in found.remarks}
    assert set(said) == {"gpu/4", "node"}, "the GPU's links, and the collective that waits for them"
    assert "gpu/4 peer_bandwidth median declines" in said["gpu/4"]
    assert "2.0 % below its own first 20" in said["gpu/4"]
    assert found.sentence.endswith("Noticed: " + found.remarks[0].sentence + " (and 1 more).")


def test_a_steady_node_and_a_short_history_are_not_remarked_on() -> None:
    """A node that always read 2 % low has not declined, and nothing is said before the first runs are there."""
    assert judged(lower(2), history_of([run(lower(2))] * 40, OWN)).remarks == ()
    assert judged(lower(2), history_of([run(healthy())] * 18, OWN)).remarks == ()
    assert judged(lower(2), None).remarks == ()


def test_a_small_decline_is_not_material() -> None:
    """Half a per cent for ever adds up beyond any limit of a sum, and is less than any fault that is looked for."""
    assert judged(lower(0.5), history_of([run(healthy())] * 20 + [run(lower(0.5))] * 100, OWN)).remarks == ()


def test_what_recovered_is_over() -> None:
    """After a repair the latest runs are as the first: nothing is remarked on, whatever the sum still is."""
    history = history_of([run(healthy())] * 20 + [run(lower(2))] * 10 + [run(healthy())] * 3, OWN)
    assert judged(healthy(), history).remarks == ()


def test_an_exchanged_part_has_no_history() -> None:
    """Figures of GPU 4 are those of the part with that serial: another part in its slot is not compared with it."""
    first = [f"S{number}" for number in range(8)]
    history = history_of([run(serials(healthy(), *first))] * 20 + [run(serials(lower(2), *first))] * 10, OWN)
    assert {one.part for one in judged(serials(lower(2), *first), history).remarks} == {"S4", ""}
    second = [*first[:4], "S99", *first[5:]]
    assert "gpu/4" not in {one.component for one in judged(serials(lower(2), *second), history).remarks}


def test_a_figure_that_fails_is_a_reason_and_no_remark() -> None:
    """A GPU that lies below its reference is said once: as the reason."""
    found = judged(lower(6), history_of([run(healthy())] * 20 + [run(lower(2))] * 10, OWN))
    assert found.verdict is Verdict.FAIL
    assert "gpu/4" not in {one.component for one in found.remarks}


def test_what_was_not_fit_enters_no_history() -> None:
    """A collective over the wrong transport says nothing about the node, now or later; the other tests do."""
    document = healthy()
    for row in (*document["measurements"], *document["tests"]):
        if row["test"] == "collective.all_reduce":
            row["transport"] = "P2P"
    tests = {figure.test for figure in run(document)}
    assert "collective.all_reduce" not in tests
    assert "nvlink.bandwidth" in tests


def test_counts_and_pairs_have_no_series() -> None:
    """Only figures that vary and belong to one part or to the node are kept."""
    figures = run(healthy())
    assert {figure.unit for figure in figures}.isdisjoint({"count", "bool", "bits"})
    assert all("-" not in figure.component for figure in figures)
    assert figure_of({"value": None, "expected_unit": "GB/s", "component": "gpu/0"}, {}) is None


def test_a_history_reads_back_as_it_was() -> None:
    """Frozen into a dossier and read again it is the same history; its form is its schema's."""
    history = history_of([run(serials(healthy(), "S0"))] * 3, OWN)
    document = json.loads(json.dumps(history.document()))
    Draft202012Validator(json.loads((INCLUDE / "schemas" / "history-1.json").read_text())).validate(document)
    assert history_from_document(document) == history
    with pytest.raises(Permanent, match=r"expected .nodeworthy\.history/1."):
        history_from_document({"schema": "nodeworthy.history/0"})


def test_serials_come_from_the_result() -> None:
    """Other texts of a component are not its serial."""
    rows = [
        {"component": "gpu/1", "name": "uuid", "value": "U"},
        {"component": "gpu/1", "name": "serial", "value": "S"},
    ]
    assert parts_of({"texts": rows}) == {"gpu/1": "S"}


def test_a_decline_is_written_below_zero() -> None:
    """A rule that could never speak is refused with its file."""
    rules = {**RULES, "own_history": {**RULES["own_history"], "percent": 1.0}}
    with pytest.raises(Permanent, match=r"combined\.yaml: own_history\.percent is 1"):
        rules_from_document(rules, "combined.yaml")


def test_the_shipped_rules_are_checked_by_their_schemas(tmp_path: Path) -> None:
    """The library reads both files of include/statistics; a figure that nobody reads is refused."""
    shipped = YamlLibrary(INCLUDE)
    assert shipped.statistics().own_history == OWN
    assert [option.name for option in shipped.selection().suites] == ["L1", "L2", "L3", "L3 twice"]
    (tmp_path / "statistics").mkdir()
    (tmp_path / "schemas").symlink_to(INCLUDE / "schemas")
    text = (INCLUDE / "statistics" / "combined.yaml").read_text("utf-8")
    (tmp_path / "statistics" / "combined.yaml").write_text(text.replace("settle: 20", "settle: 20, ewma: 0.2"))
    with pytest.raises(Permanent, match=r"combined\.yaml, line \d+: drift.*ewma"):
        YamlLibrary(tmp_path).statistics()
