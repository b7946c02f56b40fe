"""What Kubernetes says of a node that is to serve must be what its SKU and its pool say: the test `k8s.node`.

It is asked of the API, not of a pod on the node. What it compares: conditions that speak against work, versions of
kubelet, container runtime, kernel and system, GPUs that can be allocated, labels of GPU feature discovery, the device
plugin's pod, and the devices of dynamic resource allocation with their taints. What a pool's policy does not name under
`cluster` is said to be not compared. The first thing that differs refuses the node, in one sentence.

Sources: Kubernetes API reference (NodeSystemInfo, ResourceSlice v1, DeviceTaint); NVIDIA GPU feature discovery, labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.ports import ClusterNode
from nodeworthy.procedures.effect import Case
from nodeworthy.qualification.sku import PartRule

IN_SERVICE = "in_service"
AS_IN_SERVICE = "as-in-service"
"""In a pool's policy: what at least one node of the pool shows that serves now."""
VERSIONS = {"kubelet": "kubelet", "runtime": "container runtime", "kernel": "kernel", "os": "operating system"}
PRODUCT, COUNT, MEMORY = "nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.memory"
_REPELS = ("NoSchedule", "NoExecute")


def offers(case: Case, seen: ClusterNode) -> None:
    """Compare, and say what was compared. Raises Refused with one sentence for the first thing that differs."""
    asked: Mapping[str, Any] = case.work.library.policy(case.node.pool).get("cluster", {})
    if seen.troubles:
        raise Refused(
            f"{seen.name} reports {', '.join(seen.troubles)} in Kubernetes: clear that before it is admitted."
        )
    _versions(case, seen, asked)
    _labels(case, seen, needed=asked.get("discovery", False))
    if "devices" in asked:
        _devices(case, seen, asked["devices"]["driver"])
    else:
        _gpus(case, seen)
    if "device_plugin" in asked:
        _plugin(case, seen, **asked["device_plugin"])


def _versions(case: Case, seen: ClusterNode, asked: Mapping[str, Any]) -> None:
    """A version must be one of those that the policy lists, or one that a node of the pool serves with."""
    shown = {"kubelet": seen.kubelet, "runtime": seen.runtime, "kernel": seen.kernel, "os": seen.os}
    serving = _serving(case) if AS_IN_SERVICE in asked.values() else ()
    for key, name in VERSIONS.items():
        rule = asked.get(key)
        allowed = {_shown(one, key) for one in serving} if rule == AS_IN_SERVICE else set(rule or ())
        if allowed and shown[key] not in allowed:
            whose = "its pool's nodes in service have" if rule == AS_IN_SERVICE else "the policy of its pool allows"
            raise Refused(
                f"{seen.name} runs {name} {shown[key] or 'of an unknown version'} where {whose} "
                f"{', '.join(sorted(allowed))}: bring it to that image, or change `cluster` in include/policies."
            )
    told = ", ".join(f"{name} {shown[key] or 'unknown'}" for key, name in VERSIONS.items())
    free = [name for key, name in VERSIONS.items() if key not in asked]
    case.work.say(f"{seen.name} runs {told}" + (f"; not compared: {', '.join(free)}." if free else "."))


def _serving(case: Case) -> tuple[ClusterNode, ...]:
    names = {
        record.node.name
        for record in case.work.ledger.nodes()
        if record.node.pool == case.node.pool and record.milestone == IN_SERVICE
    }
    found = tuple(one for one in case.work.cluster.nodes() if one.name in names - {case.node.name})
    if not found:
        case.work.say(f"No other node of pool {case.node.pool} serves, so there is no version to be equal to.")
    return found


def _shown(node: ClusterNode, key: str) -> str:
    return {"kubelet": node.kubelet, "runtime": node.runtime, "kernel": node.kernel, "os": node.os}[key]


def _gpus(case: Case, seen: ClusterNode) -> None:
    """What passed its tests must also be what Kubernetes hands out: all GPUs."""
    gpus = case.sku.gpus
    if seen.gpus is None:
        case.work.say(
            f"No device plugin offers GPUs on {seen.name}; how many Kubernetes can allocate was not compared."
        )
    elif seen.gpus != gpus:
        raise Refused(
            f"{seen.name} offers {seen.gpus} GPUs to Kubernetes where SKU {case.sku.name} has {gpus}: look at its "
            "device plugin's pod, and at partitions (MIG), before it is admitted."
        )
    else:
        case.work.say(f"{seen.name} offers {seen.gpus} of {gpus} GPUs and reports no pressure.")


def _labels(case: Case, seen: ClusterNode, *, needed: bool) -> None:
    """A label that is there must be what the SKU's GPUs are; schedulers place work by it."""
    part = next((rule for rule in case.sku.parts if rule.kind is ComponentKind.GPU), None)
    if part is None or not (needed or PRODUCT in seen.labels):
        return
    checks = {
        PRODUCT: seen.labels.get(PRODUCT) in {model.replace(" ", "-") for model in part.models},
        COUNT: seen.labels.get(COUNT) == str(case.sku.gpus),
        MEMORY: _memory_fits(seen.labels.get(MEMORY), part),
    }
    for label, right in checks.items():
        if not right:
            raise Refused(
                f"{seen.name} carries the label {label}={seen.labels.get(label, '(none)')}, which is not what SKU "
                f"{case.sku.name} has: look at GPU feature discovery's pod there, and at partitions (MIG) and sharing."
            )
    case.work.say(f"{seen.name} is labelled {PRODUCT}={seen.labels[PRODUCT]}, as its SKU.")


def _memory_fits(label: str | None, part: PartRule) -> bool:
    if part.capacity_mib is None:
        return True
    if label is None or not label.isdigit():
        return False
    return abs(int(label) - part.capacity_mib) <= part.capacity_mib * part.tolerance_percent / 100.0


def _plugin(case: Case, seen: ClusterNode, *, namespace: str, selector: str) -> None:
    pods = case.work.cluster.agents(seen.name, namespace=namespace, selector=selector)
    if not any(pod.ready for pod in pods):
        state = f"pod {pods[0].name} is not Ready" if pods else f"no pod of {selector} in {namespace}"
        raise Refused(
            f"{seen.name} has a device plugin that does not work: {state}; look at its DaemonSet and the pod's log "
            "before it is admitted."
        )
    case.work.say(f"The device plugin's pod {next(pod.name for pod in pods if pod.ready)} is Ready.")


def _devices(case: Case, seen: ClusterNode, driver: str) -> None:
    """With dynamic resource allocation the node's slices must hold all GPUs, none of which repels work."""
    devices = case.work.cluster.devices(seen.name, driver=driver)
    if len(devices) != case.sku.gpus:
        raise Refused(
            f"{seen.name} has {len(devices)} devices of driver {driver} in its ResourceSlices where SKU "
            f"{case.sku.name} has {case.sku.gpus} GPUs: look at the driver's pod there before it is admitted."
        )
    tainted = [f"{one.name} ({taint.key})" for one in devices for taint in one.taints if taint.effect in _REPELS]
    if tainted:
        raise Refused(
            f"{seen.name} has devices that repel work: {', '.join(tainted)}; find out who tainted them and why before "
            "it is admitted."
        )
    case.work.say(f"{seen.name} offers {len(devices)} devices of driver {driver}, none of them tainted.")
