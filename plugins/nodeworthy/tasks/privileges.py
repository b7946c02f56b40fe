"""What a test pod is allowed beyond the ordinary, and why: only what a test of its plan needs, written on the pod.

Drives and fabric adapters are devices of the host, which a container sees only when it is privileged; the clock's
daemon is asked through its socket. A plan without such a test gets a pod without any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRIVILEGED = ("rdma", "drives")
CLOCK = "clock"
CLOCK_FOLDER = "/run/chrony"
ANNOTATION = "nodeworthy.dev/privileges"


def grant(pod: Any, needs: Mapping[str, str]) -> Any:
    """Return the pod with the privileges that `needs` names, each with a test that needs it; unchanged without any."""
    if not needs:
        return pod
    from kubernetes.client import models

    probe = pod.spec.containers[0]
    if any(need in PRIVILEGED for need in needs):
        probe.security_context = models.V1SecurityContext(privileged=True)
    if CLOCK in needs:
        source = models.V1HostPathVolumeSource(path=CLOCK_FOLDER, type="DirectoryOrCreate")
        pod.spec.volumes = [*(pod.spec.volumes or []), models.V1Volume(name="clock", host_path=source)]
        mount = models.V1VolumeMount(name="clock", mount_path=CLOCK_FOLDER)
        probe.volume_mounts = [*(probe.volume_mounts or []), mount]
    said = ", ".join(f"{need} for {test}" for need, test in sorted(needs.items()))
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), ANNOTATION: said}
    return pod
