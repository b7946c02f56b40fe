"""One pod on one node: from ContainerCreating to its end, as a real kubelet would report it.

Containers run as processes in sandboxes. Grace periods, deadlines and back-offs are real seconds, because real
processes need real time, whatever the speed of the lab's clock.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.kubelet.container import Container, Recipe, Run, StartError, utc_now
from lab.kubelet.environment import NODE_DIRECTORY, ConfigError, build_command, build_environment
from lab.kubelet.images import ContainerImage, find_image
from lab.kubelet.sandbox import Mount, Root
from lab.kubelet.status import PodState, Slot, write_status
from lab.kubelet.volumes import Volumes
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.registry import utc_text

Json = dict[str, Any]

# A real kubelet reports the terminated container about a second before it moves the pod's phase.
PHASE_LAG_SECONDS = 1.0
PULL_BACKOFF_SECONDS = 10.0
CRASH_BACKOFF_SECONDS = (1.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
KILLED = 137


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod runs: its node, that node's directory, and the pod's own."""

    node: str
    node_directory: Path
    pod_directory: Path
    pod_ip: str
    host_ip: str


class PodWorker:
    """Runs one pod until it ends, is deleted, or its machine goes down."""

    def __init__(self, cluster: Cluster, pod: Json, place: Place, refresh: Any) -> None:
        self._cluster = cluster
        self.pod = pod
        self.place = place
        self._refresh_view = refresh
        self.namespace, self.name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self.uid = pod["metadata"]["uid"]
        spec = pod["spec"]
        waiting = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"
        self.slots = [Slot(item, init=True) for item in spec.get("initContainers") or []]
        self.slots += [Slot(item, waiting=waiting) for item in spec["containers"]]
        self.state = PodState(pod_ip=place.pod_ip, host_ip=place.host_ip)
        self.containers: dict[str, Container] = {}
        self.logs: dict[str, list[Path]] = {}
        self._volumes = Volumes(cluster.store, pod, place.pod_directory / "volumes", place.node_directory)
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._killer: asyncio.Task[None] | None = None
        self._grace = 30.0
        self._lost = False

    # -- life -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """The whole life; returns when the pod is terminal and, if it was deleted, gone."""
        self.state.started = utc_text(utc_now())
        self.publish()
        deadline = self._arm_deadline()
        try:
            await self._run_containers()
        finally:
            if deadline is not None:
                deadline.cancel()
            self._kill_all()
            if self._killer is not None:
                self._killer.cancel()
        if not self._lost:
            await self._finish()

    def _arm_deadline(self) -> asyncio.TimerHandle | None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        if not seconds:
            return None
        return asyncio.get_running_loop().call_later(float(seconds), self._deadline)

    def _deadline(self) -> None:
        self.state.reason = "DeadlineExceeded"
        self.state.message = "Pod was active on the node longer than the specified deadline"
        self._event("DeadlineExceeded", self.state.message)
        self.stop(float(self.pod["spec"].get("terminationGracePeriodSeconds", 30)))

    async def _run_containers(self) -> None:
        if not await self._with_config(None, self._volumes.prepare):
            return
        for slot in self.slots:
            if slot.init:
                await self._run_slot(slot)
                if not slot.succeeded:
                    return
        mains = [slot for slot in self.slots if not slot.init]
        for slot in mains:
            slot.waiting = "ContainerCreating"
        await asyncio.gather(*(self._run_slot(slot) for slot in mains))

    async def _run_slot(self, slot: Slot) -> None:
        """Run one container, again where the restart policy wants it."""
        image = await self._pull(slot)
        while image is not None and not self._stopping.is_set():
            await self._run_once(slot, image)
            if not self._restarts(slot) or self._stopping.is_set():
                return
            pause = CRASH_BACKOFF_SECONDS[min(slot.restarts, len(CRASH_BACKOFF_SECONDS) - 1)]
            slot.waiting = "CrashLoopBackOff"
            name = slot.spec["name"]
            slot.waiting_message = (
                f"back-off {pause:.0f}s restarting failed container={name} pod={self.name}_{self.namespace}({self.uid})"
            )
            self.publish()
            await self._pause(pause)
            if self._stopping.is_set():
                return
            slot.restarts += 1
            slot.waiting, slot.waiting_message = "ContainerCreating", ""

    def _restarts(self, slot: Slot) -> bool:
        policy = self.pod["spec"]["restartPolicy"]
        if slot.succeeded:
            return policy == "Always" and not slot.init
        return policy in ("Always", "OnFailure")

    async def _pull(self, slot: Slot) -> ContainerImage | None:
        """The image, or None when the pod is stopped while its image cannot be pulled."""
        name = str(slot.spec["image"])
        backoff = False
        while not self._stopping.is_set():
            image = find_image(name)
            if image is not None:
                return image
            slot.waiting = "ImagePullBackOff" if backoff else "ErrImagePull"
            error = f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": not found'
            slot.waiting_message = f'Back-off pulling image "{name}": ErrImagePull: {error}' if backoff else error
            self._event("BackOff" if backoff else "Failed", slot.waiting_message, warning=not backoff)
            self.publish()
            await self._pause(PULL_BACKOFF_SECONDS if backoff else 1.0)
            backoff = not backoff
        return None

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _run_once(self, slot: Slot, image: ContainerImage) -> None:
        slot.previous = slot.run if slot.run is not None else slot.previous
        run = Run(slot.restarts)
        recipes: list[Recipe] = []
        if not await self._with_config(slot, lambda: recipes.append(self._recipe(slot, image))):
            return
        path = self.place.pod_directory / "logs" / slot.spec["name"] / f"{run.number}.log"
        container = Container(recipes[0], path)
        self.logs.setdefault(slot.spec["name"], []).append(path)
        self.containers[slot.spec["name"]] = container
        slot.run = run
        self._event("Created", f"Container created: {slot.spec['name']}")
        try:
            await container.start()
        except StartError as error:
            container.log.close()
            self._end(slot, run, 128, str(error))
            return
        if self._stopping.is_set():
            container.kill()
        run.started = utc_now()
        self._event("Started", f"Container started: {slot.spec['name']}")
        if not slot.init:
            self.state.phase = "Running"
        self.publish()
        self._end(slot, run, await container.wait(), "")

    def _end(self, slot: Slot, run: Run, code: int, message: str) -> None:
        run.started = run.started or utc_now()
        run.finished, run.exit_code, run.message = utc_now(), code, message
        run.reason = "StartError" if message else ("Completed" if code == 0 else "Error")
        slot.waiting = ""
        if not self._lost:
            self.publish()

    async def _with_config(self, slot: Slot | None, work: Any) -> bool:
        """Do work that may lack a config map or secret; retries, shown as CreateContainerConfigError, until stopped."""
        while not self._stopping.is_set():
            try:
                work()
            except ConfigError as error:
                for each in [slot] if slot else self.slots:
                    each.waiting, each.waiting_message = "CreateContainerConfigError", str(error)
                self._event("Failed", f"Error: {error}", warning=True)
                self.publish()
                await self._pause(2.0)
            else:
                return True
        return False

    # -- what runs --------------------------------------------------------------------------------------------------

    def _recipe(self, slot: Slot, image: ContainerImage) -> Recipe:
        environment = build_environment(self._cluster.store, self.pod, slot.spec, image)
        command = build_command(slot.spec, image, environment)
        view = self._refresh_view(self.place.node)
        root = self.place.pod_directory / "roots" / f"{slot.spec['name']}-{slot.restarts}"
        files = {
            "/etc/machine-id": f"{view.get('machine_id') or ''}\n",
            "/etc/nodeworthy-image": f"{(view.get('image') or {}).get('name', '')}\n",
            "/sys/class/dmi/id/product_serial": f"{view.get('serial', '')}\n",
            "/sys/class/dmi/id/product_uuid": f"{view.get('system_uuid') or ''}\n",
        }
        mounts = [
            Mount(self.place.node_directory, NODE_DIRECTORY),
            Mount(self.place.node_directory / "kmsg", "/dev/kmsg"),
            Mount(self.place.node_directory / "boot_id", "/proc/sys/kernel/random/boot_id", read_only=True),
            *self._volumes.mounts(slot.spec),
        ]
        hostname = environment["HOSTNAME"]
        hidden = [self._cluster.state_dir]
        directory = slot.spec.get("workingDir") or "/"
        return Recipe(command, environment, directory, Root(root, hostname, files, mounts, hidden))

    # -- end --------------------------------------------------------------------------------------------------------

    def stop(self, grace_seconds: float) -> None:
        """Ask all containers to end; after the grace period they are killed. A shorter grace replaces a longer one."""
        if self._lost or self.ended or (self._stopping.is_set() and grace_seconds >= self._grace):
            return
        self._grace = grace_seconds
        if not self._stopping.is_set():
            for name in self.containers:
                self._event("Killing", f"Stopping container {name}")
        self._stopping.set()
        for container in self.containers.values():
            container.terminate()
        if self._killer is not None:
            self._killer.cancel()
        self._killer = asyncio.ensure_future(self._kill_later(grace_seconds))

    async def _kill_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._kill_all()

    def _kill_all(self) -> None:
        for container in self.containers.values():
            container.kill()

    def lose(self) -> None:
        """The machine is gone: nobody reports anything any more."""
        self._lost = True
        self._stopping.set()
        self._kill_all()
        if self._killer is not None:
            self._killer.cancel()

    async def _finish(self) -> None:
        """The terminal phase, about a second after the last container; then, if deleted, the pod object goes."""
        for slot in self.slots:
            if slot.run is None and self._stopping.is_set():
                slot.run = Run(
                    0,
                    None,
                    utc_now(),
                    KILLED,
                    "ContainerStatusUnknown",
                    "The container could not be located when the pod was terminated",
                )
        deleted = self._deleted()
        if not deleted:
            await asyncio.sleep(PHASE_LAG_SECONDS)
        if self._lost:
            return
        mains = [slot for slot in self.slots if not slot.init]
        good = all(slot.succeeded for slot in mains) and not self.state.reason
        self.state.phase = "Succeeded" if good else "Failed"
        self.publish()
        self._ended.set()
        self.remove_if_deleted()

    @property
    def ended(self) -> bool:
        """Whether the pod is terminal."""
        return self._ended.is_set()

    def _deleted(self) -> bool:
        pod = self._cluster.store.get(("", "pods"), self.namespace, self.name)
        return pod is not None and pod["metadata"]["uid"] == self.uid and bool(pod["metadata"].get("deletionTimestamp"))

    def remove_if_deleted(self) -> None:
        """Confirm the deletion of a finished pod: grace 0, after which the object goes."""
        if not self._deleted():
            return

        def change(pod: Json) -> Json:
            pod["metadata"]["deletionGracePeriodSeconds"] = 0
            return pod

        self._cluster.registry.mutate(self._cluster.pods, self.namespace, self.name, change)

    def clean(self) -> None:
        """Remove the pod's files."""
        shutil.rmtree(self.place.pod_directory, ignore_errors=True)

    # -- reporting --------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        """Write the status into the API, unless the object is gone or is another one by now."""
        now = utc_text(utc_now())

        def change(pod: Json) -> Json | None:
            if pod["metadata"]["uid"] != self.uid:
                return None
            return write_status(pod, self.state, self.slots, now)

        self._cluster.registry.mutate(self._cluster.pods, self.namespace, self.name, change)

    def _event(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._cluster.event(self.pod, reason, message, component="kubelet", warning=warning)
