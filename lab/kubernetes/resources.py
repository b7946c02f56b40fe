"""The resource types that the lab's Kubernetes API serves, as rows; discovery, routing and tables derive from them.

Custom resource definitions add rows at run time. What is not here answers 404 as a real API server does for a group
it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource type. `schema` is the CRD's openAPIV3Schema for custom resources, None for built-in ones."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    has_generation: bool = False
    categories: tuple[str, ...] = ()
    custom: bool = False
    schema: Json | None = field(default=None, compare=False, hash=False)
    columns: tuple[Json, ...] = field(default=(), compare=False, hash=False)

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> tuple[str, str]:
        """Where its objects are stored: all versions of a kind share one place, as do both kinds of events."""
        return ("", "events") if self.plural == "events" else (self.group, self.plural)

    @property
    def qualified(self) -> str:
        """The name in error messages: `nodes`, or `workloads.kueue.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def singular(self) -> str:
        """The lower-case kind, which is what `kubectl` accepts as the singular name."""
        return self.kind.lower()


def _core() -> tuple[Resource, ...]:
    return (
        Resource("", "v1", "nodes", "Node", False, ("no",), ("status",)),
        Resource("", "v1", "namespaces", "Namespace", False, ("ns",), ("status", "finalize")),
        Resource(
            "",
            "v1",
            "pods",
            "Pod",
            True,
            ("po",),
            ("status", "log", "exec", "eviction", "binding"),
            has_generation=True,
            categories=("all",),
        ),
        Resource("", "v1", "events", "Event", True, ("ev",)),
        Resource("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
        Resource("", "v1", "secrets", "Secret"),
        Resource("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ("token",)),
        Resource("", "v1", "services", "Service", True, ("svc",), ("status",), categories=("all",)),
        Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, ("pvc",), ("status",)),
    )


def _workload(group: str, plural: str, kind: str, *short: str) -> Resource:
    return Resource(group, "v1", plural, kind, True, short, ("status",), has_generation=True, categories=("all",))


def _groups() -> tuple[Resource, ...]:
    definitions, create = "customresourcedefinitions", ("create",)
    authorization, authentication = "authorization.k8s.io", "authentication.k8s.io"
    budget, short = "PodDisruptionBudget", ("crd", "crds")
    return (
        _workload("apps", "daemonsets", "DaemonSet", "ds"),
        _workload("apps", "replicasets", "ReplicaSet", "rs"),
        _workload("apps", "deployments", "Deployment", "deploy"),
        _workload("apps", "statefulsets", "StatefulSet", "sts"),
        _workload("batch", "jobs", "Job"),
        Resource("events.k8s.io", "v1", "events", "Event", True, ("ev",)),
        Resource("coordination.k8s.io", "v1", "leases", "Lease"),
        Resource("policy", "v1", "poddisruptionbudgets", budget, True, ("pdb",), ("status",), has_generation=True),
        Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", False, has_generation=True),
        Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",)),
        Resource(
            *("apiextensions.k8s.io", "v1", definitions, "CustomResourceDefinition", False, short, ("status",)),
            has_generation=True,
        ),
        Resource(authorization, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, verbs=create),
        Resource(authentication, "v1", "selfsubjectreviews", "SelfSubjectReview", False, verbs=create),
    )


class Catalogue:
    """All resource types by group, version and plural; custom ones come and go."""

    def __init__(self) -> None:
        self._rows = {(row.group, row.version, row.plural): row for row in (*_core(), *_groups())}

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._rows.values()))

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The row, or None."""
        return self._rows.get((group, version, plural))

    def by_plural(self, plural: str, group: str = "") -> Resource:
        """A built-in row by its plural name; a programming error if there is none."""
        return next(row for row in self._rows.values() if row.plural == plural and row.group == group)

    def add(self, row: Resource) -> None:
        """Serve a custom resource from now on (or its new definition)."""
        self._rows[row.group, row.version, row.plural] = row

    def remove(self, group: str, plural: str) -> None:
        """Stop serving all versions of a custom resource."""
        for key in [key for key in self._rows if (key[0], key[2]) == (group, plural)]:
            del self._rows[key]

    def group_versions(self) -> dict[str, list[str]]:
        """The versions of every named group, in the order they were added."""
        found: dict[str, list[str]] = {}
        for row in self._rows.values():
            if row.group and row.version not in found.setdefault(row.group, []):
                found[row.group].append(row.version)
        return found

    def of(self, group: str, version: str) -> list[Resource]:
        """All rows of one group version."""
        return [row for row in self._rows.values() if (row.group, row.version) == (group, version)]
