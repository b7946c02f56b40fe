"""A BMC's resource tree, read by its links: few requests, each resource once, absence told apart from zero.

Paths are never built: every resource is reached by an `@odata.id` that another one names, because vendors put the
same part under different collections (a GB300 tray shows its GPUs below two systems). A resource is known by the
`@odata.id` in its own body, so that a part which is served at two places counts once. A collection that the BMC
announces but answers with 404 lands in `lacks`: what cannot be read is not a count of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Resource = Mapping[str, Any]
Fetch = Callable[[str], Resource | None]
"""Read one path; None when the BMC answers 404. Every other trouble is an error of `nodeworthy.errors`."""


class Tree:
    """Reads of one session. `expand` lets a collection come with its members in one request (DSP0266 $expand)."""

    def __init__(self, fetch: Fetch, *, expand: bool) -> None:
        self._fetch = fetch
        self._expand = expand
        self._resources: dict[str, Resource | None] = {}
        self._collections: dict[str, Resource | None] = {}
        self.lacks: list[str] = []
        self.requests = 0

    def get(self, path: str) -> Resource | None:
        """Return the resource at `path`, from memory when it was read before; None when it is not served."""
        key = path.rstrip("/")
        if key not in self._resources:
            self._resources[key] = self._read(path)
        return self._resources[key]

    def follow(self, resource: Resource | None, *names: str) -> Resource | None:
        """Return the resource that the link below `names` leads to; None without a link or behind a dead one."""
        path = link(resource, *names)
        return self.get(path) if path else None

    def members(self, resource: Resource | None, *names: str) -> tuple[Resource, ...]:
        """Return the members of the collection behind a link, each once; dead members and collections go to `lacks`."""
        path = link(resource, *names)
        if not path:
            return ()
        collection = self._collection(path)
        if collection is None:
            self.lacks.append(f"{names[-1]} of {text(resource, 'Id') or path} (announced, answered 404)")
            return ()
        return self.resolve(collection.get("Members"))

    def resolve(self, references: object) -> tuple[Resource, ...]:
        """Return the resources that a list of links (or of resources given in full) names, each once."""
        found: dict[str, Resource] = {}
        for reference in references if isinstance(references, list) else ():
            path = identity(reference)
            resource = self._whole(reference, path) if path else None
            if resource is not None:
                found.setdefault(identity(resource) or path, resource)
            elif path and not any(path in lack for lack in self.lacks):
                self.lacks.append(f"{path} (listed, answered 404)")
        return tuple(found.values())

    def _whole(self, reference: Resource, path: str) -> Resource | None:
        if len(reference) > 1 and "@odata.type" in reference:
            return self._resources.setdefault(path.rstrip("/"), reference)
        return self.get(path)

    def _collection(self, path: str) -> Resource | None:
        key = path.rstrip("/")
        if key not in self._collections:
            self._collections[key] = self._read(f"{path}?$expand=.($levels=1)") if self._expand else self.get(path)
        return self._collections[key]

    def _read(self, path: str) -> Resource | None:
        self.requests += 1
        return self._fetch(path)


def identity(resource: object) -> str:
    """Return the `@odata.id` of a resource or link; empty when there is none."""
    value = resource.get("@odata.id") if isinstance(resource, Mapping) else None
    return value if isinstance(value, str) else ""


def part(resource: object, *names: str) -> Any:
    """Return what lies below `names`, first of a list where a list comes; None where anything on the way is missing."""
    for name in names:
        if isinstance(resource, list):
            resource = resource[0] if resource else None
        resource = resource.get(name) if isinstance(resource, Mapping) else None
    return resource


def rows(resource: object, *names: str) -> tuple[Any, ...]:
    """Return the list below `names`; empty for whatever else a BMC has there."""
    for name in names[:-1]:
        resource = part(resource, name)
    value = resource.get(names[-1]) if isinstance(resource, Mapping) else None
    return tuple(value) if isinstance(value, list) else ()


def link(resource: object, *names: str) -> str:
    """Return the target of the link below `names`; the first one of a list; empty when there is none."""
    target = part(resource, *names)
    return identity(target[0] if isinstance(target, list) and target else target)


def text(resource: object, *names: str) -> str:
    """Return a trimmed string; empty for what is missing, null, or says in words that it is nothing."""
    value = part(resource, *names)
    cleaned = value.strip() if isinstance(value, str) else ""
    return "" if cleaned.lower() in {"n/a", "na", "none", "unknown", "not available"} else cleaned


def number(resource: object, *names: str) -> int | None:
    """Return a positive whole number; None for what is missing or 0, which BMCs use for "not known"."""
    value = part(resource, *names)
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    return round(value) if known else None


def present(resource: Resource) -> bool:
    """Tell a part from an empty slot (Status.State Absent)."""
    return text(resource, "Status", "State") != "Absent"
