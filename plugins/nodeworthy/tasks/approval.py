"""The approval of a node's plan, inside Airflow's own "Required Actions".

What is asked is exactly what will be done: firmware from and to, images, resets. The answer is written into *our*
ledger with the plan's hash; the steps behind it check that record, because any user may mark this task a success.
A plan that policy lets through asks nobody and says so.
"""

from __future__ import annotations

from typing import Any, NoReturn

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context, Param
from airflow.sdk.exceptions import AirflowSkipException

from nodeworthy.tasks.steps import for_a_node, lease_of, receipt, run_of, sentences

APPROVE = "Approve"
REFUSE = "Refuse"
REASON = "reason"


class PlanApproval(HITLOperator):
    """Asks a person to approve the plan of one node, unless the pool's policy and the run need no approval."""

    template_fields = ("node", "required", "subject", "body")

    def __init__(self, *, node: str, required: str, until: str = "", **kwargs: Any) -> None:
        # The DAG's own params come in here by inheritance; a form asks for the task's alone.
        kwargs.pop("params", None)
        super().__init__(
            subject="Approve the plan for this node",
            options=[APPROVE, REFUSE],
            params={REASON: Param("", type="string", title="Reason", description="Why.", source="task")},
            **for_a_node(kwargs),
        )
        self.node = node
        self.required = required
        self.until = until
        """The milestone of a node for which nothing of the plan is left to be done; empty when there is none."""

    def execute(self, context: Context) -> Any:
        """Record that nobody needs asking, find an earlier answer to this very plan, or park until a person answers."""
        from nodeworthy.procedures.plan import plan
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            lease = lease_of(self.node, work, context)
            (record,) = work.ledger.nodes([self.node])
            if self.until and work.library.lifecycle().has_reached(record.milestone, self.until):
                return receipt(self.node, "approve", f"{self.node} is {record.milestone}: there is nothing to approve.")
            proposal = plan(lease, record.node, work)
            answer = work.ledger.approval(self.node, lease.episode, proposal.sha256)
            if answer is None and not self._must_ask(proposal.needs_approval):
                work.ledger.record_approval(
                    lease,
                    plan_sha256=proposal.sha256,
                    who="policy",
                    answer="approve",
                    why="no step of it needs approval",
                )
                answer = ("policy", "approve", "no step of this plan needs approval")
        if answer is not None:
            return self._follow(answer)
        self.subject = f"{self.node}: {proposal.subject}"
        self.body = proposal.body
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Write who answered what, and go on or stop this node; a "no" is an answer, not a failure."""
        from nodeworthy.procedures.finish import REFUSED_BY_PERSON
        from nodeworthy.procedures.plan import plan
        from nodeworthy.wiring import wiring

        answered = super().execute_complete(context, event)
        with sentences():
            work = wiring().work(self.log.info)
            lease = lease_of(self.node, work, context)
            (record,) = work.ledger.nodes([self.node])
            proposal = plan(lease, record.node, work)
            answer = (
                str((answered["responded_by_user"] or {}).get("name", "nobody")),
                "approve" if APPROVE in answered["chosen_options"] else "refuse",
                str(answered["params_input"].get(REASON, "")) or "no reason given",
            )
            work.ledger.record_approval(
                lease, plan_sha256=proposal.sha256, who=answer[0], answer=answer[1], why=answer[2]
            )
            if answer[1] != "approve":
                work.ledger.release(lease, close=False, reason=f"{REFUSED_BY_PERSON} by {answer[0]}: {answer[2]}.")
        return self._follow(answer)

    def defer(self, *, trigger: Any, **how: Any) -> NoReturn:
        """Wait for an answer as the human-in-the-loop operator does, with the run's leases kept alive."""
        from airflow.sdk import get_current_context

        from nodeworthy.tasks.approval_trigger import HeldHITLTrigger

        super().defer(trigger=HeldHITLTrigger.around(trigger, holder=run_of(get_current_context())), **how)
        raise AssertionError("defer raises")

    def _must_ask(self, plan_needs_it: bool) -> bool:
        return str(self.required).lower() == "true" or plan_needs_it

    def _follow(self, answer: tuple[str, str, str]) -> Any:
        who, word, why = answer
        sentence = f"{self.node}: the plan was answered with '{word}' by {who}: {why}."
        self.log.info("%s", sentence)
        if word != "approve":
            raise AirflowSkipException(sentence)
        return receipt(self.node, "approve", sentence)
