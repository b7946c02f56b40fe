"""The test pod: an unmodified KubernetesPodOperator around it, our own record of what came out of it.

Airflow's state of this task is transport only. The operator may report success without a result, so what counts is the
ledger's record: the bundle is read from the finished pod by exec, checked against the receipt, stored and written down
before the pod is deleted.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from nodeworthy.ports.pods import TEST_NAMESPACE, TOLERATED, gpu_limits, vendor_of
from nodeworthy.tasks.steps import for_a_node, lease_of, receipt, run_of, sentences, stop_unless_begun

if TYPE_CHECKING:
    from nodeworthy.ports import Work
    from nodeworthy.procedures.test_plan import Wanted


class TestPodOperator(KubernetesPodOperator):
    """Runs one suite on one node in a pod pinned to it by selector, and brings its evidence home."""

    __test__ = False
    # Ours alone: the pod's are filled in from the plan, and Airflow would check and send all of them at each start.
    template_fields = ("node", "suite")
    template_fields_renderers: ClassVar[dict[str, str]] = {}

    def __init__(
        self, *, node: str, suite: str, scope: str, begins: str = "", soak: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(
            name="nodeworthy-test",
            namespace=TEST_NAMESPACE,
            deferrable=True,
            do_xcom_push=True,
            get_logs=True,
            log_events_on_startup=False,
            log_pod_spec_on_failure=False,
            on_finish_action="delete_pod",
            automount_service_account_token=False,
            execution_timeout=kwargs.pop("execution_timeout", timedelta(hours=1)),
            **for_a_node(kwargs),
        )
        self.node = node
        self.suite = suite
        self.scope = scope
        self.begins = begins
        self.soak = soak
        self._checks: list[dict[str, Any]] = []
        self._needs: dict[str, str] = {}

    def execute(self, context: Context) -> Any:
        """Skip what is proven; otherwise write the plan into the pod and start it."""
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            stop_unless_begun(self.node, self.begins, work)
            earlier = self.prepare(work, context)
        return self.run_pod(context) if earlier is None else receipt(self.node, self.task_id, earlier)

    def prepare(self, work: Work, context: Context) -> str | None:
        """Write the plan into the pod and return None; or return a sentence when no test needs to run."""
        from nodeworthy.procedures.test_plan import proven, test_plan
        from nodeworthy.qualification.plans import pod_limit

        lease = lease_of(self.node, work, context)
        (record,) = work.ledger.nodes([self.node])
        earlier = proven(lease, record, work, self._wanted())
        if earlier is not None:
            self.log.info("%s", earlier)
            return earlier
        plan = test_plan(lease, record.node, work, self._wanted())
        self._pin(plan)
        # The pod operator counts its limit from the task's first start; what ran before this pod does not count.
        ran = work.clock.now() - context["ti"].start_date
        limit = pod_limit(plan) + self._node_patience()
        self.execution_timeout = ran + limit
        # The same for the pod itself, and for housekeeping's wait: it ends also where nobody of ours is left to end it.
        self.active_deadline_seconds = int(limit.total_seconds())
        return None

    def run_pod(self, context: Context) -> Any:
        """Start the pod that was prepared, and wait for it deferred."""
        self.pod = self.pod_request_obj = None
        return super().execute(context)

    def _wanted(self) -> Wanted:
        from nodeworthy.evidence.verdicts import Scope
        from nodeworthy.procedures.test_plan import Wanted

        return Wanted(Scope(self.scope), self.suite, self.soak)

    def extract_xcom(self, pod: Any, **kwargs: Any) -> dict[Any, Any] | None:
        """Bring the bundle home before the sidecar that holds it is told to end."""
        from airflow.sdk import get_current_context

        from nodeworthy.evidence.verdicts import Scope
        from nodeworthy.procedures.receive import receive
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            lease = lease_of(self.node, work, get_current_context())
            (record,) = work.ledger.nodes([self.node])
            summary = receive(lease, record.node, work, scope=Scope(self.scope), pod=pod.metadata.name)
        super().extract_xcom(pod, **kwargs)
        return dict(receipt(self.node, self.task_id, summary))

    def defer(self, *, trigger: Any, **how: Any) -> NoReturn:
        """Wait for the pod as the pod operator does, as long as its node lives; for anything else as it is."""
        from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
        from airflow.sdk import get_current_context

        from nodeworthy.tasks.pod_trigger import WatchedPodTrigger

        if not isinstance(trigger, KubernetesPodTrigger):
            super().defer(trigger=trigger, **how)
        patience = self._node_patience().total_seconds()
        watched = WatchedPodTrigger.around(
            trigger, node=self.node, lost_after_seconds=patience, holder=run_of(get_current_context())
        )
        super().defer(trigger=watched, **how)
        raise AssertionError("defer raises")

    def _node_patience(self) -> timedelta:
        """Return how long a node may be not Ready before it counts as lost: as long as it may take after a boot."""
        from nodeworthy.wiring import wiring

        (record,) = wiring().ledger.nodes([self.node])
        patience: timedelta = wiring().library.policy(record.node.pool)["waits"]["node_ready"]
        return patience

    def trigger_reentry(self, context: Context, event: dict[str, Any]) -> Any:
        """Resume after the pod ended, with the next segment where there is one.

        A pod that is gone, or one without a result, is no success.
        """
        if "node_lost" in event:
            self.client.delete_namespaced_pod(event["name"], event["namespace"], grace_period_seconds=0)
            raise AirflowFailException(
                f"{self.node} died while its tests ran: its Node has not been Ready for {event['node_lost']:.0f} s; "
                "look at its console and its power, bring it back, then clear this task."
            )
        self.resume()
        returned = super().trigger_reentry(context, event)
        if returned is None:
            raise AirflowFailException(
                f"{self.node}: the test pod {event.get('name')} ended without leaving a result: run this task again."
            )
        return self.execute(context) if self._unfinished(context) else self.after_pod(context, returned)

    def resume(self) -> None:
        """Prepare for what a pod brought home; a task of one stage knows its scope."""

    def after_pod(self, context: Context, returned: Any) -> Any:
        """Return what the task hands on once its result is home."""
        return returned

    def _unfinished(self, context: Context) -> bool:
        from nodeworthy.procedures.test_plan import unfinished
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            (record,) = work.ledger.nodes([self.node])
            return unfinished(lease_of(self.node, work, context), record.node, work, self._wanted())

    def _pin(self, plan: dict[str, Any]) -> None:
        from kubernetes.client import models

        self.node_selector = {"kubernetes.io/hostname": self.node}
        self.tolerations = [
            models.V1Toleration(key=taint, operator="Exists", effect="NoSchedule") for taint in TOLERATED
        ]
        self.image = self._image_for(plan)
        self.container_resources = models.V1ResourceRequirements(limits=gpu_limits(plan["expect"]["gpus"], plan))
        # With its nonce, so that a pod of the segment before, which may still be ending, is not taken for this one.
        self.labels = {
            "nodeworthy.dev/node": self.node,
            "nodeworthy.dev/suite": plan["suite"],
            "nodeworthy.dev/nonce": plan["nonce"][:16],
        }
        self.annotations = {"nodeworthy.dev/episode": str(plan["episode"])}
        self.env_vars = [models.V1EnvVar(name="NODEWORTHY_PLAN", value=json.dumps(plan))]
        self._checks = [test for test in plan["tests"] if test.get("image")]
        self._needs = {need: test["test"] for test in plan["tests"] for need in test.get("needs", ())}

    def _image_for(self, plan: dict[str, Any]) -> str:
        from nodeworthy.wiring import wiring

        return wiring().probe_image_of(vendor_of(plan))

    def build_pod_request_obj(self, context: Context | None = None) -> Any:
        """Return the pod: the probe's container, and one beside it for every own check of the plan."""
        from nodeworthy.tasks.check_containers import add_checks
        from nodeworthy.tasks.privileges import grant

        pod = grant(super().build_pod_request_obj(context), self._needs)
        return add_checks(pod, self._checks)
