"""A node's own history from judging to judging: kept, frozen into the dossier, and told apart by part and driver."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator
from nodeworthy.adapters.judge_gx import JudgeGx
from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.ports import JudgingBatch
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.frame import build_rows
from nodeworthy.qualification.own_history import figures_of, history_of
from nodeworthy.qualification.rejudge import rejudge
from nodeworthy.qualification.validation import part_of, validation_document

from tests.contract.judge.test_judge_wave import Court, court
from tests.doubles.bench import INCLUDE, library
from tests.unit.qualification.written_results import H100, ShippedFiles, context, degraded, find_test, healthy, stored


def dossier_files(one: Court) -> dict[str, bytes]:
    """Return the files of the dossier that was written, by name."""
    manifest = next(json.loads(c) for p, c in one.bench.store.content.items() if p.endswith("manifest.json"))
    return {file["name"]: one.bench.store.content[file["path"]] for file in manifest["files"]}


def figures(document: dict[str, Any]) -> tuple[Figure, ...]:
    """Return what a result adds to its node's history."""
    kept = stored(document)
    rows = build_rows([context(kept)])
    suite = ShippedFiles().suite("l1")
    whole = validation_document(
        suite, {kept.node: rows}, failed_checks(rows, suite.checks()), "the reference implementation"
    )
    return figures_of(kept, part_of(whole, kept.node)).figures


def weak(percent: float) -> dict[str, Any]:
    """A result with one GPU's links so much slower, above every limit."""
    document = healthy()
    degraded(document, 4, percent / 100)
    return document


def test_own_history_is_frozen_into_the_dossier() -> None:
    """A decline over earlier runs is noticed and passes; verdict and page follow from the dossier's files alone."""
    one = court()
    ran = [Figures(f"run-{number}", "", True, figures(healthy() if number < 20 else weak(2))) for number in range(30)]
    one.bench.ledger.histories["gpu-a01"] = {run.result_sha256: run for run in ran}
    one.bring(weak(2))
    (summary,) = one.run()
    assert summary.verdict is Verdict.PASS
    assert "Noticed: " in summary.sentence
    files = dossier_files(one)
    history = json.loads(files["history.json"])
    assert {len(row["values"]) for row in history["series"]} == {30}
    assert [row["code"] for row in json.loads(files["verdict.json"])["remarks"]] == ["own_drift", "own_drift"]
    assert rejudge(files) == files["verdict.json"]
    page = dossier_files(one)["page.html"].decode()
    assert "<h2>Own history</h2>" in page
    assert "gpu/4 nvlink.bandwidth peer_bandwidth, GB/s, 31 runs" in page
    assert "<h2>Noticed</h2>" in page
    assert page.count('class="history"') >= 2
    history["series"] = history["series"][:1]
    assert rejudge({**files, "history.json": json.dumps(history).encode()}) != files["verdict.json"]


def test_what_was_judged_joins_the_history() -> None:
    """The figures of a judged result are its node's history from then on, by the serials that it named."""
    one = court()
    texts = [{"component": "gpu/3", "name": "serial", "value": "S3"}]
    stored = one.bring({**healthy(), "texts": texts})
    one.run()
    kept = one.bench.ledger.histories["gpu-a01"][stored.bundle.sha256]
    assert kept.parts == {"gpu/3": "S3"}
    assert {figure.part for figure in kept.figures if figure.component == "gpu/3"} == {"S3"}
    assert "history.json" not in dossier_files(one), "the first run has no history"


def test_the_judge_and_the_reference_implementation_notice_the_same() -> None:
    """Great Expectations decides about rows; what is noticed beside them is the same, and only of the node it is of."""
    one, other = stored(weak(2)), stored({**weak(2), "node": "gpu-a02"})
    one = replace(one, bundle=replace(one.bundle, sha256="1" * 64))
    history = history_of([figures(healthy())] * 20 + [figures(weak(2))] * 10, library().statistics().own_history)
    batch = JudgingBatch(
        Scope.HARDWARE, (one, other), {one.node: H100, other.node: H100}, {}, {}, {one.bundle.sha256: history}
    )
    batch = replace(batch, firmware_sets=dict.fromkeys((one.node, other.node), H100.firmware_set))
    (noticed, plain), _ = JudgeGx(ShippedFiles()).judge(batch)
    assert {remark.component for remark in noticed.remarks} == {"gpu/4", "node"}
    assert (noticed.verdict, plain.verdict, plain.remarks) == (Verdict.PASS, Verdict.PASS, ())


def test_the_page_and_its_twin_say_who_approved_and_where_the_node_stands() -> None:
    """Both are frozen into the dossier: a manifest that changes later changes no page."""
    one = court()
    one.bring(healthy())
    one.run()
    files = dossier_files(one)
    context = json.loads(files["context.json"])
    Draft202012Validator(json.loads((INCLUDE / "schemas" / "context-1.json").read_text())).validate(context)
    assert context["approvals"] == [{"plan_sha256": "p", "who": "ada", "answer": "approve", "why": "agreed"}]
    assert (context["placement"]["pool"], context["placement"]["rack"]) == ("training", "A1")
    page = files["page.html"].decode()
    assert "pool training, rack A1, position 1" in page
    assert "<td>ada</td>" in page
    assert rejudge(files) == files["verdict.json"]


def test_a_second_try_stands_on_the_page() -> None:
    """Both values of a near miss, beside the test."""
    one = court()
    document = healthy()
    again = {"component": "gpu/3", "metric": "host_to_device_bandwidth", "statistic": "single", "unit": "GB/s"}
    find_test(document, "pcie.bandwidth")["second_try"] = [{**again, "first": 50.25, "second": 52.0}]
    one.bring(document)
    (summary,) = one.run()
    assert "passed on the second try" in summary.sentence
    page = dossier_files(one)["page.html"].decode()
    assert "<td>50.25</td><td>52</td>" in page
