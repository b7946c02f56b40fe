"""Typed writes on the store: create, replace, delete, with defaults, validation, preconditions and finalizers.

The API's handlers and the lab's controllers both go through here, so an object in the store is always a valid one.
Times are real UTC: clients compare them with their own clock, so they may not run at the lab's speed.
"""

from __future__ import annotations

import copy
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lab.kubernetes import errors, ownership
from lab.kubernetes.custom import check_custom, fill_defaults, prune_custom
from lab.kubernetes.defaults import apply_defaults
from lab.kubernetes.resources import Catalogue, Json, Resource
from lab.kubernetes.schema import TypeMismatch, prune
from lab.kubernetes.store import Store
from lab.kubernetes.validation import check

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(slots=True)
class Options:
    """How a write is meant: its manager, whether it persists, and what to do with unknown fields."""

    manager: str = "lab"
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    tracked: bool = False
    owners: list[Json] | None = None
    warnings: list[str] = field(default_factory=list)


def utc_text(moment: datetime, *, micro: bool = False) -> str:
    """RFC 3339 as Kubernetes writes it: seconds, or microseconds for MicroTime."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """An aware UTC time from RFC 3339."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def same(left: Json, right: Json) -> bool:
    """Whether two objects differ only in what every write touches."""

    def core(obj: Json) -> Json:
        ignored = ("managedFields", "resourceVersion", "generation")
        return {
            **obj,
            "metadata": {key: value for key, value in obj["metadata"].items() if key not in ignored and value},
        }

    return core(left) == core(right)


class Registry:
    """The only writer of the store."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self.store = store
        self.catalogue = catalogue

    def now(self) -> datetime:
        """Real time, aware UTC."""
        return datetime.now(UTC)

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """The object; NotFound otherwise."""
        obj = self.store.get(resource.storage, namespace, name)
        if obj is None:
            raise errors.not_found(resource, name)
        return obj

    # -- create -----------------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, body: Json, options: Options | None = None) -> Json:
        """Store a new object and return it; AlreadyExists, Invalid, NotFound or Forbidden (namespace) otherwise."""
        options = options or Options()
        obj = self.decode(resource, body, options, patching=False)
        metadata = dict(obj.get("metadata") or {})
        if metadata.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        self._place(resource, namespace, metadata)
        obj = {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        if resource.custom and "status" in resource.subresources:
            obj.pop("status", None)
        obj = fill_defaults(obj, resource.schema or {}) if resource.custom else apply_defaults(resource, obj)
        metadata = obj["metadata"]
        causes = check_custom(resource, obj) if resource.custom else []
        causes += check(resource, obj)
        if causes:
            raise errors.invalid(resource, metadata.get("name", ""), causes)
        if self.store.get(resource.storage, namespace, metadata["name"]) is not None:
            raise errors.already_exists(resource, metadata["name"])
        metadata.update(uid=str(uuid.uuid4()), creationTimestamp=utc_text(self.now()))
        if resource.has_generation or resource.custom:
            metadata["generation"] = 1
        if options.tracked:
            metadata["managedFields"] = ownership.after_update(None, obj, self._manager(resource, options))
        elif options.owners is not None:
            metadata["managedFields"] = options.owners
        return obj if options.dry_run else self.store.put(resource.storage, obj)

    def _place(self, resource: Resource, namespace: str, metadata: Json) -> None:
        """Name and namespace of a new object."""
        for name in ("uid", "creationTimestamp", "deletionTimestamp", "managedFields", "generation", "selfLink"):
            metadata.pop(name, None)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(secrets.choice(_SUFFIX) for _ in range(5))
        if not resource.namespaced:
            metadata.pop("namespace", None)
            return
        if metadata.get("namespace", namespace) != namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = namespace
        self._namespace_open(resource, namespace, metadata.get("name", ""))

    def _namespace_open(self, resource: Resource, namespace: str, name: str) -> None:
        home = self.store.get(("", "namespaces"), "", namespace)
        if home is None:
            raise errors.not_found(self.catalogue.by_plural("namespaces"), namespace)
        if home["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            causes = [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            raise errors.forbidden(
                f'{resource.qualified} "{name}"', why, {"name": name, "kind": resource.plural, "causes": causes}
            )

    def decode(self, resource: Resource, body: Json, options: Options, *, patching: bool) -> Json:
        """The body without unknown fields; they warn or, when strict, refuse the write."""
        try:
            obj, unknown = prune_custom(resource, body) if resource.custom else prune(resource, body)
        except TypeMismatch as error:
            text = (
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: json: {error}'
            )
            raise errors.bad_request(text) from None
        if not unknown or options.field_validation == "Ignore":
            return obj
        texts = [f'unknown field "{path}"' for path in unknown]
        if options.field_validation != "Strict":
            options.warnings += texts
            return obj
        strict = f"strict decoding error: {', '.join(texts)}"
        if patching:
            name = str((body.get("metadata") or {}).get("name", ""))
            raise errors.invalid(resource, name, [errors.cause("patch", f'Invalid value: "": {strict}')])
        raise errors.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {strict}'
        )

    def _manager(self, resource: Resource, options: Options) -> ownership.Manager:
        return ownership.new_row(
            options.manager, "Update", resource.api_version, utc_text(self.now()), options.subresource
        )

    # -- replace ----------------------------------------------------------------------------------------------------

    def replace(self, resource: Resource, old: Json, new: Json, options: Options | None = None) -> Json:
        """Store `new` in place of `old`, honouring the endpoint's share of the object; no effect keeps the revision."""
        options = options or Options()
        name = old["metadata"]["name"]
        self._preconditions(resource, old, new)
        merged = self._share(resource, old, new, options.subresource)
        causes = check_custom(resource, merged) if resource.custom else []
        causes += check(resource, merged, old)
        if causes:
            raise errors.invalid(resource, name, causes)
        if same(old, merged) and not self._finished(resource, merged):
            changed_owners = merged["metadata"].get("managedFields") != old["metadata"].get("managedFields")
            if options.tracked or not changed_owners:
                return old
        metadata = merged["metadata"]
        if "generation" in metadata and merged.get("spec") != old.get("spec"):
            metadata["generation"] += 1
        if options.tracked:
            metadata["managedFields"] = ownership.after_update(old, merged, self._manager(resource, options))
        if options.dry_run:
            return merged
        if self._finished(resource, merged):
            self.store.put(resource.storage, merged)
            return self.store.remove(resource.storage, metadata.get("namespace", ""), name)
        return self.store.put(resource.storage, merged)

    def _preconditions(self, resource: Resource, old: Json, new: Json) -> None:
        before, after = old["metadata"], new.get("metadata") or {}
        name = before["name"]
        if after.get("uid") and after["uid"] != before["uid"]:
            why = f"Precondition failed: UID in precondition: {after['uid']}, UID in object meta: {before['uid']}"
            raise errors.conflict(resource, name, why)
        if after.get("resourceVersion") and after["resourceVersion"] != before["resourceVersion"]:
            raise errors.conflict(resource, name)

    def _share(self, resource: Resource, old: Json, new: Json, subresource: str) -> Json:
        """The main endpoint ignores status; `status` takes status and, for built-in types, labels and annotations."""
        merged = copy.deepcopy(new)
        metadata = merged.setdefault("metadata", {})
        for key in (
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
        ):
            if key in old["metadata"]:
                metadata[key] = old["metadata"][key]
            else:
                metadata.pop(key, None)
        if metadata.get("managedFields") is None and "managedFields" in old["metadata"]:
            metadata["managedFields"] = old["metadata"]["managedFields"]
        merged.update(apiVersion=resource.api_version, kind=resource.kind)
        if subresource == "status":
            kept = {key: value for key, value in old.items() if key != "status"}
            if not resource.custom:
                kept["metadata"] = {
                    **old["metadata"],
                    **{key: metadata.get(key) for key in ("labels", "annotations") if metadata.get(key)},
                }
                kept["metadata"]["managedFields"] = metadata.get("managedFields") or []
            return {
                **kept,
                **({"status": merged["status"]} if "status" in merged else {}),
                "metadata": dict(kept["metadata"]),
            }
        if "status" in resource.subresources and not subresource:
            merged.pop("status", None)
            if "status" in old:
                merged["status"] = old["status"]
        return merged

    def _finished(self, resource: Resource, obj: Json) -> bool:
        """Whether the last finalizer of a deleted object has just gone."""
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
            return False
        if resource.qualified == "namespaces":
            return not (obj.get("spec") or {}).get("finalizers")
        return resource.qualified != "pods" or metadata.get("deletionGracePeriodSeconds") == 0

    def mutate(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Json], Json | None]
    ) -> Json | None:
        """A controller's read-modify-write: `change` gets a copy and returns the new object, or None to leave it."""
        old = self.store.get(resource.storage, namespace, name)
        if old is None:
            return None
        new = change(copy.deepcopy(old))
        if new is None or new == old:
            return old
        if resource.qualified == "pods" and self._finished(resource, new):
            self.store.put(resource.storage, new)
            return self.store.remove(resource.storage, namespace, name)
        if "generation" in new["metadata"] and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self.store.put(resource.storage, new)

    # -- delete -----------------------------------------------------------------------------------------------------

    def delete(
        self, resource: Resource, namespace: str, name: str, body: Json | None = None, *, dry_run: bool = False
    ) -> tuple[Json, bool]:
        """Delete or begin to delete; returns the object and whether it is gone already."""
        obj = self.get(resource, namespace, name)
        self._delete_preconditions(resource, obj, (body or {}).get("preconditions") or {})
        grace = self._grace(resource, obj, body or {})
        if dry_run:
            return obj, True
        metadata = obj["metadata"]
        if not grace and not metadata.get("finalizers") and resource.qualified != "namespaces":
            return self.store.remove(resource.storage, namespace, name), True
        before = metadata.get("deletionGracePeriodSeconds")
        if metadata.get("deletionTimestamp") and (before is None or grace >= before):
            return obj, False
        changed = copy.deepcopy(obj)
        changed["metadata"]["deletionTimestamp"] = utc_text(self.now() + timedelta(seconds=grace))
        changed["metadata"]["deletionGracePeriodSeconds"] = grace
        if "generation" in changed["metadata"]:
            changed["metadata"]["generation"] += 1
        if resource.qualified == "namespaces":
            changed["status"] = {"phase": "Terminating"}
            del changed["metadata"]["deletionGracePeriodSeconds"]
        return self.store.put(resource.storage, changed), False

    def _delete_preconditions(self, resource: Resource, obj: Json, wanted: Json) -> None:
        for key, text in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            have = obj["metadata"].get(key)
            if wanted.get(key) and wanted[key] != have:
                why = f"Precondition failed: {text} in precondition: {wanted[key]}, {text} in object meta: {have}"
                raise errors.conflict(resource, obj["metadata"]["name"], why, kind=resource.kind)

    def _grace(self, resource: Resource, obj: Json, body: Json) -> int:
        """Seconds that a pod gets to end; zero for everything else, unscheduled and finished pods."""
        if resource.qualified != "pods":
            return 0
        phase = (obj.get("status") or {}).get("phase")
        if not obj["spec"].get("nodeName") or phase in ("Succeeded", "Failed"):
            return 0
        given = body.get("gracePeriodSeconds")
        seconds = obj["spec"].get("terminationGracePeriodSeconds", 30) if given is None else given
        return max(int(seconds), 0)
