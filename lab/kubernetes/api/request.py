"""A parsed API request and the answers that handlers give; no ASGI details beyond this file and app.py."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import yaml

from lab.kubernetes.api import protobuf
from lab.kubernetes.errors import ApiError, bad_request, unsupported_media
from lab.kubernetes.resources import Catalogue, Resource
from lab.kubernetes.store import encode

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Target:
    """What a resource path names. An empty `name` is the collection; an empty `namespace` is the whole cluster."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(slots=True)
class Request:
    """One HTTP request; `query` holds the last value of each parameter, `lists` all of them."""

    method: str
    path: str
    headers: Mapping[str, str]
    lists: Mapping[str, list[str]]
    raw: bytes = b""
    user: Any = None
    warnings: list[str] = field(default_factory=list)

    @property
    def query(self) -> dict[str, str]:
        """Query parameters."""
        return {key: values[-1] for key, values in self.lists.items()}

    def flag(self, name: str) -> bool:
        """A boolean parameter: present and not false."""
        return self.query.get(name, "false").lower() in ("true", "1", "")

    def number(self, name: str) -> int | None:
        """An integer parameter, or None; 400 otherwise."""
        text = self.query.get(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise bad_request(f'invalid {name} "{text}": strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def content_type(self) -> str:
        """The media type of the body without parameters."""
        return self.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower()

    @property
    def manager(self) -> str:
        """The field manager: the parameter, or the client's name from its User-Agent."""
        return (
            self.query.get("fieldManager")
            or self.headers.get("user-agent", "unknown").partition("/")[0][:128]
            or "unknown"
        )

    @property
    def dry_run(self) -> bool:
        """Whether nothing may persist; 422 for values other than All."""
        value = self.query.get("dryRun", "")
        if value not in ("", "All"):
            raise ApiError(422, "Invalid", f'dryRun: Unsupported value: "{value}": supported values: "All"', {})
        return value == "All"

    def document(self, accepted: tuple[str, ...] = (JSON_TYPE, "application/yaml", protobuf.MEDIA_TYPE)) -> Any:
        """The parsed body; 415 for other media types, 400 when it cannot be parsed, None when empty."""
        if self.content_type not in accepted:
            raise unsupported_media(self.content_type, list(accepted))
        return self.parse()

    def parse(self) -> Any:
        """The body as JSON or YAML; None when empty."""
        if not self.raw.strip():
            return None
        if self.content_type == protobuf.MEDIA_TYPE:
            return protobuf.decode(self.raw)
        try:
            return yaml.safe_load(self.raw) if "yaml" in self.content_type else json.loads(self.raw)
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(f"the object provided is unrecognized (must be of type Status): {error}") from None


def make_request(scope: Mapping[str, Any]) -> Request:
    """From an ASGI scope (http or websocket); the body comes later."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    lists = parse_qs(scope["query_string"].decode(), keep_blank_values=True)
    return Request(scope.get("method", "GET"), scope["path"], headers, lists)


@dataclass(slots=True)
class Response:
    """An answer: a body, or a stream of chunks."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    stream: AsyncIterator[bytes] | None = None


def answer(document: Any, status: int = 200, **headers: str) -> Response:
    """A JSON answer."""
    return Response(
        status, encode(document), headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def _parts(path: str) -> tuple[str, str, list[str]] | None:
    """Group, version and the rest of a resource path."""
    words = [word for word in path.split("/") if word]
    if len(words) >= 2 and words[0] == "api":
        return "", words[1], words[2:]
    if len(words) >= 3 and words[0] == "apis":
        return words[1], words[2], words[3:]
    return None


def find_target(catalogue: Catalogue, path: str) -> Target | None:
    """The resource that a path names, or None when this API server does not know it."""
    found = _parts(path)
    if found is None or not found[2]:
        return None
    group, version, rest = found
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    resource = catalogue.find(group, version, rest[0])
    if resource is None or (namespace and not resource.namespaced) or len(rest) > 3:
        return None
    if resource.namespaced and not namespace and len(rest) > 1:
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if subresource and subresource not in resource.subresources:
        return None
    return Target(resource, namespace, name, subresource)
