"""The operator that runs one procedure on one node, and waits deferred when the procedure has to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import BaseOperator, Context

from nodeworthy.tasks.steps import for_a_node, lease_of, receipt, run_of, sentences, stop_unless_begun
from nodeworthy.tasks.triggers import ReadyTrigger

if TYPE_CHECKING:
    from nodeworthy.lifecycle.fleet import FleetNode
    from nodeworthy.lifecycle.records import Lease
    from nodeworthy.ports import Work
    from nodeworthy.procedures.outcome import Done, Waiting

    Procedure = Callable[[Lease, FleetNode, Work], Done | Waiting]


class ProcedureOperator(BaseOperator):
    """Runs `nodeworthy.procedures.<procedure>.<procedure>` on a node until it is done.

    `begins` names the milestone without which there is nothing to do for the node. The procedure is re-entrant:
    after each wait, and after a killed worker, it looks at the world and goes on.
    """

    template_fields = ("node",)

    def __init__(
        self, *, procedure: str, node: str, begins: str = "", episode_kind: str = "onboarding", **kwargs: Any
    ) -> None:
        super().__init__(**for_a_node(kwargs))
        self.do_xcom_push = False  # its receipt stands in its log, and nobody reads it from Airflow
        self.procedure = procedure
        self.node = node
        self.begins = begins
        self.episode_kind = episode_kind

    def execute(self, context: Context, event: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Call the procedure; return its receipt, or defer until it can go on."""
        from nodeworthy.wiring import wiring

        with sentences():
            stop_unless_begun(self.node, self.begins, wiring().work(self.log.info))
        return run_procedure(self, self.procedure, self.node, context, kind=self.episode_kind)


def run_procedure(
    operator: BaseOperator, name: str, node: str, context: Context, *, kind: str = "onboarding"
) -> Mapping[str, Any]:
    """Call a procedure on a node; return its receipt, or defer the operator's `execute` until it can go on."""
    from nodeworthy.procedures.outcome import Waiting
    from nodeworthy.wiring import wiring

    with sentences():
        work = wiring().work(operator.log.info)
        lease = lease_of(node, work, context, kind=kind)
        (record,) = work.ledger.nodes([node])
        outcome = _procedure(name)(lease, record.node, work)
    if isinstance(outcome, Waiting):
        _wait(operator, node, outcome, run_of(context))
    return receipt(node, name, outcome.summary)


def _wait(operator: BaseOperator, node: str, waiting: Waiting, run: str) -> NoReturn:
    operator.log.info("Waiting for %s, at most until %s.", waiting.what, waiting.deadline.isoformat(timespec="seconds"))
    trigger = ReadyTrigger(node, waiting.check, waiting.poll.total_seconds(), waiting.deadline.isoformat(), run)
    operator.defer(trigger=trigger, method_name="execute")
    raise AssertionError("defer raises")


def _procedure(name: str) -> Procedure:
    found: Procedure = getattr(import_module(f"nodeworthy.procedures.{name}"), name)
    return found
