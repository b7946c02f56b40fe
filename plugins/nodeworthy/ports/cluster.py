"""The port to Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nodeworthy.lifecycle.rows import Projection, Taint
from nodeworthy.lifecycle.upkeep import Due


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """The Kubernetes view of a node."""

    name: str
    uid: str
    ready: bool
    schedulable: bool
    boot_id: str
    machine_id: str
    system_uuid: str
    image: str
    kernel: str
    taints: tuple[Taint, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    resource_version: str
    ready_since: datetime | None = None
    """Since when its kubelet is Ready, or is not; None where Kubernetes does not say."""
    milestone: str = ""
    """What its condition `NodeworthyMilestone` tells."""
    troubles: tuple[str, ...] = ()
    """Conditions that speak against running work there, `DiskPressure` for example, with Kubernetes' message."""
    gpus: int | None = None
    """GPUs that a device plugin offers for allocation; None where none does (or Kubernetes allocates them by DRA)."""
    kubelet: str = ""
    runtime: str = ""
    """The container runtime with its version, as the kubelet tells it: `containerd://1.7.27`."""
    os: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """A pod that serves its node, of a DaemonSet for example."""

    name: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a ResourceSlice (dynamic resource allocation), with the taints that its driver or others set."""

    name: str
    taints: tuple[Taint, ...] = ()


class Cluster(Protocol):
    """The Kubernetes API, as far as a node's life needs it."""

    def node(self, name: str) -> ClusterNode | None:
        """Read a node; None when there is no such Node object."""

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Read all nodes by one paged LIST, consistent as of its first page."""

    def project(self, name: str, *, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int) -> None:
        """Make the node carry exactly these of *our* taints and labels; other actors' stay. May be repeated."""

    def follow(self, name: str, projection: Projection, due: Due) -> None:
        """As `project`, and cordon as its owner; somebody else's cordon stays. Refused after a later move."""

    def tell_milestone(self, name: str, milestone: str, message: str) -> None:
        """Set the node condition `NodeworthyMilestone`. May be repeated; a Node that is gone is success."""

    def delete_node(self, name: str, *, uid: str) -> None:
        """Delete the Node object with this uid; absent already is success. Idempotent."""

    def agents(self, node: str, *, namespace: str, selector: str) -> tuple[Agent, ...]:
        """Return the pods of a label selector that run on a node; none where the namespace does not exist."""

    def devices(self, node: str, *, driver: str) -> tuple[Device, ...]:
        """Return a driver's devices on a node, of the newest generation of each of its pools; none without DRA."""

    def images(self, pod: str) -> Mapping[str, str]:
        """Return what each container of a pod runs, as the node's runtime names it: by digest where it knows one.

        Empty for a pod that is gone.
        """

    def read_file(self, pod: str, container: str, path: str, *, limit_bytes: int) -> bytes:
        """Read one file of a running container by exec. Raises Permanent beyond the limit."""
