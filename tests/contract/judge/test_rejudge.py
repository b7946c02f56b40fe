"""A first wave of a new key: it stops, its figures teach, a person agrees, and the evidence decides by itself."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.evidence_archive import archive
from nodeworthy.adapters.evidence_offline import OfflineEvidence
from nodeworthy.adapters.library_in_force import LibraryInForce
from nodeworthy.adapters.page_jinja import JinjaPage
from nodeworthy.adapters.page_learning import LearningPage
from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.evidence.dossier import manifest_document
from nodeworthy.evidence.inventory import Component, ComponentKind
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.records import Placement
from nodeworthy.ports import JudgingBatch, Library
from nodeworthy.procedures.judge_wave import Judging, judge_wave
from nodeworthy.procedures.learn import Teaching, learn
from nodeworthy.procedures.rejudge import rejudge
from nodeworthy.procedures.segments import PLAN
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import Context, build_rows
from nodeworthy.qualification.validation import validation_document
from nodeworthy.qualification.versions import BaselineVersion, NewVersion

from tests.contract.judge.test_judge_wave import GOLDEN, SIGNER, Court, court
from tests.doubles.bench import RUN, library
from tests.unit.qualification.written_results import healthy


class Forgetful:
    """The shipped files without any baseline of the collective's bandwidth: a new key."""

    def __getattr__(self, name: str) -> Any:
        return getattr(library(), name)

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return all but one key."""
        return tuple(row for row in library().baselines(sku) if row.metric != "bus_bandwidth")


class Book:
    """The BaselineBook port in memory: one SKU, eight nodes that measured the same."""

    def __init__(self, results: tuple[StoredResult, ...]) -> None:
        self.versions: tuple[BaselineVersion, ...] = ()
        self.results = results

    def propose_baselines(self, proposal: NewVersion) -> BaselineVersion:
        """Store a proposal."""
        moment = court().bench.work.clock.now()
        version = BaselineVersion(
            proposal.sku, 1, proposal.document, proposal.sha256, proposal.evidence, proposal.run, moment, "", "", "",
            None, None, "", "",
        )  # fmt: skip
        self.versions = (version,)
        return version

    def approve(self) -> None:
        """A person agrees."""
        self.versions = (replace(self.versions[0], answer="approve", who="ada", why="agreed"),)

    def baseline_versions(self, sku: str = "") -> tuple[BaselineVersion, ...]:
        """Return all versions."""
        return self.versions

    def past_results(self, sku: str, suite: str = "", *, every: bool = False) -> tuple[StoredResult, ...]:
        """Return the fleet's results."""
        return tuple(one for one in self.results if suite in ("", one.suite))

    def answer_baselines(self, sku: str, number: int, *, who: str, answer: str, why: str) -> BaselineVersion:
        """Not asked here."""
        raise NotImplementedError

    def withdraw_baselines(self, sku: str, number: int, *, who: str, why: str) -> BaselineVersion:
        """Not asked here."""
        raise NotImplementedError


@dataclass
class OfLibrary:
    """The Judge port by the reference implementation, with whatever the library has in force now."""

    library: Library
    asked: int = 0

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Judge one node's result."""
        self.asked += 1
        (one,) = batch.results
        sku = batch.skus[one.node]
        off = [row["test"] for row in one.switched_off]
        suite = self.library.suite(one.suite).on(sku.vendor).without(off)
        context = Context(one, suite, sku, self.library.baselines(sku.name), sku.firmware_set, batch.serials[one.node])
        rows = build_rows([context])
        failed = failed_checks(rows, suite.checks())
        return (decide(Case(one, suite, rows, failed)),), validation_document(
            suite, {one.node: rows}, failed, "reference"
        )


@dataclass
class FirstWave:
    """A court whose library lacks a baseline, and what it learns from."""

    court: Court
    book: Book
    judge: OfLibrary

    @property
    def judging(self) -> Judging:
        """What judging needs."""
        return Judging(self.judge, JinjaPage(), lambda: SIGNER, lambda: GOLDEN)

    def teaching(self, minimum: int) -> Teaching:
        """What learning needs, with a small minimum population."""
        rule = replace(library().learning_rule(), minimum_population=minimum)
        return Teaching(self.book, rule, LearningPage())


def first_wave() -> FirstWave:
    """Judge a healthy node of a key that nobody knows."""
    one = court()
    stored = one.bring(healthy())
    book = Book((stored,))
    known = LibraryInForce(Forgetful(), book.baseline_versions)
    one.bench.work = replace(one.bench.work, library=known)  # type: ignore[type-var]
    wave = FirstWave(one, book, OfLibrary(known))
    judge_wave(RUN, Scope.HARDWARE, one.bench.work, wave.judging)
    return wave


def newest(wave: FirstWave) -> Judgement:
    """Return the node's newest judgement."""
    return wave.court.bench.ledger.judgements("gpu-a01")[0]


def test_a_new_key_stops_before_admission_and_the_evidence_decides_later() -> None:
    """Incomplete for want of a baseline; then proposed, approved, judged again from the dossier, and burned in."""
    wave = first_wave()
    assert (newest(wave).verdict, wave.court.milestone) == (Verdict.INCOMPLETE, "validation_booted")
    assert {reason.code for reason in newest(wave).reasons} == {"no_baseline"}
    proposed = learn("learn/1", "h100-sxm-8", wave.court.bench.work, wave.teaching(1))
    assert "1 past verdicts would have been another" in proposed.sentence
    assert rejudge(RUN, ["gpu-a01"], wave.court.bench.work, wave.judging)[0].verdict == "incomplete"


def test_a_test_that_the_pool_had_switched_off_does_not_count_as_missing_when_learning() -> None:
    """The proposal shows what would be decided: a result without the switched-off test passes by the new limits."""
    one = court()
    off = {"test": "nvlink.bandwidth", "why": "switch maintenance", "who": "ada", "until": "2026-12-08T00:00:00+00:00"}
    nonce = one.bench.ledger.nonce(one.bench.lease, "hardware")
    one.bench.ledger.intend(one.bench.lease, PLAN, "hardware", {"plan": {"nonce": nonce, "switched_off": [off]}})
    document = healthy()
    for rows in ("measurements", "tests"):
        document[rows] = [row for row in document[rows] if row["test"] != "nvlink.bandwidth"]
    book = Book((one.bring(document),))
    known = LibraryInForce(Forgetful(), book.baseline_versions)
    one.bench.work = replace(one.bench.work, library=known)  # type: ignore[type-var]
    learn("learn/1", "h100-sxm-8", one.bench.work, FirstWave(one, book, OfLibrary(known)).teaching(1))
    (proposal,) = [json.loads(c) for p, c in one.bench.store.content.items() if p.endswith("proposal.json")]
    (change,) = proposal["changes"]
    assert (change["before"]["verdict"], change["after"]["verdict"]) == ("incomplete", "pass")


def test_after_the_approval_the_node_moves_without_a_new_test() -> None:
    """One result, two judgements, two dossiers; the second one's baselines hold what was learnt."""
    wave = first_wave()
    learn("learn/1", "h100-sxm-8", wave.court.bench.work, wave.teaching(1))
    wave.book.approve()
    (summary,) = rejudge(RUN, ["gpu-a01"], wave.court.bench.work, wave.judging)
    assert (summary.verdict, wave.court.milestone) == (Verdict.PASS, "burned_in")
    first, second = wave.court.bench.ledger.judgements("gpu-a01")[::-1]
    assert first.dossier != second.dossier
    assert second.dossier is not None
    folder = second.dossier.path.rpartition("/")[0]
    baselines = json.loads(wave.court.bench.store.content[f"{folder}/baselines.json"])["baselines"]["baselines"]
    assert [row["sample_size"] for row in baselines if row["metric"] == "bus_bandwidth"] == [1]
    assert rejudge(RUN, ["gpu-a01"], wave.court.bench.work, wave.judging) == ()


def test_too_small_a_fleet_learns_nothing() -> None:
    """The refusal says how many nodes were measured and how many are needed."""
    wave = first_wave()
    with pytest.raises(Refused, match="1 nodes were measured and 8 are needed"):
        learn("learn/1", "h100-sxm-8", wave.court.bench.work, wave.teaching(8))


def test_the_proposals_page_stands_alone() -> None:
    """Old against new as inline SVG, the verdicts that change, and no outside link or script."""
    wave = first_wave()
    learn("learn/1", "h100-sxm-8", wave.court.bench.work, wave.teaching(1))
    stored = wave.court.bench.store.content
    (page,) = [text.decode() for path, text in stored.items() if "proposal" in path and path.endswith("html")]
    assert page.count("<svg") == 1
    assert "SIMULATED" in page
    assert "gpu-a01 incomplete" in page
    assert not any(word in page for word in ("http:", "https:", "<script", "src="))


def dossier_folder(folder: Path) -> Path:
    """Write one passing node's evidence as files and return the dossier's folder."""
    one = court()
    one.bring(healthy())
    one.run()
    for path, content in one.bench.store.content.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return next(folder.rglob("manifest.json")).parent


def test_a_whole_dossier_verifies_offline_in_its_place_and_alone(tmp_path: Path) -> None:
    """From the folder of the store, and from a copy beside its raw outputs."""
    folder = dossier_folder(tmp_path / "store")
    evidence = OfflineEvidence(folder)
    assert evidence.dossier() == ()
    assert "the verdict follows from them to the byte" in evidence.summary
    copied = tmp_path / "alone"
    shutil.copytree(folder, copied)
    shutil.copy(folder.parent / "bundle.tar.gz", copied)
    assert OfflineEvidence(copied / "manifest.json").dossier() == ()


def test_any_missing_file_and_any_changed_byte_is_found(tmp_path: Path) -> None:
    """Every file of the dossier in turn, the manifest's own words included."""
    folder = dossier_folder(tmp_path)
    for path in [*folder.iterdir(), folder.parent / "bundle.tar.gz"]:
        content = path.read_bytes()
        if path.name != "manifest.json":
            path.unlink()
            assert OfflineEvidence(folder).dossier(), path.name
        path.write_bytes(content.replace(b"pass", b"fail", 1) if b"pass" in content else content[:-1] + b"?")
        try:
            assert OfflineEvidence(folder).dossier(), path.name
        except Permanent:
            assert path.name == "manifest.json"
        path.write_bytes(content)
    assert OfflineEvidence(folder).dossier() == ()


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    """Change a dossier's verdict and its manifest with it, and return what is wrong."""
    verdict = json.loads((folder / "verdict.json").read_text())
    change(verdict)
    content = canonical_json(verdict)
    (folder / "verdict.json").write_bytes(content)
    rows = json.loads((folder / "manifest.json").read_text())["files"]
    files = {row["name"]: EvidenceReference(row["path"], row["sha256"], row["size_bytes"]) for row in rows}
    path = files["verdict.json"].path
    files["verdict.json"] = EvidenceReference(path, sha256_hex(content), len(content))
    (folder / "manifest.json").write_bytes(canonical_json(manifest_document(verdict, files)))
    return OfflineEvidence(folder).dossier()


def test_other_words_are_told_from_another_verdict(tmp_path: Path) -> None:
    """A later version may word a sentence otherwise; what was decided and read must follow in any version."""
    folder = dossier_folder(tmp_path)
    assert rewritten(folder, lambda verdict: None) == ()
    (words,) = rewritten(folder, lambda verdict: verdict.update(sentence="gpu-a01 passed."))
    assert "follows from the evidence in all but its sentences" in words
    (problem,) = rewritten(folder, lambda verdict: verdict.update(verdict="fail"))
    assert "does not follow from the evidence: judged again it is pass" in problem


def test_the_vendors_archive_holds_every_dossier_and_verifies_unpacked(tmp_path: Path) -> None:
    """Same ledger, same bytes; unpacked, the dossier verifies; an unknown node is refused."""
    one = court()
    one.bring(healthy())
    one.run()
    packed = archive("gpu-a01", one.bench.ledger, one.bench.store)
    assert packed == archive("gpu-a01", one.bench.ledger, one.bench.store)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(tmp_path, filter="data")
    index = json.loads((tmp_path / "index.json").read_text())
    assert (index["node"], index["simulated"], len(index["judgements"])) == ("gpu-a01", True, 1)
    assert OfflineEvidence((tmp_path / index["judgements"][0]["dossier"]).parent).dossier() == ()
    whole = OfflineEvidence(tmp_path)
    assert whole.is_archive
    assert whole.archive() == ()
    assert "files of gpu-a01" in whole.summary
    assert "1 dossiers follow from them" in whole.summary
    with pytest.raises(Refused, match="knows no node"):
        archive("gpu-z99", one.bench.ledger, one.bench.store)


def test_an_archive_that_was_changed_or_cut_is_noticed(tmp_path: Path) -> None:
    """The index holds the hash of every file, so a vendor and an operator speak of the same evidence."""
    one = court()
    one.bring(healthy())
    one.run()
    with tarfile.open(fileobj=io.BytesIO(archive("gpu-a01", one.bench.ledger, one.bench.store))) as tar:
        tar.extractall(tmp_path, filter="data")
    page, plan = (next(tmp_path.rglob(name)) for name in ("page.html", "plan.json"))
    page.write_bytes(page.read_bytes().replace(b"pass", b"fail"))
    plan.unlink()
    problems = OfflineEvidence(tmp_path).archive()
    assert any("page.html was changed" in problem for problem in problems)
    assert any("plan.json is missing: the archive was cut" in problem for problem in problems)


def test_the_archive_holds_every_file_of_the_node_and_where_its_parts_have_been(tmp_path: Path) -> None:
    """An inventory that no judgement names goes along; a raw output that retention took is named and excuses itself."""
    one = court()
    one.bring(healthy())
    one.run()
    ledger, store = one.bench.ledger, one.bench.store
    (bundle,) = [path for path in store.content if path.endswith("bundle.tar.gz")]
    serial = bundle.split("/")[1]
    inventory = store.put(f"nodes/{serial}/1/inventory-1.json", b"{}")
    gpu = Component(ComponentKind.GPU, "GPU_SXM_1", "H100", "G1")
    moved = Placement("gpu-a07", replace(gpu, slot="GPU_SXM_5"), datetime(2026, 1, 2, tzinfo=UTC), None)
    ledger.places = {"gpu-a01": [Placement("gpu-a01", gpu, moved.since, moved.since)], "gpu-a07": [moved]}
    del store.content[bundle]
    with tarfile.open(fileobj=io.BytesIO(archive("gpu-a01", ledger, store))) as tar:
        tar.extractall(tmp_path, filter="data")
    index = json.loads((tmp_path / "index.json").read_text())
    assert inventory.path in index["sha256"]
    assert index["no_longer_kept"] == [bundle]
    (part,) = index["components"]
    assert [(place["node"], place["slot"]) for place in part["places"]] == [
        ("gpu-a01", "GPU_SXM_1"),
        ("gpu-a07", "GPU_SXM_5"),
    ]
    whole = OfflineEvidence(tmp_path)
    assert whole.archive() == ()
    assert "1 files were not kept any more" in whole.summary


def test_what_lies_higher_up_never_stands_in_for_a_file_that_is_gone(tmp_path: Path) -> None:
    """A copy below the store lacks its plan, which the store still has; a stranger in the folder is named."""
    folder = dossier_folder(tmp_path / "store")
    copied = tmp_path / "store" / "copies" / "alone"
    shutil.copytree(folder, copied)
    shutil.copy(folder.parent / "bundle.tar.gz", copied)
    (copied / "notes.txt").write_text("mine")
    evidence = OfflineEvidence(copied)
    assert evidence.dossier() == ()
    assert "No part of the dossier: notes.txt." in evidence.summary
    (copied / "plan.json").unlink()
    (problem,) = OfflineEvidence(copied).dossier()
    assert "plan.json is missing" in problem


def test_an_index_that_was_changed_is_one_sentence(tmp_path: Path) -> None:
    """Whatever key of it no longer stands there."""
    for index in ({"schema": "nodeworthy.rma/1"}, {"schema": "nodeworthy.rma/1", "sha256": [], "node": 1, "serial": 2}):
        (tmp_path / "index.json").write_text(json.dumps(index))
        (problem,) = OfflineEvidence(tmp_path).archive()
        assert "is no index of an archive" in problem


def test_limits_that_change_while_a_wave_is_judged_count_for_nothing() -> None:
    """What the dossier holds must be what the judge saw: an approval in between ends the judging, to be tried again."""
    wave = first_wave()
    learn("learn/1", "h100-sxm-8", wave.court.bench.work, wave.teaching(1))

    class Overtaken(OfLibrary):
        def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
            """Judge, while a person answers."""
            answer = super().judge(batch)
            wave.book.approve()
            return answer

    wave.judge = Overtaken(wave.judge.library)
    with pytest.raises(Transient, match="judge it again"):
        rejudge(RUN, ["gpu-a01"], wave.court.bench.work, wave.judging)
    assert len(wave.court.bench.ledger.judgements("gpu-a01")) == 1
