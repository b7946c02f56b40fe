"""Who spoils a collective: groups, halves, and confirmation with a partner not met before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from nodeworthy.qualification.screening import Outcome, Screening, Trial, domains, in_groups

NODES = tuple(f"n{number:02}" for number in range(16))
RACKS = {node: f"rack-{place // 4}" for place, node in enumerate(NODES)}


def screened(passes: Callable[[Sequence[str]], bool], **options: object) -> tuple[Outcome, list[Trial]]:
    """Search to the end; no node may stand in two trials of a round."""
    search, all_trials = Screening(domains(NODES, RACKS), **options), []  # type: ignore[arg-type]
    while trials := search.next_round():
        busy = [node for trial in trials for node in trial.nodes]
        assert len(busy) == len(set(busy))
        all_trials += trials
        search.take([passes(trial.nodes) for trial in trials])
    return search.outcome(), all_trials


def test_healthy_nodes_take_one_test_a_domain() -> None:
    """Four racks, four tests, one round."""
    outcome, _ = screened(lambda group: True)
    assert (outcome.culprits, outcome.tests, outcome.rounds) == ((), 4, 1)


def test_one_culprit_is_found_by_halves_and_confirmed() -> None:
    """4 racks, 2 halves, 2 singles, 1 confirmation: 9 tests instead of 120 pairs, and another partner at the end."""
    outcome, trials = screened(lambda group: "n05" not in group)
    assert (outcome.culprits, outcome.tests, outcome.rounds) == (("n05",), 9, 4)
    alone = [trial for trial in trials if trial.suspects == ("n05",)]
    assert len(alone) == 2
    assert not set(alone[0].padding) & set(alone[1].padding)


@pytest.mark.parametrize("culprits", [{"n00", "n15"}, {"n04", "n05", "n06", "n07"}, {"n01", "n02", "n09"}])
def test_several_culprits_are_all_found_and_nobody_else(culprits: set[str]) -> None:
    """In one rack or in many."""
    outcome, _ = screened(lambda group: not culprits & set(group))
    assert set(outcome.culprits) == culprits


def test_a_fault_between_two_nodes_blames_neither() -> None:
    """The group fails only with both in it: its halves pass, and the group is reported."""
    outcome, _ = screened(lambda group: not {"n01", "n02"} <= set(group))
    assert outcome.culprits == ()
    assert outcome.between == (("n00", "n01", "n02", "n03"),)


def test_without_a_good_partner_nobody_is_blamed() -> None:
    """Everything fails: suspects, but no culprit."""
    outcome, _ = screened(lambda group: False)
    assert outcome.culprits == ()
    assert set(outcome.unconfirmed) == set(NODES)


def test_a_suspect_that_passes_with_another_partner_is_free() -> None:
    """It failed once with a partner and not again: no culprit."""
    failures = iter([False])

    def passes(group: Sequence[str]) -> bool:
        return next(failures, True) if "n05" in group and len(group) == 2 and "n04" not in group else "n05" not in group

    outcome, _ = screened(passes)
    assert "n05" not in outcome.culprits


def test_nodes_without_a_label_form_groups_of_about_the_root() -> None:
    """Sixteen nodes: four groups of four."""
    assert [len(group) for group in domains(NODES, {})] == [4, 4, 4, 4]


def test_another_number_of_answers_is_refused() -> None:
    """Answers belong to trials one by one."""
    search = Screening(domains(NODES, RACKS))
    search.next_round()
    with pytest.raises(ValueError, match="4 groups"):
        search.take([True])


def test_one_group_of_all_is_searched_to_its_culprit() -> None:
    """All have met all in the first test; the confirmation still has another good partner than the one before."""
    search, alone = Screening(in_groups([(node, "") for node in NODES[:8]], 8)), []
    while trials := search.next_round():
        alone += [trial for trial in trials if trial.suspects == ("n05",)]
        search.take(["n05" not in trial.nodes for trial in trials])
    assert search.outcome().culprits == ("n05",)
    assert [len(trial.padding) for trial in alone] == [1, 1]
    assert alone[0].padding != alone[1].padding


def test_first_groups_keep_to_their_domain() -> None:
    """Five nodes of one rack and two of another in pairs: the odd one stands alone until it is padded."""
    nodes = [(f"n{number}", "a" if number < 5 else "b") for number in range(7)]
    assert in_groups(nodes, 2) == (("n0", "n1"), ("n2", "n3"), ("n4",), ("n5", "n6"))


def test_a_group_that_was_not_tested_is_tried_once_more_and_then_halved() -> None:
    """One node cannot be tested with anybody: in the end it alone is left, and nobody is to blame."""
    search = Screening(domains(NODES, RACKS))
    while trials := search.next_round():
        search.take([None if "n00" in trial.nodes else True for trial in trials])
    outcome = search.outcome()
    assert (outcome.culprits, outcome.between, outcome.untested) == ((), (), ("n00",))
