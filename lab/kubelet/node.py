"""The Node object of a lab node: what its kubelet registers and keeps up to date."""

from __future__ import annotations

import hashlib
from typing import Any

Json = dict[str, Any]

HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_MAX_PODS = 110
# Where the platform says nothing: a common two-socket host.
_DEFAULT_THREADS, _DEFAULT_MEMORY_MIB = 224, 2 * 1024 * 1024


def address(name: str) -> str:
    """A stable address of a node on this host's loopback network, so that pods of several nodes reach each other."""
    digest = hashlib.sha256(name.encode()).digest()
    return f"127.{64 + digest[0] % 64}.{digest[1]}.{1 + digest[2] % 254}"


def pod_address(uid: str) -> str:
    """A stable private address of a pod."""
    digest = hashlib.sha256(uid.encode()).digest()
    return f"10.{128 + digest[0] % 64}.{digest[1]}.{1 + digest[2] % 254}"


def capacity(lab_node: Any, view: Json) -> Json:
    """CPU, memory, pods and the GPUs that are present."""
    platform = getattr(lab_node, "platform", None)
    threads, memory = _DEFAULT_THREADS, _DEFAULT_MEMORY_MIB
    if platform is not None and getattr(platform, "cpu", None):
        threads = platform.cpu["count"] * platform.cpu["threads"]
        memory = platform.dimm["count"] * platform.dimm["capacity_mib"]
    gpus = sum(1 for gpu in view.get("gpus") or [] if gpu.get("present", True))
    found = {"cpu": str(threads), "memory": f"{memory * 1024}Ki", "pods": str(_MAX_PODS), "ephemeral-storage": "1800Gi"}
    resource = f"{view.get('vendor', 'nvidia')}.com/gpu"
    return {**found, resource: str(gpus)} if view.get("gpus") is not None else found


def default_labels(name: str) -> Json:
    """The labels that a kubelet keeps right on an existing object, too."""
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
    }


def labels(event: Any) -> Json:
    """The labels that the kubelet registers a new object with (`--node-labels`): the image's come on top."""
    own = {"nodeworthy.dev/image": event.image.name, **dict(event.image.register_labels or {})}
    return {**default_labels(event.node), **own}


def taints(event: Any) -> list[Json]:
    """The taints of `--register-with-taints`; they apply when the object is created, never later."""
    found = []
    for taint in event.image.register_taints or ():
        row = (
            taint
            if isinstance(taint, dict)
            else {name: getattr(taint, name, None) for name in ("key", "value", "effect")}
        )
        found.append({key: value for key, value in row.items() if value is not None})
    return found


def status(event: Any, lab_node: Any, view: Json, now: str) -> Json:
    """The node's whole status."""
    image, settings = event.image, view.get("settings", {})
    amounts = capacity(lab_node, view)
    conditions = [
        {
            "type": kind,
            "status": value,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, value, reason, message in HEALTHY
    ]
    return {
        "capacity": amounts,
        "allocatable": dict(amounts),
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": address(event.node)},
            {"type": "Hostname", "address": event.node},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": event.machine_id or "",
            "systemUUID": event.system_uuid or "",
            "bootID": event.boot_id or "",
            "kernelVersion": image.kernel,
            "osImage": image.os_image,
            "containerRuntimeVersion": settings.get("runtime") or "nodeworthy-lab://1",
            "kubeletVersion": settings.get("kubelet_version") or image.kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": [],
    }
