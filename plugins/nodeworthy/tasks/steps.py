"""What every task of ours shares: the run it belongs to, its lease, and how an error becomes the last line of its log.

Procedures raise errors that say what to do next; Airflow knows "try again" and "do not". This is the one border:

    Transient                       an ordinary failure: Airflow tries again when the error says that it is worth it
    Refused, Permanent,             AirflowFailException: no retry, the task turns red,
    OutcomeUnknown                  and its last log line is the sentence for the operator
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from airflow.sdk import Context, RetryDecision, RetryPolicy
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from nodeworthy.errors import NodeworthyError, Transient
from nodeworthy.lifecycle.records import Lease, NodeRecord
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.ports import Work

NODE_LABEL = "{{ task.node }}"
"""`map_index_template` of every mapped task: a square is a node."""

log = logging.getLogger("nodeworthy")


class WhenWorthIt(RetryPolicy):
    """Tries again when our error says that it is worth it; another failure waits as long as Airflow is set to."""

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        """Return the delay that a `Transient` behind the failure names, else Airflow's own."""
        cause = exception.__cause__
        return RetryDecision.retry(cause.retry_after) if isinstance(cause, Transient) else RetryDecision.default()


RETRIES: dict[str, Any] = {"retries": 2, "retry_policy": WhenWorthIt()}
"""What the `default_args` of all our DAGs hold. Airflow's own delay is the setting `core.default_task_retry_delay`."""


def run_of(context: Context) -> str:
    """Return the name under which the ledger knows this run: DAG and run id."""
    return f"{context['dag_run'].dag_id}/{context['run_id']}"


def require_trigger(context: Context, work: Work) -> None:
    """Refuse a run that a person started who has no role to. A schedule, or a program inside Airflow, names nobody."""
    who = context["dag_run"].triggering_user_name
    if who and context["dag_run"].run_type == "manual":
        work.library.roles().require_named(Permission.TRIGGER, who)


def lease_of(node: str, work: Work, context: Context, *, kind: str = "onboarding") -> Lease:
    """Return this run's lease on the node's open episode, renewed or newly taken. Refused when another run holds it.

    A task that begins is a sign of life of its whole run: the leases of the nodes that wait are renewed too.
    """
    from nodeworthy.procedures.lease_life import lease_life

    (record,) = work.ledger.nodes([node])
    run = run_of(context)
    lease = work.ledger.open_episode(node, kind=kind, run=run, lifetime=lease_life(record.node.pool, work))
    work.ledger.beat(run)
    return lease


def stop_unless_begun(node: str, begins: str, work: Work) -> None:
    """Stop for a node that an earlier step stopped before it came to the milestone `begins`, with that step's reason.

    Each step looks for itself and turns red: a square that Airflow never starts bears a number instead of the node's
    name, and "Clear failed" does not reach what was skipped. What a person stopped is skipped.
    """
    (record,) = work.ledger.nodes([node])
    if begins and not work.library.lifecycle().has_reached(record.milestone, begins):
        stop_node(record, work)


def stop_node(record: NodeRecord, work: Work) -> NoReturn:
    """End a task whose node does not come to it: red with the node's reason, or skipped where a person stopped it."""
    from nodeworthy.procedures.finish import stopped

    end = stopped(record, work)
    if end.stopped_by_person:
        skip(end.sentence)
    raise AirflowFailException(end.sentence)


def skip(sentence: str) -> NoReturn:
    """End a task as skipped, with the reason as a line of its log: Airflow tells it beside the line, not in it."""
    log.info("%s", sentence)
    raise AirflowSkipException(sentence)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn our errors into Airflow's, keeping their sentence."""
    try:
        yield
    except Transient as error:
        raise AirflowException(error.sentence) from error
    except NodeworthyError as error:
        raise AirflowFailException(error.sentence) from error


def say_reason(context: Context) -> None:
    """Write why a task failed as the last line of its log, and into the ledger (an `on_failure_callback`).

    The node's lease is given back with the reason: its episode stays open for whoever goes on with it.
    """
    error: Any = context.get("exception")
    sentence = str(error) if error else "The task ended without saying why: see the lines above."
    node = getattr(context["task"], "node", None)
    if node:
        _give_back(str(node), sentence, context)
    log.error("%s", sentence)


def _give_back(node: str, sentence: str, context: Context) -> None:
    from nodeworthy.wiring import wiring

    try:
        ledger = wiring().ledger
        ledger.release(ledger.lease(node, run_of(context)), close=False, reason=sentence)
    except NodeworthyError as error:
        log.warning("%s: the reason could not be written into the ledger: %s", node, error.sentence)


def counted(verdicts: Mapping[str, int], none: str) -> str:
    """Return how many results got which verdict, in words, or `none`."""
    return ", ".join(f"{count} {word}" for word, count in verdicts.items()) or none


def for_a_node(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an operator's arguments with what every task of one node has: its label, and its reason when it fails."""
    return {
        **arguments,
        "map_index_template": arguments.get("map_index_template") or NODE_LABEL,
        "on_failure_callback": arguments.get("on_failure_callback") or say_reason,
    }


def receipt(node: str, step: str, summary: str, **more: Any) -> Mapping[str, Any]:
    """Return what a task hands on by XCom: small, versioned, never evidence."""
    return {"schema": 1, "node": node, "step": step, "summary": summary, **more}
