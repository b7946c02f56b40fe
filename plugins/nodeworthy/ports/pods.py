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
