"""Figures of groups teach too: by the group's size, from every group that was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nodeworthy.adapters.library_in_force import LibraryInForce
from nodeworthy.adapters.page_jinja import JinjaPage
from nodeworthy.adapters.page_learning import LearningPage
from nodeworthy.evidence.dossier import verify_dossier
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.procedures.judge_wave import Judging
from nodeworthy.procedures.learn import Teaching, learn
from nodeworthy.procedures.rejudge_groups import rejudge_groups
from nodeworthy.qualification.baselines import Baseline

from tests.contract.judge.test_judge_wave import GOLDEN, SIGNER, ReferenceJudge
from tests.contract.judge.test_rejudge import Book
from tests.contract.judge.test_screen import NAMES, RUN, Bench
from tests.doubles.bench import library


class WithoutGroups:
    """The shipped files without any bandwidth of several nodes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(library(), name)

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return what is known of one node by itself."""
        alone = ("pair.", "domain.", "fleet.")
        return tuple(
            row for row in library().baselines(sku) if row.metric != "bus_bandwidth" or not row.test.startswith(alone)
        )


def bench(book: Book, names: tuple[str, ...] = NAMES, **fabric: Any) -> Bench:
    """Return nodes that are judged by what the book has in force."""
    one = Bench(names, **fabric)
    known = LibraryInForce(WithoutGroups(), book.baseline_versions)
    one.work = replace(one.work, library=known)  # type: ignore[type-var]
    one.judge = ReferenceJudge(known)
    return one


def taught(suite: str, minimum: int) -> Book:
    """Return a book that learnt from the groups of one suite, with a person's approval."""
    first = bench(Book(()))
    first.run(suite)
    return taught_by(first, minimum)


def taught_by(first: Bench, minimum: int) -> Book:
    """Return a book that learnt from what a bench measured."""
    book = Book(())
    book.results = first.ledger.results(run=RUN, scope=Scope.HARDWARE, unjudged=False, every=True)
    rule = replace(library().learning_rule(), minimum_population=minimum)
    learn("learn/1", "h100-sxm-8", first.work, Teaching(book, rule, LearningPage()))
    book.approve()
    return book


def test_a_group_that_waits_for_a_baseline_is_measured_once_and_says_so() -> None:
    """Neither a second try nor halves would say more; the figures stand in the sentence."""
    one = bench(Book(()))
    done = one.run("m2")
    assert one.fabric.tested == [NAMES]
    assert done.facts == {"culprits": [], "left_open": list(NAMES)}
    sentence = one.verdicts()["n8"].sentence
    assert "domain.all_reduce 480 GB/s" in sentence
    assert "run learn_baselines" in sentence
    assert {reason.code for reason in one.verdicts()["n8"].reasons} == {"no_group_baseline"}


def test_pairs_teach_and_the_next_pairs_are_judged_by_it() -> None:
    """Four pairs of eight GPUs each: limits for 16 ranks, by which a slow node is found."""
    book = taught("m1", 4)
    rows = book.versions[0].document["baselines"]["baselines"]
    learnt = [row for row in rows if row["test"] == "pair.all_reduce"]
    assert [(row["parameters"]["ranks"], row["sample_size"], row["floor"]) for row in learnt] == [(16, 4, 432.0)]
    second = bench(book, slow={"n3": 240.0})
    assert second.run().facts == {"culprits": ["n3"], "left_open": []}
    assert second.verdicts()["n4"].verdict is Verdict.PASS


def test_what_one_size_of_group_taught_judges_no_other_size() -> None:
    """Eight nodes on 64 ranks were learnt; six nodes are another key."""
    book = taught("m2", 1)
    assert bench(book).run("m2").facts == {"culprits": [], "left_open": []}
    six = bench(book, NAMES[:6])
    assert six.run("m2").facts == {"culprits": [], "left_open": list(NAMES[:6])}


def again(one: Bench) -> dict[str, str]:
    """Judge again what waits, without a test; return the verdicts."""
    tested = list(one.fabric.tested)
    judging = Judging(one.judge, JinjaPage(), lambda: SIGNER, lambda: GOLDEN)
    found = rejudge_groups(RUN, NAMES, one.work, judging, one.fabric)
    assert one.fabric.tested == tested
    return {summary.node: summary.verdict.value for summary in found}


def test_groups_that_waited_for_a_baseline_pass_without_being_measured_again() -> None:
    """The same result, a second dossier by what was learnt, and the node's sentence tells what it reached with whom."""
    book = Book(())
    one = bench(book)
    one.run("m2")
    waited = one.verdicts()["n8"].dossier
    book.versions = taught("m2", 1).versions
    assert again(one) == dict.fromkeys(NAMES, "pass")
    passed = one.verdicts()["n8"]
    assert passed.sentence.startswith("n8 pass: domain.all_reduce 480 GB/s with n1, n2")
    assert passed.dossier is not None
    assert passed.dossier != waited
    assert verify_dossier(passed.dossier, one.store.content.get) == ()
    assert again(one) == {}


def test_a_group_that_fails_by_what_was_learnt_since_blames_nobody() -> None:
    """Who spoils it is found by groups that nobody measured: all eight stay open, and nobody moves."""
    book = Book(())
    one = bench(book, slow={"n3": 240.0})
    one.run("m2")
    book.versions = taught("m2", 1).versions
    assert again(one) == dict.fromkeys(NAMES, "incomplete")
    assert one.standing() == {}
    assert "run group_test again" in one.verdicts()["n3"].sentence


def test_racks_that_pass_by_what_was_learnt_since_wait_for_the_spine() -> None:
    """M3 did not come to the spine without limits for its racks, so there is nothing to judge of it."""
    book = Book(())
    one = bench(book, racks=2)
    one.run("m3")
    assert [len(group) for group in one.fabric.tested] == [4, 4]
    learnt = bench(Book(()), racks=2)
    learnt.run("m3")
    book.versions = taught_by(learnt, 2).versions
    assert again(one) == dict.fromkeys(NAMES, "incomplete")
    assert "run group_test again" in one.verdicts()["n2"].sentence
