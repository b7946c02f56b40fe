"""All kubelets of the lab: they follow the machines' power, register nodes, and run the pods that are bound to them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lab.kubelet import heartbeat, logs, node
from lab.kubelet.container import Container
from lab.kubelet.pod import Place, PodWorker
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.registry import utc_text
from lab.kubernetes.store import Change

Json = dict[str, Any]

REGISTER_LAB_SECONDS = 5.0
CAPTURED_TOOLS = "captured-tools"
SILENT = "kubelet-silent"


class Kubelets:
    """The kubelets of a fleet. `beats` holds the lab time of each node's last heartbeat."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._up: dict[str, Any] = {}
        self._registered: set[str] = set()
        self._timers: dict[str, Any] = {}
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.beats: dict[str, datetime] = {}

    def start(self) -> None:
        """Listen to machines and pods."""
        shutil.rmtree(self._cluster.state_dir / "pods", ignore_errors=True)
        self._cluster.world.subscribe(self._world_event)
        self._cluster.store.listen(self._pod_changed, ("", "pods"))

    # -- machines ---------------------------------------------------------------------------------------------------

    def _world_event(self, event: Any) -> None:
        if type(event).__name__ == "MachineUp":
            self._machine_up(event)
        else:
            self._machine_down(event.node)

    def _machine_up(self, event: Any) -> None:
        self._machine_down(event.node)
        self._up[event.node] = event
        view = self.refresh_view(event.node)
        directory = self.directory(event.node)
        (directory / "kmsg").write_text("".join(f"{line}\n" for line in view.get("kernel_log") or []), encoding="utf-8")
        (directory / "boot_id").write_text(f"{event.boot_id}\n", encoding="utf-8")
        (directory / "machine_id").write_text(f"{event.machine_id}\n", encoding="utf-8")
        delay = timedelta(seconds=REGISTER_LAB_SECONDS)
        self._timers[event.node] = self._cluster.world.clock.call_later(delay, lambda: self._register(event))

    def _machine_down(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        self._up.pop(name, None)
        self._registered.discard(name)
        for uid, worker in list(self._workers.items()):
            if worker.place.node == name:
                worker.lose()
                del self._workers[uid]

    def _register(self, event: Any) -> None:
        """Create the Node object, or bring an existing one up to date; its spec is never touched."""
        name = event.node
        cluster = self._cluster
        now = utc_text(cluster.registry.now())
        view = self.refresh_view(name)
        status = node.status(event, cluster.world.nodes.get(name), view, now)
        self._registered.add(name)
        self.beats[name] = cluster.world.clock.now()
        if cluster.store.get(("", "nodes"), "", name) is None:
            body = {
                "metadata": {"name": name, "labels": node.labels(event)},
                "spec": {"taints": node.taints(event)},
                "status": status,
            }
            made = cluster.registry.create(cluster.nodes, "", body)
        else:
            changed = cluster.registry.mutate(cluster.nodes, "", name, lambda old: self._updated(old, event, status))
            assert changed is not None
            made = changed
        heartbeat.renew(cluster, name, made["metadata"]["uid"])
        cluster.event(made, "Starting", "Starting kubelet.", component="kubelet")
        for pod in list(cluster.store.objects(("", "pods"))):
            if pod["spec"].get("nodeName") == name:
                self._adopt(pod)

    @staticmethod
    def _updated(old: Json, event: Any, status: Json) -> Json:
        metadata = old["metadata"]
        # As a real kubelet: --node-labels count at creation only, so an image change needs the object deleted.
        metadata["labels"] = {**(metadata.get("labels") or {}), **node.default_labels(event.node)}
        before = {item["type"]: item for item in (old.get("status") or {}).get("conditions") or []}
        for item in status["conditions"]:
            same = before.pop(item["type"], None)
            if same and same["status"] == item["status"]:
                item["lastTransitionTime"] = same["lastTransitionTime"]
        # Conditions that others own (ours, a problem detector's) stay.
        status["conditions"] = [*status["conditions"], *before.values()]
        return {**old, "status": status}

    def _adopt(self, pod: Json) -> None:
        """A pod that was bound before this boot: unfinished ones lost their containers with the machine."""
        phase = (pod.get("status") or {}).get("phase")
        if phase in ("Succeeded", "Failed") or not (pod.get("status") or {}).get("containerStatuses"):
            self._begin(pod)
            return
        now = utc_text(self._cluster.registry.now())
        self._cluster.registry.mutate(
            self._cluster.pods, pod["metadata"]["namespace"], pod["metadata"]["name"], lambda obj: _lost(obj, now)
        )
        if pod["metadata"].get("deletionTimestamp"):
            self._cluster.registry.delete(
                self._cluster.pods, pod["metadata"]["namespace"], pod["metadata"]["name"], {"gracePeriodSeconds": 0}
            )

    # -- heartbeats -------------------------------------------------------------------------------------------------

    def alive(self) -> list[str]:
        """Nodes whose kubelet runs and is not silenced."""
        return [name for name in self._registered if not self._silent(name)]

    def beat(self, name: str, written: bool) -> None:
        """One heartbeat: a lease (where it is to be written), and a status if the node was thought to be gone."""
        obj = self._cluster.store.get(("", "nodes"), "", name)
        if obj is None:
            # A running kubelet does not register again; it does so when it starts.
            return
        self.beats[name] = self._cluster.world.clock.now()
        if written:
            heartbeat.renew(self._cluster, name, obj["metadata"]["uid"])
        conditions = {item["type"]: item for item in (obj.get("status") or {}).get("conditions") or []}
        if any(conditions.get(kind, {}).get("status") != value for kind, value, _, _ in node.HEALTHY):
            self._recover(name)

    def _recover(self, name: str) -> None:
        now = utc_text(self._cluster.registry.now())
        event = self._up[name]
        status = node.status(event, self._cluster.world.nodes.get(name), self._cluster.world.view(name), now)
        self._cluster.registry.mutate(self._cluster.nodes, "", name, lambda old: self._updated(old, event, status))

    def _silent(self, name: str) -> bool:
        return any(getattr(fault, "name", fault) == SILENT for fault in self._cluster.world.active_faults(name))

    def reachable(self, name: str) -> bool:
        """Whether the node's kubelet answers on its port."""
        return name in self._registered

    # -- pods -------------------------------------------------------------------------------------------------------

    def _pod_changed(self, change: Change) -> None:
        if change.after is None:
            assert change.before is not None
            self._gone(change.before.obj)
            return
        pod = change.after.obj
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is not None:
            self._update(worker, pod)
        elif pod["spec"].get("nodeName") in self._registered:
            self._begin(pod)

    def _begin(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._workers or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return
        name = pod["spec"]["nodeName"]
        place = Place(
            name,
            self.directory(name),
            self._cluster.state_dir / "pods" / uid,
            node.address(name) if pod["spec"].get("hostNetwork") else node.pod_address(uid),
            node.address(name),
        )
        worker = PodWorker(self._cluster, pod, place, self.refresh_view)
        self._workers[uid] = worker
        annotations = pod["metadata"].get("annotations") or {}
        effect = annotations.get("nodeworthy.dev/effect")
        self._cluster.world.record_effect(
            "pod-run",
            name,
            effect,
            pod=pod["metadata"]["name"],
            namespace=pod["metadata"]["namespace"],
            annotations=annotations,
        )
        # The worker starts from the event loop: writing a status here would nest inside another write's notification.
        self._tasks[uid] = self._cluster.spawn(worker.run())
        if pod["metadata"].get("deletionTimestamp"):
            worker.stop(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))

    def _update(self, worker: PodWorker, pod: Json) -> None:
        metadata = pod["metadata"]
        if not metadata.get("deletionTimestamp"):
            return
        if worker.ended:
            if metadata.get("deletionGracePeriodSeconds"):
                asyncio.get_running_loop().call_soon(worker.remove_if_deleted)
            return
        worker.stop(float(metadata.get("deletionGracePeriodSeconds") or 0))

    def _gone(self, pod: Json) -> None:
        worker = self._workers.pop(pod["metadata"]["uid"], None)
        if worker is None:
            return
        worker.lose()
        task = self._tasks.pop(worker.uid, None)
        if task is not None and not task.done():
            task.add_done_callback(lambda _: worker.clean())
        else:
            worker.clean()

    # -- what the API asks ------------------------------------------------------------------------------------------

    def running(self, pod: Json, container: str) -> Container | None:
        """The running container, or None."""
        worker = self._workers.get(pod["metadata"]["uid"])
        found = worker.containers.get(container) if worker is not None else None
        return found if found is not None and found.alive and found.init_pid is not None else None

    def log_file(self, pod: Json, container: str, *, previous: bool) -> Path | None:
        """The log of the present or the previous run."""
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None:
            folder = self._cluster.state_dir / "pods" / pod["metadata"]["uid"] / "logs" / container
            paths = sorted(folder.glob("*.log"), key=lambda path: int(path.stem))
        else:
            paths = worker.logs.get(container, [])
        wanted = 2 if previous else 1
        return paths[-wanted] if len(paths) >= wanted else None

    def read_log(self, pod: Json, container: str, options: Json) -> AsyncIterator[bytes]:
        """Chunks of a log."""
        path = self.log_file(pod, container, previous=options["previous"])
        assert path is not None
        worker = self._workers.get(pod["metadata"]["uid"])
        found = worker.containers.get(container) if worker is not None else None
        writer = found.log if found is not None and found.log.path == path else None
        return logs.read_log(path, writer, options)

    # -- files ------------------------------------------------------------------------------------------------------

    def directory(self, name: str) -> Path:
        """The node's directory, which its pods see at /run/nodeworthy-lab."""
        path = self._cluster.state_dir / "nodes" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def refresh_view(self, name: str) -> Json:
        """Write the node view for the tools and return it."""
        view: Json = self._cluster.world.view(name)
        directory = self.directory(name)
        if view.get("replay_tools"):
            # A pod sees its node's directory and nothing else of this machine.
            if not (directory / CAPTURED_TOOLS).exists():
                shutil.copytree(view["replay_tools"], directory / CAPTURED_TOOLS)
            view["replay_tools"] = CAPTURED_TOOLS
        target = directory / "view.json"
        fresh = target.with_suffix(".new")
        fresh.write_text(json.dumps(view, default=str), encoding="utf-8")
        fresh.replace(target)
        return view

    async def close(self) -> None:
        """Kill every container and wait until all are gone."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.lose()
        tasks = [task for task in self._tasks.values() if not task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)


def _lost(pod: Json, now: str) -> Json:
    """A pod whose containers went down with the machine."""
    status = pod["status"]
    for row in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        if "terminated" not in (row.get("state") or {}):
            row["state"] = {
                "terminated": {
                    "exitCode": 255,
                    "reason": "Unknown",
                    "startedAt": status.get("startTime", now),
                    "finishedAt": now,
                }
            }
            row["ready"] = row["started"] = False
    status["phase"] = "Failed"
    for condition in status.get("conditions") or []:
        if condition["type"] in ("Ready", "ContainersReady") and condition["status"] == "True":
            condition.update(status="False", reason="PodFailed", lastTransitionTime=now)
    return pod
