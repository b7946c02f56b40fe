"""Bodies in Kubernetes' protobuf form, for the few kinds that kubectl's typed commands send that way.

The envelope is `k8s\\0` and a runtime.Unknown (k8s.io/apimachinery generated.proto); field numbers below are those of
the API's generated.proto files. Other kinds are refused with 415, as a server without protobuf would.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from lab.kubernetes.errors import ApiError, bad_request
from lab.kubernetes.resources import Json

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
# Field number -> (name, kind). Kinds: text, bytes, int, bool, map, bytes-map, a table's name; [] marks a list.
Table = dict[int, tuple[str, str]]
_TABLES: dict[str, Table] = {
    "ObjectMeta": {
        1: ("name", "text"),
        2: ("generateName", "text"),
        3: ("namespace", "text"),
        5: ("uid", "text"),
        6: ("resourceVersion", "text"),
        11: ("labels", "map"),
        12: ("annotations", "map"),
        14: ("finalizers", "text[]"),
    },
    "Preconditions": {1: ("uid", "text"), 2: ("resourceVersion", "text")},
    "DeleteOptions": {
        1: ("gracePeriodSeconds", "int"),
        2: ("preconditions", "Preconditions"),
        3: ("orphanDependents", "bool"),
        4: ("propagationPolicy", "text"),
        5: ("dryRun", "text[]"),
    },
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "map"),
        3: ("binaryData", "bytes-map"),
        4: ("immutable", "bool"),
    },
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "bytes-map"),
        3: ("type", "text"),
        4: ("stringData", "map"),
        5: ("immutable", "bool"),
    },
    "Namespace": {1: ("metadata", "ObjectMeta")},
    "ServiceAccount": {1: ("metadata", "ObjectMeta")},
    "Eviction": {1: ("metadata", "ObjectMeta"), 2: ("deleteOptions", "DeleteOptions")},
    "TokenRequest": {1: ("metadata", "ObjectMeta"), 2: ("spec", "TokenRequestSpec")},
    "TokenRequestSpec": {1: ("audiences", "text[]"), 4: ("expirationSeconds", "int")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta")},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "SelfSubjectAccessReviewSpec")},
    "SelfSubjectAccessReviewSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: ("namespace", "text"),
        2: ("verb", "text"),
        3: ("group", "text"),
        4: ("version", "text"),
        5: ("resource", "text"),
        6: ("subresource", "text"),
        7: ("name", "text"),
    },
    "NonResourceAttributes": {1: ("path", "text"), 2: ("verb", "text")},
    "PodDisruptionBudget": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodDisruptionBudgetSpec")},
    "PodDisruptionBudgetSpec": {
        1: ("minAvailable", "IntOrString"),
        2: ("selector", "LabelSelector"),
        3: ("maxUnavailable", "IntOrString"),
        4: ("unhealthyPodEvictionPolicy", "text"),
    },
    "LabelSelector": {1: ("matchLabels", "map"), 2: ("matchExpressions", "LabelSelectorRequirement[]")},
    "LabelSelectorRequirement": {1: ("key", "text"), 2: ("operator", "text"), 3: ("values", "text[]")},
    "PriorityClass": {
        1: ("metadata", "ObjectMeta"),
        2: ("value", "int"),
        3: ("globalDefault", "bool"),
        4: ("description", "text"),
        5: ("preemptionPolicy", "text"),
    },
    "IntOrString": {1: ("type", "int"), 2: ("intVal", "int"), 3: ("strVal", "text")},
    "MapEntry": {1: ("key", "text"), 2: ("value", "bytes")},
    "TypeMeta": {1: ("apiVersion", "text"), 2: ("kind", "text")},
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "bytes")},
}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value - (1 << 64) if value >> 63 else value
        elif kind == 2:
            size, at = _varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[kind]


def _scalar(kind: str, raw: Any) -> Any:
    if kind == "text":
        return raw.decode()
    if kind == "bool":
        return bool(raw)
    if kind in ("int", "bytes"):
        return raw
    made = _message(kind, raw)
    if kind == "IntOrString":
        return made.get("strVal", "") if made.get("type") else made.get("intVal", 0)
    return made


def _message(name: str, data: bytes) -> Json:
    made: Json = {}
    table = _TABLES[name]
    for number, raw in _fields(data):
        if number not in table:
            continue
        field, kind = table[number]
        if kind in ("map", "bytes-map"):
            entry = _message("MapEntry", raw)
            value = entry.get("value", b"")
            text = value.decode() if kind == "map" else base64.b64encode(value).decode()
            made.setdefault(field, {})[entry.get("key", "")] = text
        elif kind.endswith("[]"):
            made.setdefault(field, []).append(_scalar(kind[:-2], raw))
        else:
            made[field] = _scalar(kind, raw)
    return {key: value for key, value in made.items() if value not in ("", {}) or name in ("MapEntry", "Unknown")}


def decode(data: bytes) -> Json:
    """The object in a protobuf body; 415 for kinds without a table, 400 when it is broken."""
    if not data.startswith(_MAGIC):
        raise bad_request("the provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        unknown = _message("Unknown", data[len(_MAGIC) :])
        kind = unknown["typeMeta"]["kind"]
        if kind not in _TABLES:
            raise ApiError(415, "UnsupportedMediaType", f"the lab does not read {kind} as protobuf; send JSON", {})
        return {**unknown["typeMeta"], **_message(kind, unknown.get("raw", b""))}
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise bad_request(f"the protobuf body cannot be read: {error!r}") from None
