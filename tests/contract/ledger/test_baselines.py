"""Versions of learnt baselines and the dossiers of judgements, on every database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.qualification.versions import NewVersion, in_force

from tests.contract.ledger.support import Bench, judgement, reference, result


def proposal(floor: float, sku: str = "h100-sxm-8") -> NewVersion:
    """Return a proposal whose content is its floor."""
    evidence = reference(f"proposal-{sku}-{floor}")
    return NewVersion(sku, {"baselines": {"floor": floor}, "references": None}, evidence.sha256, evidence, "learn/1")


def force(bench: Bench, sku: str = "h100-sxm-8") -> Any:
    """Return the content that is in force, None without one."""
    version = in_force(bench.ledger.baseline_versions(sku))
    return None if version is None else version.document["baselines"]["floor"]


def test_nothing_is_in_force_before_an_approval(bench: Bench) -> None:
    """A proposal waits; the same content again is the same version; a yes puts it in force for its SKU alone."""
    first = bench.ledger.propose_baselines(proposal(1.0))
    assert (first.number, first.answer, force(bench)) == (1, "", None)
    assert bench.ledger.propose_baselines(proposal(1.0)) == first
    answered = bench.ledger.answer_baselines("h100-sxm-8", 1, who="ada", answer="approve", why="agreed")
    assert (answered.who, answered.stands, force(bench), force(bench, "h200-sxm-8")) == ("ada", True, 1.0, None)


def test_the_newest_that_stands_is_in_force_and_can_be_taken_back(bench: Bench) -> None:
    """A refused version changes nothing; withdrawing the second brings the first back; twice is refused."""
    for number, (floor, answer) in enumerate(((1.0, "approve"), (2.0, "approve"), (3.0, "refuse")), start=1):
        bench.ledger.propose_baselines(proposal(floor))
        bench.ledger.answer_baselines("h100-sxm-8", number, who="ada", answer=answer, why="said so")
    assert force(bench) == 2.0
    bench.ledger.withdraw_baselines("h100-sxm-8", 2, who="bob", why="too strict")
    assert force(bench) == 1.0
    with pytest.raises(Refused, match="not in force"):
        bench.ledger.withdraw_baselines("h100-sxm-8", 2, who="bob", why="again")
    with pytest.raises(Refused, match="no version 9"):
        bench.ledger.withdraw_baselines("h100-sxm-8", 9, who="bob", why="what")


def test_an_answer_is_given_once(bench: Bench) -> None:
    """The same answer again is success; another one is refused and changes nothing."""
    bench.ledger.propose_baselines(proposal(1.0))
    bench.ledger.answer_baselines("h100-sxm-8", 1, who="ada", answer="refuse", why="too few nodes")
    again = bench.ledger.answer_baselines("h100-sxm-8", 1, who="bob", answer="refuse", why="me too")
    assert again.who == "ada"
    with pytest.raises(Refused, match="propose a new one"):
        bench.ledger.answer_baselines("h100-sxm-8", 1, who="bob", answer="approve", why="but")


def test_past_results_are_the_newest_of_each_node_of_the_sku(bench: Bench) -> None:
    """Two results of one node and scope are one; another SKU's node is not there."""
    lease = bench.take("n1")
    bench.ledger.record_result(lease, result(lease, name="old"))
    bench.ledger.record_result(lease, result(lease, name="new"))
    found = bench.ledger.past_results("h100-sxm-8")
    assert [(one.node, one.bundle.path) for one in found] == [("n1", "evidence/n1-new")]
    assert bench.ledger.past_results("h200-sxm-8") == ()
    every = bench.ledger.past_results("h100-sxm-8", found[0].suite, every=True)
    assert [one.bundle.path for one in every] == ["evidence/n1-old", "evidence/n1-new"]


def test_every_judgement_keeps_its_dossier_and_whether_it_was_simulated(bench: Bench) -> None:
    """A node that failed has its evidence on record as well as one that passed."""
    lease = bench.take("n1")
    failed = replace(judgement(lease, Scope.HARDWARE, Verdict.FAIL), simulated=True, dossier=reference("manifest"))
    bench.ledger.record_judgement(lease, failed, None)
    assert bench.ledger.judgements("n1") == (failed,)
