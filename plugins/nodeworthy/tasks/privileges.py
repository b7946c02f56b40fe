"""What a test pod is allowed beyond the ordinary, and why: only what a test of its plan needs, written on the pod.

Drives and fabric adapters are devices of the host, which a container sees only when it is privileged; the clock's
daemon is asked through its socket. AMD's tools open /dev/kfd and /dev/dri, which the device plugin allows to the pod
that holds amd.com/gpu. Processes, mounts and logs of the host are looked at in folders of it, mounted to read: the pod
stays in a process namespace of its own, so nothing in it can end a process of the host. PCI configuration space shows
itself to CAP_SYS_ADMIN alone. A plan without such a test gets a pod without any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRIVILEGED = ("rdma", "drives")
MOUNTED = {
    "clock": (("clock", "/run/chrony", "/run/chrony", "DirectoryOrCreate"),),
    "amdgpu": (("kfd", "/dev/kfd", "/dev/kfd", "CharDevice"), ("dri", "/dev/dri", "/dev/dri", "Directory")),
    "processes": (("processes", "/proc", "/host/proc", "Directory"),),
    "network": (("network", "/sys", "/host/sys", "Directory"),),
    "logs": (("logs", "/var/log", "/host/log", "Directory"),),
}
"""What of the host a need mounts: volume, path, where the pod sees it, and the kind that must be there."""
READ_ONLY = ("processes", "logs", "network")
PCI_CONFIG = "pci_config"
ANNOTATION = "nodeworthy.dev/privileges"


def grant(pod: Any, needs: Mapping[str, str]) -> Any:
    """Return the pod with the privileges that `needs` names, each with a test that needs it; unchanged without any."""
    if not needs:
        return pod
    from kubernetes.client import models

    probe = pod.spec.containers[0]
    if any(need in PRIVILEGED for need in needs):
        probe.security_context = models.V1SecurityContext(privileged=True)
    elif PCI_CONFIG in needs:
        probe.security_context = models.V1SecurityContext(capabilities=models.V1Capabilities(add=["SYS_ADMIN"]))
    for name, path, seen_at, kind in [row for need in sorted(needs) for row in MOUNTED.get(need, ())]:
        source = models.V1HostPathVolumeSource(path=path, type=kind)
        pod.spec.volumes = [*(pod.spec.volumes or []), models.V1Volume(name=name, host_path=source)]
        mount = models.V1VolumeMount(name=name, mount_path=seen_at, read_only=name in READ_ONLY or None)
        probe.volume_mounts = [*(probe.volume_mounts or []), mount]
    said = ", ".join(f"{need} for {test}" for need, test in sorted(needs.items()))
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), ANNOTATION: said}
    return pod
