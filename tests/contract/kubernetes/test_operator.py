"""KubernetesPodOperator, unmodified, against the lab: sync and deferrable, logs, XCom sidecar, failure."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kubernetes.harness import Lab, wait_for

pytest.importorskip("airflow.providers.cncf.kubernetes")

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True, scope="module")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own for what Airflow writes when it is imported."""
    home = tmp_path_factory.mktemp("airflow")
    before = {name: os.environ.get(name) for name in ("AIRFLOW_HOME", "AIRFLOW__CORE__LOAD_EXAMPLES")}
    os.environ.update(AIRFLOW_HOME=str(home), AIRFLOW__CORE__LOAD_EXAMPLES="False")
    yield home
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class TaskInstance:
    """As much of a task instance as the operator reads outside a worker."""

    def __init__(self) -> None:
        self.dag_id, self.task_id, self.run_id, self.try_number, self.map_index = "d", "t", "r", 1, -1
        self.pushed: dict[str, Any] = {}
        self.is_mapped = False

    def xcom_push(self, key: str, value: Any, **_: Any) -> None:
        """Keep what is pushed."""
        self.pushed[key] = value

    def xcom_pull(self, *_: Any, **__: Any) -> None:
        """Nothing was pushed before."""


class DagRun:
    """A run without a parent."""

    run_id = "r"
    logical_date = None
    run_after = None


def make_operator(kubeconfig: Path, command: str, **more: Any) -> Any:
    """An operator as the product would configure it: a kubeconfig and nothing else about the cluster."""
    from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
    from kubernetes.client import models

    return KubernetesPodOperator(
        task_id="t",
        name="contract",
        namespace="nodeworthy-tests",
        image="alpine:3.24.2",
        cmds=["sh", "-c"],
        arguments=[command],
        config_file=str(kubeconfig),
        kubernetes_conn_id=None,
        tolerations=[models.V1Toleration(operator="Exists")],
        do_xcom_push=True,
        startup_check_interval_seconds=1,
        poll_interval=0.5,
        **more,
    )


def context_of(task_instance: TaskInstance) -> dict[str, Any]:
    """The minimal context."""
    return {
        "ti": task_instance,
        "task_instance": task_instance,
        "dag_run": DagRun(),
        "run_id": "r",
        "params": {},
        "dag": None,
    }


WRITE = """echo first line; echo '{"answer": 42}' > /airflow/xcom/return.json; echo last line"""


def test_a_synchronous_operator_returns_its_xcom_and_shows_its_log(
    kubeconfig: Path, core: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Create, follow the log, read the sidecar's file, end the sidecar, delete the pod."""
    operator = make_operator(kubeconfig, WRITE, on_finish_action="delete_pod")
    assert operator.execute(context_of(TaskInstance())) == {"answer": 42}
    shown = capsys.readouterr().out
    assert "first line" in shown
    assert "last line" in shown


def test_a_failing_command_fails_the_operator(kubeconfig: Path, core: Any) -> None:
    """Exit code 3 is a failure, and the pod that failed stays when asked to."""
    from airflow.exceptions import AirflowException

    operator = make_operator(kubeconfig, "echo broken; exit 3", on_finish_action="delete_succeeded_pod")
    with pytest.raises(AirflowException):
        operator.execute(context_of(TaskInstance()))

    def pods() -> list[Any]:
        found: list[Any] = core.list_namespaced_pod(
            "nodeworthy-tests", label_selector="kubernetes_pod_operator=True"
        ).items
        return found

    wait_for(lambda: [pod.status.phase for pod in pods()] == ["Failed"])
    assert pods()[0].metadata.labels["already_checked"] == "True"
    core.delete_namespaced_pod(pods()[0].metadata.name, "nodeworthy-tests")


def test_a_deferred_operator_resumes_with_its_xcom(kubeconfig: Path, core: Any) -> None:
    """Defer, poll in the trigger with the asynchronous client, resume, read the XCom, delete."""
    from airflow.sdk.exceptions import TaskDeferred

    operator = make_operator(kubeconfig, WRITE, deferrable=True, on_finish_action="delete_pod")
    context = context_of(TaskInstance())
    with pytest.raises(TaskDeferred) as deferred:
        operator.execute(context)

    async def wait() -> Any:
        async for event in deferred.value.trigger.run():
            return event.payload
        return None

    event = asyncio.run(asyncio.wait_for(wait(), 60))
    assert event["status"] == "success"
    assert operator.trigger_reentry(context, event) == {"answer": 42}


def test_the_test_namespaces_account_suffices(lab_only: Lab, core: Any) -> None:
    """The short-lived credentials of the test namespace are all that the operator needs, in both modes."""
    from airflow.sdk.exceptions import TaskDeferred

    restricted = lab_only.state_dir / "kubeconfig-tests"
    assert make_operator(restricted, WRITE).execute(context_of(TaskInstance())) == {"answer": 42}
    operator = make_operator(restricted, WRITE, deferrable=True, logging_interval=1)
    with pytest.raises(TaskDeferred) as deferred:
        operator.execute(context_of(TaskInstance()))

    async def wait() -> Any:
        async for event in deferred.value.trigger.run():
            return event.payload
        return None

    assert asyncio.run(asyncio.wait_for(wait(), 60))["status"] in ("success", "running")
    for pod in core.list_namespaced_pod("nodeworthy-tests").items:
        core.delete_namespaced_pod(pod.metadata.name, "nodeworthy-tests", grace_period_seconds=0)
