"""What all test pods have in common, and the port to those of a test over several nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

TEST_NAMESPACE = "nodeworthy-tests"
"""Where all test pods run."""
TOLERATED = ("nodeworthy.dev/unqualified", "nodeworthy.dev/standby", "node.kubernetes.io/unschedulable")
"""The NoSchedule taints of nodes that are tested: our two, and the cordon's."""

_GPU_RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
"""Under which name each vendor's device plugin offers GPUs."""
GPU_RESOURCES = tuple(_GPU_RESOURCES.values())


def vendor_of(plan: Mapping[str, Any]) -> str:
    """Return who made the GPUs of a plan's node."""
    return str(plan.get("expect", {}).get("vendor", "nvidia"))


def gpu_limits(gpus: int, plan: Mapping[str, Any]) -> dict[str, str]:
    """Return how many GPUs the pod of a plan asks Kubernetes for, by the name of their vendor's resource."""
    return {_GPU_RESOURCES[vendor_of(plan)]: str(gpus)}


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One pod of a group: its name, the node that it is pinned to, its plan, how many GPUs it takes and how long."""

    pod: str
    node: str
    plan: Mapping[str, Any]
    gpus: int
    limit: timedelta
    """After which Kubernetes ends it, whoever started it."""


@dataclass(frozen=True, slots=True)
class PodState:
    """What Kubernetes tells about a pod: whether its test has ended (its result can be read then), and why not well."""

    ended: bool
    trouble: str = ""


class GroupPods(Protocol):
    """The pods of groups in the test namespace."""

    def address(self, node: str) -> str:
        """Return the address at which a node's pods are reached on the host's network. Refused when it has none."""

    def start(self, group: str, members: Sequence[GroupMember]) -> None:
        """Start the pods of a group, with a key that they alone share. May be repeated: what runs already is left."""

    def look(self, group: str) -> Mapping[str, PodState]:
        """Return the group's pods by name."""

    def remove(self, group: str) -> None:
        """Delete all pods of the group. May be repeated."""
