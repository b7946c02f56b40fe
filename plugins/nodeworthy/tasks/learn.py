"""Builds the learn_baselines DAG: propose from what was measured, ask a person, judge again what waited for it.

The answer is written into our own ledger with the proposal's hash, and the step behind it checks that record: any user
may mark a task a success.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import DAG, BaseOperator, Context, Param
from airflow.sdk.exceptions import AirflowFailException

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.tasks.approval import APPROVE, REASON, REFUSE, TRIES, ask_again, given
from nodeworthy.tasks.steps import RETRIES, counted, require_trigger, run_of, say_reason, sentences, skip

PROPOSE = "propose"
EVIDENCE = "/nodeworthy/evidence"
"""Where our pages in the Airflow UI show the evidence store."""
PARAMS = {
    "sku": Param("", type="string", minLength=1, title="SKU", description="The SKU whose results are learnt from."),
    "again": Param(
        False,
        type="boolean",
        title="All keys",
        description="Propose anew for keys that have a baseline too, not only for those without.",
    ),
}


def learn_baselines_dag() -> DAG:
    """Return the DAG that learns."""
    with DAG(
        dag_id="learn_baselines",
        description="Baselines proposed from the fleet's own measurements, put in force by a person",
        doc_md=__doc__,
        schedule=None,
        catchup=False,
        max_active_runs=1,
        params=PARAMS,
        tags=["judgement"],
        default_args={**RETRIES, "on_failure_callback": say_reason},
    ) as dag:
        propose = ProposeBaselines(task_id=PROPOSE)
        approve = BaselineApproval(task_id="approve", proposal=propose.task_id)
        propose >> approve >> Rejudge(task_id="rejudge", proposal=propose.task_id)
    return dag


class ProposeBaselines(BaseOperator):
    """Learns from the stored results of one SKU and writes the proposal into evidence store and ledger."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Return which version was proposed and what an operator should look at."""
        from nodeworthy.procedures.learn import learn
        from nodeworthy.wiring import wiring

        params = context["params"]
        with sentences():
            made = wiring()
            work = made.work(self.log.info)
            require_trigger(context, work)
            proposed = learn(
                run_of(context), str(params["sku"]), work, made.teaching(), again=bool(params.get("again"))
            )
        self.log.info("%s", proposed.sentence)
        version = proposed.version
        return {
            "schema": 1,
            "sku": version.sku,
            "number": version.number,
            "sentence": proposed.sentence,
            "page": f"{EVIDENCE}/{PurePosixPath(version.evidence.path).parent}/page.html",
            "sha256": version.sha256,
        }


class BaselineApproval(HITLOperator):
    """Asks a person whether the proposal may be judged by."""

    def __init__(self, *, proposal: str, **kwargs: Any) -> None:
        # The DAG's own params come in here by inheritance; a form asks for the task's alone.
        kwargs.pop("params", None)
        super().__init__(
            subject="Put these baselines in force",
            options=[APPROVE, REFUSE],
            params={REASON: Param("", type="string", title="Reason", description="Why.", source="task")},
            **{**kwargs, "retries": TRIES},
        )
        self.proposal = proposal

    def execute(self, context: Context) -> Any:
        """Find an earlier answer to this very version, or park until a person answers."""
        from nodeworthy.wiring import wiring

        proposed = _proposed(context, self.proposal)
        with sentences():
            version = _version(wiring().book.baseline_versions(proposed["sku"]), proposed)
        if version.answer:
            return self._follow(version.answer, version.who, version.why)
        self.subject = f"{proposed['sku']}: put version {proposed['number']} of the baselines in force"
        self.body = f"{proposed['sentence']}\n\n[Old against new, key by key]({proposed['page']})"
        self.log.info("Asking who may change policy, in Required Actions: %s?", self.subject)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Write who answered what; from an approval on, the version is in force."""
        from nodeworthy.wiring import wiring

        answered = super().execute_complete(context, event)
        proposed = _proposed(context, self.proposal)
        said = given(answered)
        with sentences():
            try:
                may = Permission.CHANGE_POLICY
                who = wiring().library.roles().require(may, said.user_id, said.name).name
            except Refused as refusal:
                raise ask_again(
                    f"The answer '{said.answer}' of {said.name} does not count: {refusal.sentence}"
                ) from refusal
            wiring().book.answer_baselines(
                proposed["sku"], proposed["number"], who=who, answer=said.answer, why=said.why
            )
        return self._follow(said.answer, who, said.why)

    def _follow(self, answer: str, who: str, why: str) -> Any:
        sentence = f"The proposal was answered with '{answer}' by {who}: {why}."
        if answer != "approve":
            skip(sentence)
        self.log.info("%s", sentence)
        return {"schema": 1, "answer": answer}


class Rejudge(BaseOperator):
    """Judges again, from stored evidence, the nodes of the SKU that waited for a baseline."""

    def __init__(self, *, proposal: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.proposal = proposal

    def execute(self, context: Context) -> dict[str, Any]:
        """Return how many results got which verdict. Fails when the version is not in force by our own record."""
        from nodeworthy.procedures.rejudge import rejudge
        from nodeworthy.procedures.rejudge_groups import rejudge_groups
        from nodeworthy.wiring import wiring

        proposed = _proposed(context, self.proposal)
        with sentences():
            made = wiring()
            work = made.work(self.log.info)
            if not _version(made.book.baseline_versions(proposed["sku"]), proposed).stands:
                raise AirflowFailException("Nobody approved this version in our ledger: nothing was judged again.")
            names = [record.node.name for record in work.ledger.nodes() if record.node.sku == proposed["sku"]]
            judged = rejudge(run_of(context), names, work, made.judging())
            judged += rejudge_groups(run_of(context), names, work, made.judging(), made.pods)
        counts: dict[str, int] = {}
        for one in judged:
            counts[one.verdict.value] = counts.get(one.verdict.value, 0) + 1
            self.log.info("%s", one.sentence)
        self.log.info("Judged %d results again: %s.", len(judged), counted(counts, "none waited for a baseline"))
        return {"schema": 1, "verdicts": counts}


def _proposed(context: Context, task: str) -> dict[str, Any]:
    proposed: dict[str, Any] | None = context["ti"].xcom_pull(task_ids=task)
    if not proposed:
        raise AirflowFailException("Nothing was proposed: see the first task of this run.")
    return proposed


def _version(versions: Any, proposed: dict[str, Any]) -> Any:
    """Return our record of the proposal: same number and same hash."""
    same = (proposed["number"], proposed["sha256"])
    found = next((one for one in versions if (one.number, one.sha256) == same), None)
    if found is None:
        raise AirflowFailException("The ledger does not know this proposal: run the first task again.")
    return found
