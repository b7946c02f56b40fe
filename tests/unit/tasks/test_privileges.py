"""What a test pod is granted beyond the ordinary."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import ApiClient, V1Container, V1ObjectMeta, V1Pod, V1PodSpec
from nodeworthy.tasks.privileges import grant


def granted(**needs: str) -> dict[str, Any]:
    """The pod of a plan with these needs, as it is sent."""
    pod = V1Pod(metadata=V1ObjectMeta(), spec=V1PodSpec(containers=[V1Container(name="base")]))
    sent: dict[str, Any] = ApiClient().sanitize_for_serialization(grant(pod, needs))
    return sent


def test_configuration_space_takes_one_capability_and_no_privileged_pod() -> None:
    """SYS_ADMIN alone, and the pod says for which test."""
    pod = granted(pci_config="pcie.acs")
    assert pod["spec"]["containers"][0]["securityContext"] == {"capabilities": {"add": ["SYS_ADMIN"]}}
    assert pod["metadata"]["annotations"]["nodeworthy.dev/privileges"] == "pci_config for pcie.acs"


def test_a_privileged_pod_needs_no_capability_besides() -> None:
    """A plan that reads drives may read configuration space as well."""
    pod = granted(pci_config="pcie.acs", drives="storage.read")
    assert pod["spec"]["containers"][0]["securityContext"] == {"privileged": True}


@pytest.mark.parametrize(("need", "folder", "seen_at"), [("network", "/sys", "/host/sys")])
def test_the_hosts_interfaces_are_seen_and_not_touched(need: str, folder: str, seen_at: str) -> None:
    """The host's /sys, read-only, in a pod that has no privilege."""
    pod = granted(**{need: "network.ethernet"})
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    (volume,) = pod["spec"]["volumes"]
    assert (volume["hostPath"]["path"], mount["mountPath"], mount["readOnly"]) == (folder, seen_at, True)
    assert "securityContext" not in pod["spec"]["containers"][0]
