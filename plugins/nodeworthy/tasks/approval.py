"""Approvals inside Airflow's own "Required Actions", decided by our own record.

What is asked is exactly what will be done. Answers are written into *our* ledger with the plan's hash; the steps behind
check that record, because any user may mark this task a success. A plan that policy lets through asks nobody and says
so. An answer that does not decide ends this try and the next one asks anew: Airflow keeps each try's answer, and shows
the request's text as it was asked first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context, Param

from nodeworthy.errors import Refused, Transient
from nodeworthy.lifecycle.records import Lease
from nodeworthy.tasks.steps import for_a_node, lease_of, receipt, run_of, sentences, skip, stop_unless_begun

if TYPE_CHECKING:
    from nodeworthy.lifecycle.approvals import Decision
    from nodeworthy.lifecycle.fleet import FleetNode
    from nodeworthy.ports import Work
    from nodeworthy.procedures.ask import Asked, Asking, Given, Question

APPROVE = "Approve"
REFUSE = "Refuse"
REASON = "reason"
TRIES = 20
"""How often a request may be asked anew before its task turns red; each answer that does not decide takes one."""

AT_ONCE = timedelta(seconds=1)
IN_SERVICE = "in_service"


def ask_again(sentence: str) -> Transient:
    """Return the error of an answer that decided nothing: a fresh request follows at once."""
    return Transient(sentence, AT_ONCE)


class NodeApproval(HITLOperator):
    """Asks those who may answer about one node, unless nobody needs asking. Subclasses say what is asked."""

    template_fields: Collection[str] = ("node", "subject", "body")

    def __init__(self, *, node: str, begins: str = "", **kwargs: Any) -> None:
        # The DAG's own params come in here by inheritance; a form asks for the task's alone.
        kwargs.pop("params", None)
        super().__init__(
            subject="Approve what is planned for this node",
            options=[APPROVE, REFUSE],
            params={REASON: Param("", type="string", title="Reason", description="Why.", source="task")},
            **for_a_node({**kwargs, "retries": TRIES}),
        )
        self.do_xcom_push = False  # the answer that counts stands in our ledger
        self.node = node
        self.begins = begins
        """The milestone without which nothing is asked."""

    @abstractmethod
    def question(self, lease: Lease, node: FleetNode, work: Work) -> Question:
        """Return what is asked about the node."""

    def must_ask(self) -> bool:
        """Tell whether a person is asked even where policy would not."""
        return False

    def is_past(self, milestone: str, work: Work) -> bool:
        """Tell whether nothing of what would be asked about is left to be done for a node there."""
        return False

    def execute(self, context: Context) -> Any:
        """Follow what was decided before or by policy, or park until a person answers."""
        from nodeworthy.lifecycle.approvals import Decision
        from nodeworthy.procedures.ask import ask, stop
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            stop_unless_begun(self.node, self.begins, work)
            (record,) = work.ledger.nodes([self.node])
            if self.is_past(record.milestone, work):
                return receipt(self.node, "approve", f"{self.node} is {record.milestone}: there is nothing to approve.")
            asking = self._asking(context)
            outcome = ask(asking, must=self.must_ask())
            if isinstance(outcome, Decision) and not outcome.approved:
                stop(asking, outcome)
        if isinstance(outcome, Decision):
            return self._follow(outcome)
        self._show(outcome)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Write who answered what, and go on, stop this node, or ask again; a "no" is an answer, not a failure."""
        from nodeworthy.procedures.ask import NotYet, stop, take_answer
        from nodeworthy.wiring import wiring

        if event.get("error_type") == "timeout":
            with sentences():
                sentence = wiring().ledger.expire_request(self.node, run_of(context))
            skip(sentence)
        answered = super().execute_complete(context, event)
        with sentences():
            asking = self._answered(context, given(answered))
            outcome = take_answer(asking, given(answered))
            if not isinstance(outcome, NotYet) and not outcome.approved:
                stop(asking, outcome)
            if isinstance(outcome, NotYet):
                raise ask_again(outcome.sentence)
        return self._follow(outcome)

    def _asking(self, context: Context) -> Asking:
        from nodeworthy.wiring import wiring

        work = wiring().work(self.log.info)
        return self._about(lease_of(self.node, work, context), work)

    def _answered(self, context: Context, given: Given) -> Asking:
        """Return what was asked. Whoever has a hold or the node itself by now, an answer is never lost unwritten."""
        from nodeworthy.procedures.ask import unheard
        from nodeworthy.wiring import wiring

        work, run = wiring().work(self.log.info), run_of(context)
        try:
            lease = work.ledger.lease(self.node, run)
        except Refused:
            try:
                lease = lease_of(self.node, work, context)
            except Refused as refusal:
                unheard(Lease(self.node, 0, "", run, work.clock.now()), given, work, refusal.sentence)
                raise
        return self._about(lease, work)

    def _about(self, lease: Lease, work: Work) -> Asking:
        from nodeworthy.procedures.ask import Asking

        (record,) = work.ledger.nodes([self.node])
        return Asking(lease, record.node, work, self.question(lease, record.node, work))

    def _show(self, asked: Asked) -> None:
        self.subject, self.body = asked.subject, asked.body
        self.response_timeout = max(asked.left, AT_ONCE)
        # Airflow compares ids: where a row names none, it must let everybody answer, and our record decides.
        if all(person.id for person in asked.people):
            self.assigned_users = [{"id": person.id, "name": person.name} for person in asked.people]
        self.log.info("Asking %s:\n%s", ", ".join(person.name for person in asked.people), asked.body)

    def _follow(self, made: Decision) -> Any:
        sentence = f"{self.node}: the plan was answered with '{made.word}' by {made.who}: {made.why}."
        if not made.approved:
            skip(sentence)
        self.log.info("%s", sentence)
        return receipt(self.node, "approve", sentence)


class PlanApproval(NodeApproval):
    """Asks about a node's bring-up plan where the pool's policy or the run's form wants it."""

    template_fields = (*NodeApproval.template_fields, "required")

    def __init__(self, *, required: str, until: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.required = required
        self.until = until
        """The milestone of a node for which nothing of the plan is left to be done; empty when there is none."""

    def question(self, lease: Lease, node: FleetNode, work: Work) -> Question:
        """Return the plan."""
        from nodeworthy.procedures.plan import plan

        return plan(lease, node, work).question

    def must_ask(self) -> bool:
        """Tell whether the run's form asks before risky steps."""
        return str(self.required).lower() == "true"

    def is_past(self, milestone: str, work: Work) -> bool:
        """Tell whether the node has passed all that the plan would do."""
        return bool(self.until) and work.library.lifecycle().has_reached(milestone, self.until)


class AdmissionApproval(NodeApproval):
    """Asks whether a standby node may enter service, where the pool's policy says `approve`."""

    def question(self, lease: Lease, node: FleetNode, work: Work) -> Question:
        """Return the admission."""
        from nodeworthy.procedures.admit import admission

        return admission(lease, node, work)

    def is_past(self, milestone: str, work: Work) -> bool:
        """Tell whether the node is in service already."""
        return work.library.lifecycle().has_reached(milestone, IN_SERVICE)


def given(answered: Any) -> Any:
    """Return Airflow's account of an answer as ours: id and name of the user, the word and the reason."""
    from nodeworthy.lifecycle import approvals
    from nodeworthy.procedures.ask import Given

    user = answered["responded_by_user"] or {}
    word = approvals.APPROVE if APPROVE in answered["chosen_options"] else approvals.REFUSE
    why = str((answered["params_input"] or {}).get(REASON, "")) or "no reason given"
    return Given(str(user.get("id", "")), str(user.get("name", "nobody")), word, why)
