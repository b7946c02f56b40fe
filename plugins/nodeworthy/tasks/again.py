"""The step behind a judge: the square that turns red when a node's verdict was bad, and that measures the node again.

Airflow's "Clear failed" starts what is red, and what measured the node is green: it did measure. So the first step
behind the judge, once a person has cleared it, takes its node to where it begins itself: by the steps of the node's
path, each by its own procedure, with the same test pod, and has this node's result judged. Then it goes on. A retry
that Airflow makes by itself measures nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from nodeworthy.errors import Refused
from nodeworthy.tasks.pods import TestPodOperator
from nodeworthy.tasks.procedure import run_procedure
from nodeworthy.tasks.steps import lease_of, run_of, sentences, stop_node
from nodeworthy.tasks.wave import Finishing

if TYPE_CHECKING:
    from nodeworthy.evidence.verdicts import Scope
    from nodeworthy.lifecycle.path import Stage
    from nodeworthy.lifecycle.records import NodeRecord
    from nodeworthy.ports import Work


class BehindJudge(TestPodOperator):
    """A step of one node that needs it judged. `path` names the stages that lead to it."""

    def __init__(self, *, path: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(scope="", **kwargs)
        self.path = path

    @abstractmethod
    def proceed(self, context: Context) -> Any:
        """Do the step's own work on a node that stands where it begins."""

    def is_there(self, record: NodeRecord, work: Work, context: Context) -> bool:
        """Tell whether the node stands where this step begins, or beyond."""
        return work.library.lifecycle().has_reached(record.milestone, self.begins)

    def execute(self, context: Context, event: Mapping[str, Any] | None = None) -> Any:
        """Do the step's work; bring a node that was refused, and cleared since, to where it begins first."""
        with sentences():
            must_test = self._must_test(context)
        return self.run_pod(context) if must_test else self.proceed(context)

    def after_pod(self, context: Context, returned: Any) -> Any:
        """Go on with a node whose result is home."""
        return self.execute(context)

    def resume(self) -> None:
        """Know which pod it was that ended: that of the stage at which the node stands."""
        from nodeworthy.wiring import wiring

        work = wiring().work(self.log.info)
        (record,) = work.ledger.nodes([self.node])
        self._aim(record, work)

    def _must_test(self, context: Context) -> bool:
        """Bring the node forward; return True when its test pod is to start, False when it stands where this begins.

        Defers while a boot takes its time. Ends the task when nothing is to be measured again.
        """
        from nodeworthy.procedures.again import is_passed
        from nodeworthy.wiring import wiring

        work = wiring().work(self.log.info)
        (record,) = work.ledger.nodes([self.node])
        if not self.is_there(record, work, context):
            self._begin(record, work, context)
        while not self.is_there(record := work.ledger.nodes([self.node])[0], work, context):
            stage = self._aim(record, work)
            if stage.judges is None:
                run_procedure(self, stage.name, self.node, context)
            # An earlier try may have had the node judged and died before it was moved.
            elif is_passed(record, stage.judges, work) and self._judge(stage.judges, work, context):
                continue
            elif self.prepare(work, context) is None:
                return True
            elif not self._judge(stage.judges, work, context):
                raise Refused(f"{self.node} was tested and has no result to be judged: clear this task.")
        return False

    def _begin(self, record: NodeRecord, work: Work, context: Context) -> None:
        """Go on only with a node that was refused for its verdict, and that a person wants measured again."""
        from nodeworthy.procedures.again import Start, asked_again, begin_again, is_bad

        if not is_bad(record, work):
            stop_node(record, work)
        lease = lease_of(self.node, work, context)
        if not asked_again(lease, work, Start(self.task_id, context["ti"].max_tries)):
            stop_node(record, work)
        begin_again(lease, record, work, f"run {run_of(context)}, cleared by a person, tests it again")

    def _aim(self, record: NodeRecord, work: Work) -> Stage:
        """Return the stage at which the node stands, and make its scope ours."""
        from nodeworthy.lifecycle.path import onboarding_stages
        from nodeworthy.procedures.again import next_stage

        stages = tuple(one for one in onboarding_stages(work.library.lifecycle()) if one.name in self.path)
        stage = next_stage(record, stages, work)
        self.scope = stage.judges.value if stage.judges else ""
        return stage

    def _judge(self, scope: Scope, work: Work, context: Context) -> bool:
        """Have this node's result judged, alone; return False when there is none. Refused when it is no pass."""
        from nodeworthy.procedures.again import judge_again
        from nodeworthy.wiring import wiring

        return judge_again(self.node, run_of(context), scope, work, wiring().judging())


class ProcedureBehindJudge(BehindJudge):
    """Runs one procedure, as `ProcedureOperator` does."""

    def __init__(self, *, procedure: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.procedure = procedure

    def proceed(self, context: Context) -> Mapping[str, Any]:
        """Run the procedure."""
        return run_procedure(self, self.procedure, self.node, context)


class FinishBehindJudge(Finishing, BehindJudge):
    """The last square of a node, where a judge stands right before it."""
