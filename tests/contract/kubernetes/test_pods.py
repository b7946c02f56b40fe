"""Pods: how they run, end, are deleted, evicted, logged and entered."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.contract.kubernetes.harness import Lab, sleeper, wait_for
from tests.contract.kubernetes.test_lists import Watch
from tests.contract.kubernetes.test_objects import MERGE, status_of


def phase(core: Any, namespace: str, name: str) -> str:
    """The pod's phase."""
    return str(core.read_namespaced_pod(name, namespace).status.phase)


def run(core: Any, namespace: str, pod: dict[str, Any], until: str = "Running") -> str:
    """Create a pod and wait for a phase."""
    name = str(core.create_namespaced_pod(namespace, pod).metadata.name)
    wait_for(lambda: phase(core, namespace, name) == until)
    return name


def log_of(core: Any, namespace: str, name: str, **options: Any) -> str:
    """A container's log (the client's own text form of it is a Python bytes literal)."""
    answer = core.read_namespaced_pod_log(name, namespace, _preload_content=False, **options)
    return str(answer.data.decode())


def execute(core: Any, namespace: str, name: str, *command: str) -> str:
    """What a command inside a pod prints."""
    from kubernetes.stream import stream

    connect = core.connect_get_namespaced_pod_exec
    return str(
        stream(connect, name, namespace, command=list(command), stdout=True, stderr=True, stdin=False, tty=False)
    )


def test_a_pod_is_terminated_before_its_phase_moves(core: Any, raw: httpx.Client, namespace: str) -> None:
    """The container ends while the phase is still Running; about a second later the pod has succeeded."""
    watch = Watch(raw, f"/api/v1/namespaces/{namespace}/pods", timeoutSeconds="10")
    core.create_namespaced_pod(namespace, sleeper("short", "true"))
    seen: list[tuple[str, str]] = []
    while not seen or seen[-1][0] != "Succeeded":
        _, obj = watch.next()
        state = (obj["status"].get("containerStatuses") or [{"state": {"none": 0}}])[0]["state"]
        seen.append((obj["status"]["phase"], next(iter(state))))
    watch.close()
    assert seen.index(("Running", "terminated")) < seen.index(("Succeeded", "terminated"))
    assert ("Pending", "waiting") in seen


@pytest.mark.parametrize(
    ("command", "code", "reason"), [("exit 0", 0, "Completed"), ("exit 7", 7, "Error"), ("kill -9 $$", 137, "Error")]
)
def test_exit_codes(core: Any, namespace: str, command: str, code: int, reason: str) -> None:
    """The container's exit code and reason."""
    # Process 1 of a PID namespace ignores its own signals, so the command runs one level down.
    name = run(
        core,
        namespace,
        sleeper("exit", f"sh -c '{command.replace('$$', '$$$$')}'"),
        "Succeeded" if code == 0 else "Failed",
    )
    state = core.read_namespaced_pod(name, namespace).status.container_statuses[0].state.terminated
    assert (state.exit_code, state.reason) == (code, reason)


def test_init_containers_run_first_and_share_volumes(core: Any, namespace: str) -> None:
    """An init container's file is there for the main container."""
    mount = [{"name": "shared", "mountPath": "/shared"}]
    pod = sleeper("init", "cat /shared/note", volumes=[{"name": "shared", "emptyDir": {}}])
    pod["spec"]["containers"][0]["volumeMounts"] = mount
    write = {
        "name": "write",
        "image": "busybox",
        "command": ["sh", "-c", "echo from init > /shared/note"],
        "volumeMounts": mount,
    }
    pod["spec"]["initContainers"] = [write]
    run(core, namespace, pod, "Succeeded")
    assert log_of(core, namespace, "init") == "from init\n"


def test_a_missing_image_alternates(core: Any, raw: httpx.Client, namespace: str) -> None:
    """ErrImagePull and ImagePullBackOff, with a log that is refused."""
    pod = sleeper("absent")
    pod["spec"]["containers"][0]["image"] = "registry.example/nobody:1"
    core.create_namespaced_pod(namespace, pod)

    def reason() -> str:
        found = core.read_namespaced_pod("absent", namespace).status.container_statuses
        return str(found[0].state.waiting.reason) if found else ""

    wait_for(lambda: reason() == "ErrImagePull")
    wait_for(lambda: reason() == "ImagePullBackOff")
    refused = status_of(raw.get(f"/api/v1/namespaces/{namespace}/pods/absent/log"), 400, "BadRequest")
    assert "is waiting to start: trying and failing to pull image" in refused["message"]


def test_a_deadline_fails_the_pod(core: Any, namespace: str) -> None:
    """activeDeadlineSeconds gives Failed with the reason DeadlineExceeded."""
    pod = sleeper("late", "trap 'exit 1' TERM; while true; do sleep 0.1; done", activeDeadlineSeconds=1)
    run(core, namespace, pod, "Failed")
    assert core.read_namespaced_pod("late", namespace).status.reason == "DeadlineExceeded"


def test_restart_policy_on_failure(core: Any, namespace: str) -> None:
    """A failing container is started again and its previous log stays readable."""
    core.create_namespaced_pod(namespace, sleeper("again", "echo try; sleep 0.2; exit 1", restartPolicy="OnFailure"))
    wait_for(lambda: (core.read_namespaced_pod("again", namespace).status.container_statuses or [None])[0])
    wait_for(lambda: core.read_namespaced_pod("again", namespace).status.container_statuses[0].restart_count >= 1)
    assert log_of(core, namespace, "again", previous=True) == "try\n"


def test_deletion_takes_the_grace_period(core: Any, raw: httpx.Client, namespace: str) -> None:
    """A process that ignores TERM is killed after the grace period; the watch shows each step."""
    run(core, namespace, sleeper("stubborn", "trap '' TERM; while true; do sleep 0.1; done"))
    version = raw.get(f"/api/v1/namespaces/{namespace}/pods").json()["metadata"]["resourceVersion"]
    watch = Watch(raw, f"/api/v1/namespaces/{namespace}/pods", resourceVersion=version, timeoutSeconds="10")
    started = time.monotonic()
    answer = raw.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/stubborn", json={"gracePeriodSeconds": 1})
    assert (answer.status_code, answer.json()["metadata"]["deletionGracePeriodSeconds"]) == (200, 1)
    steps: list[tuple[str, int, str]] = []
    while not steps or steps[-1][0] != "DELETED":
        kind, obj = watch.next()
        steps.append((kind, obj["metadata"]["deletionGracePeriodSeconds"], obj["status"]["phase"]))
    watch.close()
    assert 0.9 < time.monotonic() - started < 4
    assert steps[0] == ("MODIFIED", 1, "Running")
    assert steps[-2:] == [("MODIFIED", 0, "Failed"), ("DELETED", 0, "Failed")]
    assert obj["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_unscheduled_pods_go_at_once(core: Any, raw: httpx.Client, namespace: str) -> None:
    """A pod without a node is removed by the first DELETE; its log is 204."""
    core.create_namespaced_pod(namespace, sleeper("waiting", nodeSelector={"nobody": "has-this"}))
    url = f"/api/v1/namespaces/{namespace}/pods/waiting"
    assert raw.get(f"{url}/log").status_code == 204
    assert raw.delete(url).status_code == 200
    assert raw.get(url).status_code == 404


def test_a_finalizer_keeps_the_pod(core: Any, raw: httpx.Client, namespace: str) -> None:
    """The pod stays at grace 0 until the last finalizer is patched away."""
    pod = sleeper("kept", "exit 0")
    pod["metadata"]["finalizers"] = ["example.org/hold"]
    run(core, namespace, pod, "Succeeded")
    url = f"/api/v1/namespaces/{namespace}/pods/kept"
    raw.delete(url)
    assert raw.get(url).json()["metadata"]["deletionGracePeriodSeconds"] == 0
    raw.patch(url, headers=MERGE, json={"metadata": {"finalizers": None}})
    assert raw.get(url).status_code == 404


def test_gpu_requests_are_checked(core: Any, raw: httpx.Client, namespace: str) -> None:
    """A request needs an equal limit; nine GPUs fit nowhere and the condition says so."""
    url = f"/api/v1/namespaces/{namespace}/pods"

    def with_gpus(name: str, **resources: Any) -> dict[str, Any]:
        pod = sleeper(name)
        pod["spec"]["containers"][0]["resources"] = resources
        return pod

    status_of(raw.post(url, json=with_gpus("g", requests={"nvidia.com/gpu": "1"})), 422, "Invalid")
    two = with_gpus("g", requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "2"})
    status_of(raw.post(url, json=two), 422, "Invalid")
    core.create_namespaced_pod(namespace, with_gpus("g", limits={"nvidia.com/gpu": "9"}))
    condition = wait_for(lambda: core.read_namespaced_pod("g", namespace).status.conditions)[0]
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert "Insufficient nvidia.com/gpu" in condition.message


def test_binding_happens_once(core: Any, raw: httpx.Client, namespace: str, node: str) -> None:
    """201, then 409; the node name of a pod never changes."""
    core.create_namespaced_pod(namespace, sleeper("bound", schedulerName="nobody"))
    url = f"/api/v1/namespaces/{namespace}/pods/bound"
    body = {"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": node}}
    assert raw.post(f"{url}/binding", json=body).status_code == 201
    status_of(raw.post(f"{url}/binding", json=body), 409, "Conflict")
    status_of(raw.patch(url, headers=MERGE, json={"spec": {"nodeName": "other"}}), 422, "Invalid")
    raw.request("DELETE", url, json={"gracePeriodSeconds": 0})


def test_logs_have_options(core: Any, raw: httpx.Client, namespace: str) -> None:
    """tail, timestamps, limit, since; and the refusals."""
    run(core, namespace, sleeper("talk", "echo one; echo two >&2; printf three; exit 0"), "Succeeded")
    url = f"/api/v1/namespaces/{namespace}/pods/talk/log"
    assert sorted(raw.get(url).text.split()) == ["one", "three", "two"]
    assert len(raw.get(url, params={"tailLines": 1}).text.split()) == 1
    assert raw.get(url, params={"limitBytes": 2}).text == "on"
    assert raw.get(url, params={"timestamps": "true"}).text.startswith("20")
    assert raw.get(url, params={"sinceSeconds": 60}).headers["content-type"].startswith("text/plain")
    status_of(raw.get(url, params={"tailLines": -1}), 422, "Invalid")
    status_of(raw.get(url, params={"container": "nobody"}), 400, "BadRequest")
    status_of(raw.get(url, params={"previous": "true"}), 400, "BadRequest")


def test_logs_are_followed_to_the_end(core: Any, namespace: str) -> None:
    """A following reader gets every line as it comes, and the end when the container ends."""
    run(core, namespace, sleeper("tick", "for i in 1 2 3; do echo $i; sleep 0.3; done"))
    stream = core.read_namespaced_pod_log("tick", namespace, follow=True, _preload_content=False)
    assert b"".join(stream.stream()) == b"1\n2\n3\n"


def test_exec_reports_output_and_exit(core: Any, raw: httpx.Client, namespace: str) -> None:
    """Output of both streams, the exit code in the final status, and refusals before the upgrade."""
    from kubernetes.stream import stream

    run(core, namespace, sleeper("shell"))
    assert execute(core, namespace, "shell", "echo", "inside") == "inside\n"
    connect = core.connect_get_namespaced_pod_exec
    session = stream(
        connect, "shell", namespace, command=["sh"], stdin=True, stdout=True, stderr=True, _preload_content=False
    )
    session.write_stdin("echo err >&2; exit 5\n")
    session.run_forever(timeout=5)
    assert (session.read_stderr(), session.returncode) == ("err\n", 5)
    status_of(raw.get(f"/api/v1/namespaces/{namespace}/pods/shell/exec", params={"command": "true"}), 400, "BadRequest")


def test_the_asynchronous_client_can_exec(kubeconfig: Any, core: Any, namespace: str) -> None:
    """kubernetes_asyncio offers only the v4 subprotocol."""
    import asyncio

    from kubernetes_asyncio import client, config
    from kubernetes_asyncio.stream import WsApiClient

    async def talk() -> str:
        settings = client.Configuration()
        await config.load_kube_config(str(kubeconfig), client_configuration=settings)
        async with WsApiClient(configuration=settings) as api:
            connect = client.CoreV1Api(api).connect_get_namespaced_pod_exec
            return str(
                await connect(
                    "shell", namespace, command=["echo", "async"], stderr=True, stdin=False, stdout=True, tty=False
                )
            )

    run(core, namespace, sleeper("shell"))
    assert asyncio.run(talk()) == "async\n"


def test_a_container_sees_only_itself(core: Any, namespace: str, lab_only: Lab) -> None:
    """Processes of the host are out of sight and out of reach; the system is read-only, the lab's state is hidden."""
    run(core, namespace, sleeper("alone"))
    assert execute(core, namespace, "alone", "sh", "-c", "ls -d /proc/[0-9]* | wc -l").strip() in ("3", "4", "5")
    assert "Read-only file system" in execute(core, namespace, "alone", "touch", "/usr/x")
    assert "No such file" in execute(core, namespace, "alone", "ls", str(lab_only.state_dir / "kubeconfig"))
    assert execute(core, namespace, "alone", "cat", "/etc/hostname") == "alone\n"


def test_a_container_sees_its_node(core: Any, namespace: str, lab_only: Lab) -> None:
    """Boot id, serial, kernel log and the node view are the lab node's, not this machine's."""
    pod = sleeper("seer", nodeSelector={"kubernetes.io/hostname": "node-c"})
    run(core, namespace, pod)
    boot_id = core.read_node("node-c").status.node_info.boot_id
    assert execute(core, namespace, "seer", "cat", "/proc/sys/kernel/random/boot_id").strip() == boot_id
    assert execute(core, namespace, "seer", "cat", "/sys/class/dmi/id/product_serial").strip() == "serial-node-c"
    assert "Linux version" in execute(core, namespace, "seer", "cat", "/dev/kmsg")
    view = execute(core, namespace, "seer", "grep", "-o", '"node": "[^"]*"', "/run/nodeworthy-lab/view.json")
    assert view.strip() == '"node": "node-c"'


def test_environment_and_volumes(core: Any, namespace: str) -> None:
    """Fields, config maps, secrets and expansion reach the process."""
    core.create_namespaced_config_map(
        namespace, {"metadata": {"name": "m"}, "data": {"key": "from map", "file": "text"}}
    )
    core.create_namespaced_secret(namespace, {"metadata": {"name": "s"}, "stringData": {"word": "hidden"}})
    pod = sleeper("env", 'echo "$A|$B|$C|$D"; cat /m/file')
    container = pod["spec"]["containers"][0]
    container["env"] = [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "key"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "word"}}},
        {"name": "D", "value": "$(A)-x"},
    ]
    container["volumeMounts"] = [{"name": "m", "mountPath": "/m"}]
    pod["spec"]["volumes"] = [{"name": "m", "configMap": {"name": "m"}}]
    run(core, namespace, pod, "Succeeded")
    assert log_of(core, namespace, "env") == "env|from map|hidden|env-x\ntext"


def test_folders_of_the_host_are_only_read_by_a_test_that_looks_at_them(core: Any, namespace: str) -> None:
    """What the product asks for processes and logs is mounted, and nothing can be written there."""
    from kubernetes.client import ApiClient, models
    from nodeworthy.tasks.privileges import grant

    container = models.V1Container(name="c")
    empty = models.V1Pod(metadata=models.V1ObjectMeta(), spec=models.V1PodSpec(containers=[container]))
    granted = ApiClient().sanitize_for_serialization(grant(empty, {"processes": "a.b", "logs": "a.c"}))
    assert granted["metadata"]["annotations"] == {"nodeworthy.dev/privileges": "logs for a.c, processes for a.b"}
    assert granted["spec"]["containers"][0].keys() == {"name", "volumeMounts"}
    command = "ls -d /host/proc /host/log; touch /host/proc/x /host/log/x || echo refused"
    pod = sleeper("looks", command, volumes=granted["spec"]["volumes"])
    pod["spec"]["containers"][0]["volumeMounts"] = granted["spec"]["containers"][0]["volumeMounts"]
    run(core, namespace, pod, until="Succeeded")
    assert {"/host/log", "/host/proc", "refused"} <= set(log_of(core, namespace, "looks").splitlines())
