"""Results, judgements, qualifications, certificates: stored once, found by run, voided with a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.verdicts import Judgement, Reason, Scope, Verdict

from tests.contract.ledger.support import START, Bench, judgement, qualification, reference, result


def test_a_result_is_stored_once_with_its_measurements(bench: Bench) -> None:
    """The same bundle twice is one result; each measurement is a row, also the missing one."""
    lease = bench.take()
    for _ in range(2):
        bench.ledger.record_result(lease, result(lease))
    assert [r.bundle.path for r in bench.ledger.results(run="run-1", scope=Scope.HARDWARE)] == ["evidence/n1-bundle-1"]
    rows = bench.sql("SELECT metric, value, status FROM measurements ORDER BY id")
    assert [tuple(row) for row in rows] == [("peer_bandwidth", 361.5, "ok"), ("nvlinks_up", None, "missing")]


def test_results_come_back_as_they_were(bench: Bench) -> None:
    """Document, bundle and suite survive the ledger."""
    lease = bench.take()
    bench.ledger.record_result(lease, result(lease))
    assert bench.ledger.results(run="run-1", scope=Scope.HARDWARE) == (result(lease),)


def test_results_are_those_of_the_run_and_scope(bench: Bench) -> None:
    """A judge sees the nodes that its run holds, in order of names, and one scope."""
    for name, run in (("n2", "run-1"), ("n1", "run-1"), ("n3", "run-2")):
        lease = bench.take(name, run=run)
        bench.ledger.record_result(lease, result(lease))
        bench.ledger.record_result(lease, result(lease, Scope.PLATFORM, "other"))
    found = bench.ledger.results(run="run-1", scope=Scope.HARDWARE)
    assert [stored.node for stored in found] == ["n1", "n2"]


def test_a_repeated_test_replaces_the_one_before(bench: Bench) -> None:
    """Of two results of one suite the newest is judged."""
    lease = bench.take()
    for name in ("first", "second"):
        bench.ledger.record_result(lease, result(lease, name=name))
    found = bench.ledger.results(run="run-1", scope=Scope.HARDWARE)
    assert [stored.bundle.path for stored in found] == ["evidence/n1-second"]


def test_a_judged_result_waits_no_more(bench: Bench) -> None:
    """After its judgement a result is found only when judged ones are asked for."""
    lease = bench.take()
    bench.ledger.record_result(lease, result(lease))
    bench.qualify(lease, Scope.HARDWARE)
    assert bench.ledger.results(run="run-1", scope=Scope.HARDWARE) == ()
    assert [r.judged for r in bench.ledger.results(run="run-1", scope=Scope.HARDWARE, unjudged=False)] == [True]


def test_a_foreign_result_is_refused(bench: Bench) -> None:
    """A result of another node, or of an older episode, is not taken."""
    lease = bench.take()
    for stray in (result(lease, node="n2"), result(lease, episode=lease.episode + 1)):
        with pytest.raises(Refused, match="drop it"):
            bench.ledger.record_result(lease, stray)


def test_a_result_with_a_figure_that_is_none_is_refused(bench: Bench) -> None:
    """NaN in a document is an error of the probe, not a number to keep."""
    lease = bench.take()
    with pytest.raises(Permanent):
        bench.ledger.record_result(lease, result(lease, document={"measurements": [], "x": float("nan")}))


def test_judgements_come_back_with_their_reasons(bench: Bench) -> None:
    """Newest first, each reason with expected, seen and unit."""
    lease = bench.take()
    words = ("low_bandwidth", "gpu/3", "peer_bandwidth_min", ">= 380", "361", "GB/s", "gpu/3 is slow.")
    failed = Judgement("n1", Scope.HARDWARE, "l1", Verdict.FAIL, (Reason(Verdict.FAIL, *words),), "gpu/3 is slow.")
    bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE), None)
    bench.ledger.record_judgement(lease, failed, None)
    assert bench.ledger.judgements("n1") == (failed, judgement(lease, Scope.HARDWARE))
    assert bench.ledger.judgements("n1", episode=lease.episode + 1) == ()
    assert bench.reason() == "gpu/3 is slow."


def test_only_a_pass_grants(bench: Bench) -> None:
    """A qualification beside a verdict that is no pass is refused, and neither is stored."""
    lease = bench.take()
    granted = qualification(lease, Scope.HARDWARE, START)
    for verdict in set(Verdict) - {Verdict.PASS}:
        with pytest.raises(Refused, match="only a pass grants"):
            bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE, verdict), granted)
    assert bench.ledger.judgements("n1") == ()
    assert bench.ledger.qualifications("n1") == ()


def test_voiding_ends_one_scope_with_a_reason(bench: Bench) -> None:
    """The other scope stays, and the audit tells why."""
    lease = bench.take()
    for scope in Scope:
        bench.qualify(lease, scope)
    bench.ledger.void_qualifications(lease, Scope.PLATFORM, "kernel was changed")
    assert [q.scope for q in bench.ledger.qualifications("n1")] == [Scope.HARDWARE]
    assert bench.ledger.history("n1")[-1]["detail"]["why"] == "kernel was changed"


def test_a_qualification_comes_back_as_granted(bench: Bench) -> None:
    """Times, dossier, boot id and firmware set survive the ledger."""
    lease = bench.take()
    bench.qualify(lease, Scope.HARDWARE)
    assert bench.ledger.qualifications("n1") == (qualification(lease, Scope.HARDWARE, START),)


def test_the_newest_certificate_counts(bench: Bench) -> None:
    """The same certificate twice is one; a later one replaces it."""
    lease = bench.take()
    assert bench.ledger.certificate("n1") is None
    for name, days in (("c1", 30), ("c1", 30), ("c2", 60)):
        bench.ledger.record_certificate(lease, reference(name), START + timedelta(days=days))
    assert bench.ledger.certificate("n1") == (reference("c2"), START + timedelta(days=60))
    assert bench.sql("SELECT count(*) FROM certificates")[0][0] == 2


def test_times_without_a_zone_are_refused(bench: Bench) -> None:
    """A naive time is a mistake wherever it comes from."""
    lease = bench.take()
    naive = (START + timedelta(days=1)).replace(tzinfo=None)
    with pytest.raises(Permanent, match="time zone"):
        bench.ledger.record_certificate(lease, replace(reference("c")), naive)
