"""A pod's status from what is known about its containers."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from lab.kubelet.container import Run
from lab.kubernetes.api.pods import set_condition
from lab.kubernetes.registry import utc_text

Json = dict[str, Any]


@dataclass(slots=True)
class Slot:
    """One container of a pod: why it waits, its present run and its previous one."""

    spec: Json
    init: bool = False
    waiting: str = "ContainerCreating"
    waiting_message: str = ""
    run: Run | None = None
    previous: Run | None = None
    restarts: int = 0
    tried: list[Run] = field(default_factory=list)

    @property
    def running(self) -> bool:
        """Started and not ended."""
        return self.run is not None and self.run.started is not None and self.run.finished is None

    @property
    def ended(self) -> bool:
        """The present run is over."""
        return self.run is not None and self.run.finished is not None

    @property
    def succeeded(self) -> bool:
        """The present run ended with 0."""
        return self.ended and self.run is not None and self.run.exit_code == 0


def _terminated(run: Run) -> Json:
    assert run.finished is not None
    started = utc_text(run.started or run.finished)
    state: Json = {
        "exitCode": run.exit_code,
        "reason": run.reason,
        "startedAt": started,
        "finishedAt": utc_text(run.finished),
        "containerID": run.container_id,
    }
    return {**state, "message": run.message} if run.message else state


def _state(slot: Slot) -> Json:
    if slot.running:
        assert slot.run is not None
        assert slot.run.started is not None
        return {"running": {"startedAt": utc_text(slot.run.started)}}
    if slot.ended and slot.waiting != "CrashLoopBackOff":
        assert slot.run is not None
        return {"terminated": _terminated(slot.run)}
    waiting = {"reason": slot.waiting}
    return {"waiting": {**waiting, "message": slot.waiting_message} if slot.waiting_message else waiting}


def _last_state(slot: Slot) -> Json:
    run = slot.run if slot.waiting == "CrashLoopBackOff" and slot.ended else slot.previous
    return {"terminated": _terminated(run)} if run is not None and run.finished is not None else {}


def container_status(slot: Slot) -> Json:
    """One entry of containerStatuses."""
    image = str(slot.spec["image"])
    state = _state(slot)
    return {
        "name": slot.spec["name"],
        "state": state,
        "lastState": _last_state(slot),
        "ready": slot.running if not slot.init else slot.succeeded,
        "started": slot.running,
        "restartCount": slot.restarts,
        "image": image,
        "imageID": _image_id(image) if slot.run is not None else "",
        **({"containerID": slot.run.container_id} if slot.run is not None else {}),
    }


def _image_id(image: str) -> str:
    """The image by a digest, as containerd reports it; the lab has no layers, so its digest is its name's."""
    return (
        image
        if "@sha256:" in image
        else f"{image.rpartition(':')[0] or image}@sha256:{sha256(image.encode()).hexdigest()}"
    )


@dataclass(slots=True)
class PodState:
    """The pod-level part: phase, its reason, addresses and start."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    started: str = ""
    pod_ip: str = ""
    host_ip: str = ""


def write_status(pod: Json, state: PodState, slots: list[Slot], now: str) -> Json:
    """The pod with its new status; conditions keep their transition times."""
    status: Json = dict(pod.get("status") or {})
    pod["status"] = status
    status["conditions"] = [dict(item) for item in status.get("conditions") or []]
    status["phase"] = state.phase
    if state.started:
        status.update(startTime=state.started, hostIP=state.host_ip, hostIPs=[{"ip": state.host_ip}])
    if any(slot.run is not None for slot in slots):
        status.update(podIP=state.pod_ip, podIPs=[{"ip": state.pod_ip}])
    for name, value in (("reason", state.reason), ("message", state.message)):
        if value:
            status[name] = value
    for name, init in (("initContainerStatuses", True), ("containerStatuses", False)):
        rows = [container_status(slot) for slot in slots if slot.init is init]
        if rows:
            status[name] = rows
    _conditions(pod, state, slots, now)
    return pod


def _conditions(pod: Json, state: PodState, slots: list[Slot], now: str) -> None:
    done = state.phase in ("Succeeded", "Failed")
    mains = [slot for slot in slots if not slot.init]
    unready = [slot.spec["name"] for slot in mains if not slot.running]
    initialized = done or all(slot.succeeded for slot in slots if slot.init)
    set_condition(
        pod, "PodReadyToStartContainers", "False" if done or not any(slot.run for slot in slots) else "True", now
    )
    set_condition(
        pod,
        "Initialized",
        "True" if initialized else "False",
        now,
        "PodCompleted" if state.phase == "Succeeded" else "",
    )
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(
        state.phase, "ContainersNotReady" if unready else ""
    )
    message = f"containers with unready status: [{' '.join(unready)}]" if unready and not done else ""
    for name in ("Ready", "ContainersReady"):
        set_condition(pod, name, "False" if unready else "True", now, reason, message)
