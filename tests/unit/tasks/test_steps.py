"""The border between our errors and Airflow's, and what every task of a node shares."""

from __future__ import annotations

from datetime import timedelta

import pytest
from airflow.sdk import RetryAction
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from nodeworthy.errors import NodeworthyError, OutcomeUnknown, Permanent, Refused, Transient
from nodeworthy.tasks.steps import NODE_LABEL, RETRIES, for_a_node, receipt, say_reason, sentences

SENTENCE = "The BMC of n1 was asked for its power and said nothing: check its cable."


@pytest.mark.parametrize("kind", [Permanent, Refused, OutcomeUnknown])
def test_what_a_retry_cannot_help_is_not_tried_again(kind: type[NodeworthyError]) -> None:
    """These three become the failure that Airflow does not retry, with the sentence word for word."""
    with pytest.raises(AirflowFailException) as raised, sentences():
        raise kind(SENTENCE)
    assert str(raised.value) == SENTENCE
    assert isinstance(raised.value.__cause__, kind)


def test_what_may_pass_is_tried_again() -> None:
    """A Transient becomes an ordinary failure, which Airflow retries."""
    with pytest.raises(AirflowException) as raised, sentences():
        raise Transient(SENTENCE)
    assert str(raised.value) == SENTENCE
    assert not isinstance(raised.value, AirflowFailException)


def test_the_next_try_comes_when_the_error_says_that_it_is_worth_it() -> None:
    """A BMC that asks for a minute gets it: the error's own delay counts, not the DAG's."""
    with pytest.raises(AirflowException) as raised, sentences():
        raise Transient(SENTENCE, timedelta(seconds=60))
    decision = RETRIES["retry_policy"].evaluate(raised.value, 1, 2)
    assert (decision.action, decision.retry_delay) == (RetryAction.RETRY, timedelta(seconds=60))


def test_a_failure_that_says_nothing_waits_as_airflow_is_set() -> None:
    """A bug, or a worker that was told to end, is tried again after Airflow's own delay."""
    assert RETRIES["retry_policy"].evaluate(ZeroDivisionError(), 1, 2).action is RetryAction.DEFAULT


def test_an_error_of_nobodys_making_stays_what_it_is() -> None:
    """A bug is not dressed up as an operator's sentence."""
    with pytest.raises(ZeroDivisionError), sentences():
        _ = 1 / 0


def test_a_step_of_a_node_is_labelled_and_says_its_reason() -> None:
    """Label and callback are added; what a step chose itself stays."""
    assert for_a_node({"task_id": "x"}) == {
        "task_id": "x", "map_index_template": NODE_LABEL, "on_failure_callback": say_reason,
    }  # fmt: skip
    assert for_a_node({"map_index_template": "mine"})["map_index_template"] == "mine"


def test_a_receipt_carries_its_schema() -> None:
    """What goes through XCom says its version, because a resumed task may meet newer code."""
    assert receipt("n1", "inspect", "done", more=1) == {
        "schema": 1, "node": "n1", "step": "inspect", "summary": "done", "more": 1,
    }  # fmt: skip
