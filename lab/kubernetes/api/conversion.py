"""The same stored object in the form of another version: both kinds of events, and versions of custom resources."""

from __future__ import annotations

from lab.kubernetes.resources import Json, Resource
from lab.kubernetes.store import Entry, encode

# core/v1 field -> events.k8s.io/v1 field
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def is_stored_form(resource: Resource, obj: Json) -> bool:
    """Whether clients of this version get the object as it is stored."""
    return bool(obj["apiVersion"] == resource.api_version)


def to_version(resource: Resource, obj: Json) -> Json:
    """The stored object as clients of this version see it."""
    if is_stored_form(resource, obj):
        return obj
    if resource.plural == "events":
        names = _EVENT_FIELDS if resource.group else {new: old for old, new in _EVENT_FIELDS.items()}
        obj = {names.get(key, key): value for key, value in obj.items()}
    return {**obj, "apiVersion": resource.api_version}


def encoded(resource: Resource, entry: Entry) -> bytes:
    """The serialised object in this version."""
    return entry.encoded if is_stored_form(resource, entry.obj) else encode(to_version(resource, entry.obj))


def to_storage(resource: Resource, obj: Json) -> Json:
    """A client's event in the stored (core) form; everything else is stored as it comes."""
    if resource.plural != "events" or not resource.group:
        return obj
    names = {new: old for old, new in _EVENT_FIELDS.items()}
    return {**{names.get(key, key): value for key, value in obj.items()}, "apiVersion": "v1"}
