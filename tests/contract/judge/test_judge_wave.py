"""Judging a wave end to end on the bench: dossier, record, move, certificate; and again after a crash anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.adapters.page_jinja import JinjaPage
from nodeworthy.adapters.signer_ed25519 import Ed25519Keys, Ed25519Signer
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.certificate import problems_of_certificate
from nodeworthy.evidence.dossier import verify_dossier
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.records import Hold
from nodeworthy.ports import JudgingBatch
from nodeworthy.procedures import judge_wave as module
from nodeworthy.procedures.judge_wave import Judging, judge_wave
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import Context, read_contexts
from nodeworthy.qualification.rejudge import rejudge
from nodeworthy.qualification.suites import Suite
from nodeworthy.qualification.validation import part_name, validation_document

from tests.doubles.bench import INCLUDE, RUN, SERIAL, Bench, bench, library
from tests.doubles.crash import Fuse, Killed, fused
from tests.unit.qualification.written_results import degraded, find, find_test, healthy, whole

SIGNER = Ed25519Signer("key-1", bytes(range(32)))
GOLDEN = {"HostBIOS_0/1.06.07": "a" * 64, "service-2026.11": "b" * 64, "secure-boot/enabled": "c" * 64}


class ReferenceJudge:
    """The Judge port by the reference implementation: what the procedure does is the same for any judge."""

    def __init__(self, files: Any = None) -> None:
        self.files = files or library()
        self.batches: list[JudgingBatch] = []

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Judge without Great Expectations."""
        self.batches.append(batch)
        suite = self.files.suite(batch.results[0].suite)
        baselines = {name: self.files.baselines(name) for name in {sku.name for sku in batch.skus.values()}}
        contexts = [
            Context(
                one,
                suite,
                batch.skus[one.node],
                baselines[batch.skus[one.node].name],
                batch.firmware_sets[one.node],
                batch.serials[one.node],
            )
            for one in batch.results
        ]
        read = list(read_contexts(contexts))
        failed = failed_checks([row for _, _, rows in read for row in rows], suite.checks())
        judgements = tuple(
            decide(Case(context.stored, suite, rows, failed, history=batch.histories.get(context.stored.bundle.sha256)))
            for context, _, rows in read
        )
        parts = {part_name(context.stored.node, context.stored.segment): rows for context, _, rows in read}
        return judgements, validation_document(suite, parts, failed, "the reference implementation")


@dataclass
class Court:
    """A bench with a judge."""

    bench: Bench
    judge: ReferenceJudge

    def judging(self) -> Judging:
        """What judging needs."""
        return Judging(self.judge, JinjaPage(), lambda: SIGNER, lambda: GOLDEN)

    def run(self, scope: Scope = Scope.HARDWARE) -> tuple[module.Summary, ...]:
        """Judge what waits."""
        return judge_wave(RUN, scope, self.bench.work, self.judging())

    def bring(self, document: dict[str, Any], scope: Scope = Scope.HARDWARE) -> StoredResult:
        """Store a result as `receive` does."""
        document = {
            **whole(document, library().sku("h100-sxm-8")),
            "serial": SERIAL,
            "nonce": self.bench.ledger.nonce(self.bench.lease, scope.value),
        }
        content = json.dumps(document).encode()
        name = f"nodes/{SERIAL}/1/{scope}-l1-{len(self.bench.store.content)}/bundle.tar.gz"
        bundle = self.bench.store.put(name, content)
        result = StoredResult("gpu-a01", 1, scope, "l1", bundle, document, judged=False)
        self.bench.ledger.record_result(self.bench.lease, result)
        return result

    @property
    def milestone(self) -> str:
        """Where the node stands."""
        return self.bench.ledger.nodes(["gpu-a01"])[0].milestone


def court(milestone: str = "validation_booted") -> Court:
    """A node that waits for its judgement, with its plan approved."""
    one = bench(milestone)
    one.ledger.record_approval(one.lease, plan_sha256="p", who="ada", answer="approve", why="agreed")
    return Court(one, ReferenceJudge())


def slow(gpu: int = 4) -> dict[str, Any]:
    """A result with one GPU's links 4 % slow."""
    document = healthy()
    degraded(document, gpu, 0.04)
    return document


def quoted() -> dict[str, Any]:
    """A healthy result that brings a quote."""
    return {**healthy(), "attestation": {"quote_base64": "", "nonce": "x"}}


def judged_platform() -> Court:
    """A node with both scopes judged."""
    one = court()
    one.bring(healthy())
    one.run()
    one.bench.ledger.put("gpu-a01", "provisioned")
    one.bring(quoted(), Scope.PLATFORM)
    one.run(Scope.PLATFORM)
    return one


def test_a_passing_node_is_burned_in_with_a_dossier() -> None:
    """Pass: the node moves, the qualification points to a manifest that verifies, its term is the policy's 90 days."""
    one = court()
    one.bring(healthy())
    (summary,) = one.run()
    assert (summary.verdict, summary.milestone, one.milestone) == (Verdict.PASS, "burned_in", "burned_in")
    (qualification,) = one.bench.ledger.qualifications("gpu-a01")
    assert qualification.expires_at - qualification.granted_at == timedelta(days=90)
    assert verify_dossier(qualification.dossier, one.bench.store.content.get) == ()
    assert summary.page.endswith("page.html")


def test_a_failing_node_is_quarantined_with_the_judges_sentence() -> None:
    """Fail: no qualification, isolated, and the sentence is the reason."""
    one = court()
    one.bring(slow())
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.FAIL, "quarantined")
    assert one.bench.ledger.qualifications("gpu-a01") == ()
    assert one.bench.ledger.moves[-1] == ("quarantine", {"reason": summary.sentence})
    assert "gpu/4 peer_bandwidth median" in summary.sentence


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda d: find(d, "persistence_mode", "gpu/1").update(value=0), Verdict.FAIL_CONFIG),
        (lambda d: find(d, "nvlinks_up", "gpu/1").update(value=None), Verdict.INCOMPLETE),
        (lambda d: find_test(d, "gpu.diag").update(execution="skipped"), Verdict.NOT_RUN),
        (lambda d: find_test(d, "gpu.diag").update(execution="crashed"), Verdict.TOOL_ERROR),
        (lambda d: d.update(node="gpu-b01"), Verdict.INVALID),
        (lambda d: find(d, "bus_bandwidth", "node").update(value=700.0), Verdict.IMPOSSIBLE),
    ],
)
def test_any_other_verdict_leaves_the_node_where_it_stands(change: Any, verdict: Verdict) -> None:
    """Neither moved nor quarantined nor qualified; judged all the same, with a page."""
    one = court()
    document = healthy()
    change(document)
    one.bring(document)
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (verdict, "validation_booted")
    assert one.bench.ledger.qualifications("gpu-a01") == ()
    assert one.bench.ledger.judgements("gpu-a01")[0].verdict is verdict


def test_both_scopes_make_a_certificate() -> None:
    """Attested, verified, certified: the certificate fits its schema, its key and the shorter of its terms."""
    one = judged_platform()
    assert one.milestone == "verified"
    reference, expires = one.bench.ledger.certificate("gpu-a01") or pytest.fail("no certificate")
    certificate = json.loads(one.bench.store.content[reference.path])
    jsonschema.validate(certificate, json.loads((INCLUDE / "schemas" / "certificate-1.json").read_text()))
    granted = max(q.granted_at for q in one.bench.ledger.qualifications("gpu-a01"))
    assert expires == granted + timedelta(days=30)
    assert certificate["simulated"] is True
    keys = Ed25519Keys({"key-1": SIGNER.public_key()})
    assert problems_of_certificate(certificate, keys.check, granted) == ()
    for scope in ("hardware", "platform"):
        assert certificate["qualifications"][scope]["dossier"]["path"] in one.bench.store.content


def test_a_quote_that_does_not_hold_keeps_the_node_out() -> None:
    """The platform's result is invalid, nothing is certified, and the sentence says what is wrong with the quote."""
    one = court("provisioned")
    one.bring(quoted(), Scope.PLATFORM)

    class Distrusting:
        def verify(self, document: Any, **policy: Any) -> None:
            raise Refused("gpu-a01's quote is over another nonce: quote again.")

    one.bench.work = replace(one.bench.work, attestation=Distrusting())
    (summary,) = one.run(Scope.PLATFORM)
    assert (summary.verdict, one.milestone) == (Verdict.INVALID, "provisioned")
    assert "another nonce" in summary.sentence
    assert one.bench.ledger.certificate("gpu-a01") is None


def test_a_result_without_a_quote_is_incomplete() -> None:
    """Not attested is never attested."""
    one = court("provisioned")
    one.bring(healthy(), Scope.PLATFORM)
    (summary,) = one.run(Scope.PLATFORM)
    assert (summary.verdict, one.milestone) == (Verdict.INCOMPLETE, "provisioned")


def test_judging_again_finds_everything_recorded() -> None:
    """A second call judges nothing, writes nothing and moves nothing."""
    one = court()
    one.bring(healthy())
    one.run()
    content, moves = dict(one.bench.store.content), list(one.bench.ledger.moves)
    assert one.run() == ()
    assert (one.bench.store.content, one.bench.ledger.moves) == (content, moves)
    assert len(one.judge.batches) == 1


@pytest.mark.parametrize("kind", ["pass", "fail", "platform"])
def test_a_crash_at_any_call_loses_nothing_and_doubles_nothing(kind: str) -> None:
    """Killed before and after every port call in turn: the next run ends where an undisturbed one does."""
    scope = Scope.PLATFORM if kind == "platform" else Scope.HARDWARE
    calls = _count_calls(kind, scope)
    assert calls > 8
    for at in range(1, calls + 1):
        for after in (False, True):
            one = _ready(kind)
            with pytest.raises(Killed):
                judge_wave(RUN, scope, fused(one.bench.work, Fuse(at, after)), one.judging())
            one.run(scope)
            ends = {"pass": "burned_in", "fail": "quarantined", "platform": "verified"}
            assert one.milestone == ends[kind], f"call {at}, {'after' if after else 'before'}"
            assert len([j for j in one.bench.ledger.judgements("gpu-a01") if j.scope is scope]) == 1
            moved = [event for event, _ in one.bench.ledger.moves]
            assert len(moved) == len(set(moved))


def _ready(kind: str) -> Court:
    one = court()
    one.bring(slow() if kind == "fail" else healthy())
    if kind == "platform":
        one.run()
        one.bench.ledger.put("gpu-a01", "provisioned")
        one.bring(quoted(), Scope.PLATFORM)
    return one


def _count_calls(kind: str, scope: Scope) -> int:
    one, fuse = _ready(kind), Fuse()
    judge_wave(RUN, scope, fused(one.bench.work, fuse), one.judging())
    return fuse.calls


def test_a_held_node_is_moved_once_its_hold_is_released() -> None:
    """A hold refuses the move, not the judgement; the next judging of the run finishes it."""
    one = court()
    one.bring(healthy())
    one.bench.ledger.hold(Hold("gpu-a01", "ada", "looking at it", None, "automation"))
    (summary,) = one.run()
    assert "held by ada" in summary.sentence
    assert one.milestone == "validation_booted"
    one.bench.ledger.release_hold("gpu-a01", who="ada")
    (again,) = one.run()
    assert (again.verdict, one.milestone) == (Verdict.PASS, "burned_in")
    assert len(one.judge.batches) == 1


def test_an_old_verdict_does_not_move_a_node_that_is_measured_again() -> None:
    """Once a newer plan was handed out, the earlier failure is history."""
    one = court()
    old = one.bring(slow())
    one.run()
    one.bench.ledger.put("gpu-a01", "validation_booted")
    plan = {"plan": {"nonce": "another", "suite": "l1"}, "boot_id": "b"}
    assert old.document["nonce"] != "another"
    one.bench.ledger.intend(one.bench.lease, "test-plan", "hardware/2", plan)
    assert one.run() == ()
    assert one.milestone == "validation_booted"


def test_evidence_that_cannot_be_kept_fails_the_task_after_all_were_treated() -> None:
    """A signer that is not configured is no node's fault: the task turns red and says why."""
    one = court("provisioned")
    one.bring(quoted(), Scope.PLATFORM)

    def no_signer() -> Any:
        raise Permanent("The Airflow connection nodeworthy_signing does not exist: add it.")

    one.bench.ledger.put("gpu-a01", "validation_booted")
    one.bring(healthy())
    one.run()
    one.bench.ledger.put("gpu-a01", "provisioned")
    judging = replace(one.judging(), signer=no_signer)
    with pytest.raises(Permanent, match="nodeworthy_signing"):
        judge_wave(RUN, Scope.PLATFORM, one.bench.work, judging)
    assert one.milestone == "attested"
    one.run(Scope.PLATFORM)
    assert one.milestone == "verified"


def test_the_verdict_can_be_made_again_from_the_dossier_alone() -> None:
    """Same bytes, for a pass and a fail, without library, ledger or Great Expectations; all fits its schema."""
    for document in (healthy(), slow()):
        one = court()
        one.bring(document)
        one.run()
        manifest = next(json.loads(c) for p, c in one.bench.store.content.items() if p.endswith("manifest.json"))
        files = {file["name"]: one.bench.store.content[file["path"]] for file in manifest["files"]}
        assert rejudge(files) == files["verdict.json"]
        for name, content in (("verdict-1", json.loads(files["verdict.json"])), ("dossier-1", manifest)):
            jsonschema.validate(content, json.loads((INCLUDE / "schemas" / f"{name}.json").read_text()))
        assert RUN.encode() not in files["verdict.json"]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [
            f"{tag} {name}={value}" for name, value in attributes if name in ("src", "href", "data", "action")
        ]


def test_the_page_is_self_contained_and_says_what_it_is() -> None:
    """No script, nothing to load, no link but to the dossier's own files; that it is simulated, verdict and plots."""
    one = court()
    hostile = slow()
    hostile["findings"].append({"code": "xid/1", "component": "node", "during": "before", "line": "<script>x</script>"})
    one.bring(hostile)
    one.run()
    page = next(content for path, content in one.bench.store.content.items() if path.endswith("page.html")).decode()
    links = _Links()
    links.feed(page)
    beside = {path.rpartition("/")[2] for path in one.bench.store.content}
    assert {link.removeprefix("a href=").removeprefix("../") for link in links.found} <= beside
    assert "a href=../bundle.tar.gz" in links.found
    assert links.tags & {"script", "link", "iframe", "img", "object", "embed"} == set()
    assert re.findall(r"(?:https?:)?//\S|@import|url\(", page) == []
    assert "SIMULATED" in page
    assert page.count("<svg") >= 5
    assert "4.0 % below the reference" in page


def test_one_byte_of_a_certificate_changed_is_noticed() -> None:
    """Every byte of the signed certificate in turn; another key; a revoked key; too late."""
    one = judged_platform()
    reference, expires = one.bench.ledger.certificate("gpu-a01") or pytest.fail("no certificate")
    content = one.bench.store.content[reference.path]
    certificate, keys = json.loads(content), Ed25519Keys({"key-1": SIGNER.public_key()})
    now = expires - timedelta(days=1)
    for at in range(len(content)):
        try:
            changed = json.loads(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        except ValueError:
            continue
        assert problems_of_certificate(changed, keys.check, now), f"byte {at}"
    other = Ed25519Keys({"key-1": Ed25519Signer("key-1", bytes(32)).public_key()})
    revoked = Ed25519Keys({"key-1": SIGNER.public_key()}, revoked=["key-1"])
    assert problems_of_certificate(certificate, other.check, now)
    assert problems_of_certificate(certificate, revoked.check, now)
    assert "valid from" in problems_of_certificate(certificate, keys.check, expires)[0]
    assert problems_of_certificate(certificate, keys.check, now) == ()


def soaking(milestone: str, *slow_segments: int, brought: int = 3) -> Court:
    """A node with `brought` segments of a soak of three, some of them 4 % slow."""
    one = court(milestone)
    one.bench.work = replace(one.bench.work, library=InThreeSegments(INCLUDE))
    for number in range(1, brought + 1):
        bring_segment(one, slow() if number in slow_segments else healthy(), number)
    return one


class InThreeSegments(YamlLibrary):
    """The shipped files with L1 as a soak of three segments."""

    def _read_suite(self, name: str) -> Suite:
        return replace(super()._read_suite(name), segments=3)


def bring_segment(one: Court, document: dict[str, Any], number: int) -> None:
    """Hand out a segment's plan, bring its result and prove the plan, as `test_plan` and `receive` do."""
    bench = one.bench
    nonce = bench.ledger.renew_nonce(bench.lease, "hardware")
    plan = {"suite": "l1", "nonce": nonce, "segment": {"number": number, "of": 3}}
    effect = bench.ledger.intend(bench.lease, "test-plan", f"hardware/{number}", {"plan": plan, "boot_id": "b"})
    one.bring(document)
    bench.ledger.settle(bench.lease, effect, "proven", {})


def test_all_segments_of_a_soak_are_judged_in_one_validation() -> None:
    """Three segments, one batch, a dossier each, one judgement and one qualification for the node."""
    one = soaking("validation_booted")
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.PASS, "burned_in")
    assert "3 of 3 segments passed" in summary.sentence
    assert [len(batch.results) for batch in one.judge.batches] == [3]
    manifests = [path for path in one.bench.store.content if path.endswith("manifest.json")]
    assert len(manifests) == 3
    (qualification,) = one.bench.ledger.qualifications("gpu-a01")
    assert verify_dossier(qualification.dossier, one.bench.store.content.get) == ()


def test_one_slow_segment_fails_the_soak() -> None:
    """Two good segments do not outvote a bad one; the sentence says which it was."""
    one = soaking("validation_booted", 2)
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.FAIL, "quarantined")
    assert "Segment 2 decided; 2 of 3 segments passed" in summary.sentence


def test_a_soak_with_segments_outstanding_is_not_judged() -> None:
    """Two of three are in the ledger: no verdict, no move, and the judge is not asked."""
    one = soaking("validation_booted", brought=2)
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.INCOMPLETE, "validation_booted")
    assert one.judge.batches == []


def test_a_spare_that_passes_where_it_stands_stays_there() -> None:
    """It gets the qualification of that level and does not move."""
    one = soaking("standby")
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.PASS, "standby")
    assert [q.scope for q in one.bench.ledger.qualifications("gpu-a01")] == [Scope.HARDWARE]


def test_a_spare_that_fails_where_it_stands_is_quarantined() -> None:
    """Also when the process died between the record and the move."""
    one = soaking("standby", 3)
    (summary,) = one.run()
    assert (summary.verdict, one.milestone) == (Verdict.FAIL, "quarantined")
