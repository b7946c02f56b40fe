"""Label and field selectors, with the refusals of a real API server for what it does not understand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lab.kubernetes.errors import bad_request
from lab.kubernetes.resources import Json, Resource

Test = Callable[[Json], bool]

_KEY = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SET = re.compile(rf"^({_KEY})\s+(in|notin)\s*\(([^()]*)\)$")
_COMPARE = re.compile(rf"^({_KEY})\s*(==|!=|=|>|<)\s*([-A-Za-z0-9_.]*)$")
_EXISTS = re.compile(rf"^(!?)\s*({_KEY})$")


def split_terms(text: str) -> list[str]:
    """Comma-separated terms; commas inside parentheses belong to a term."""
    return [term.strip() for term in re.split(r",(?![^(]*\))", text)]


def _label_term(term: str, whole: str) -> Callable[[Mapping[str, str]], bool]:
    if match := _SET.match(term):
        key, word, values = match[1], match[2], {value.strip() for value in match[3].split(",")}
        return (
            (lambda labels: labels.get(key) in values)
            if word == "in"
            else (lambda labels: key not in labels or labels[key] not in values)
        )
    if match := _COMPARE.match(term):
        return _comparison(match[1], match[2], match[3])
    if match := _EXISTS.match(term):
        wanted, key = not match[1], match[2]
        return lambda labels: (key in labels) is wanted
    raise bad_request(
        f"unable to parse requirement: found '{term}', expected: a key with '=', '!=', '==', 'in', 'notin', '>' or '<' "
        f'in "{whole}"'
    )


def _comparison(key: str, operator: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    try:
        limit = int(value)
    except ValueError:
        raise bad_request(f"for 'Gt', 'Lt' operators, the value must be an integer: {value!r}") from None

    def numeric(labels: Mapping[str, str]) -> bool:
        try:
            number = int(labels[key])
        except (KeyError, ValueError):
            return False
        return number > limit if operator == ">" else number < limit

    return numeric


def label_selector(text: str) -> Test:
    """A test on objects from the query parameter `labelSelector`; 400 when malformed."""
    if not text.strip():
        return lambda obj: True
    terms = [_label_term(term, text) for term in split_terms(text)]
    return lambda obj: all(term(obj["metadata"].get("labels") or {}) for term in terms)


def matches_labels(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector object (matchLabels, matchExpressions) against labels; an absent one matches nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(item, labels) for item in selector.get("matchExpressions") or [])


def _expression(item: Json, labels: Mapping[str, str]) -> bool:
    key, operator, values = item["key"], item["operator"], item.get("values") or []
    present = key in labels
    if operator in ("Gt", "Lt"):
        return _comparison(key, ">" if operator == "Gt" else "<", str(values[0]))(labels)
    return {
        "In": present and labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": present,
        "DoesNotExist": not present,
    }[operator]


# The fields that a real API server accepts per resource; the default for all others is name and namespace.
FIELDS: dict[str, tuple[str, ...]] = {
    "nodes": ("metadata.name", "spec.unschedulable"),
    "pods": (
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "metadata.name",
        "metadata.namespace",
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "resourceslices": ("metadata.name", "spec.nodeName", "spec.driver"),
    "namespaces": ("metadata.name", "status.phase"),
    "secrets": ("metadata.name", "metadata.namespace", "type"),
    "jobs": ("metadata.name", "metadata.namespace", "status.successful"),
}
_FALSE_WHEN_ABSENT = ("spec.unschedulable", "spec.hostNetwork")


def _field_value(obj: Json, path: str) -> str:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if path == "source" and isinstance(value, dict):
        value = value.get("component")
    if value is None:
        return "false" if path in _FALSE_WHEN_ABSENT else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def field_selector(resource: Resource, text: str) -> Test:
    """A test on objects from the query parameter `fieldSelector`; 400 for unknown fields."""
    terms: list[tuple[str, str, str]] = []
    allowed = FIELDS.get(resource.plural, ("metadata.name", "metadata.namespace"))
    for term in filter(None, text.split(",")):
        match = re.match(r"^([^=!]+)(!=|==|=)(.*)$", term)
        if not match:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        if match[1] not in allowed:
            raise bad_request(f"field label not supported: {match[1]}")
        terms.append((match[1], match[2], match[3]))
    return lambda obj: all((_field_value(obj, path) == value) is (op != "!=") for path, op, value in terms)
