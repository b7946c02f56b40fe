"""GET of one object and of collections: selectors, limit and continue, resource versions, tables."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass

from lab.kubernetes import errors
from lab.kubernetes.api.conversion import encoded, to_version
from lab.kubernetes.api.request import Request, Response, Target, answer
from lab.kubernetes.api.tables import render_table
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import ApiError
from lab.kubernetes.resources import Json, Resource
from lab.kubernetes.selectors import Test, field_selector, label_selector
from lab.kubernetes.store import Entry, Key, encode

TOO_NEW_WAIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Form:
    """What the client accepts: plain objects, tables or metadata only."""

    kind: str = ""
    include: str = "Metadata"


def wanted_form(request: Request) -> Form:
    """From Accept; 406 when nothing that is offered is served here."""
    accept = request.headers.get("accept", "*/*") or "*/*"
    for item in accept.split(","):
        media, _, rest = item.strip().partition(";")
        parameters = dict(part.strip().partition("=")[::2] for part in rest.split(";") if part.strip())
        if media.strip() not in ("application/json", "*/*", "application/*", "application/yaml"):
            continue
        kind = parameters.get("as", "")
        if kind in ("", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            return Form(kind, request.query.get("includeObject", "Metadata"))
    text = "only the following media types are accepted: application/json, application/yaml"
    raise ApiError(406, "NotAcceptable", text, {})


def selector_of(request: Request, target: Target) -> Test:
    """Both selectors and, for a watch of one object, its name."""
    labels = label_selector(request.query.get("labelSelector", ""))
    fields = field_selector(target.resource, request.query.get("fieldSelector", ""))
    return lambda obj: labels(obj) and fields(obj)


def partial(obj: Json) -> Json:
    """PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def get_object(cluster: Cluster, request: Request, target: Target) -> Response:
    """GET of one object (its status subresource shows the whole object)."""
    form = wanted_form(request)
    obj = to_version(target.resource, cluster.registry.get(target.resource, target.namespace, target.name))
    if form.kind == "Table":
        metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        return answer(render_table(target.resource, [obj], metadata, form.include))
    return answer(partial(obj) if form.kind else obj)


async def check_version(cluster: Cluster, text: str) -> int:
    """The resourceVersion parameter as a number; 504 after a while when it lies in the future, 400 when malformed."""
    if not text:
        return 0
    if not text.isdigit():
        raise errors.invalid_version(text)
    revision = int(text)
    if revision > cluster.store.revision:
        await asyncio.sleep(TOO_NEW_WAIT_SECONDS)
    if revision > cluster.store.revision:
        why = f"Too large resource version: {revision}, current: {cluster.store.revision}"
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        raise ApiError(504, "Timeout", why, {"causes": causes, "retryAfterSeconds": 1}, Retry_After="1")
    return revision


def _token(revision: int, key: Key) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": "/".join(key)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _from_token(token: str) -> tuple[int, Key]:
    try:
        data = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = data["start"].partition("/")
        return int(data["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError):
        raise errors.bad_request(f"continue key is not valid: {token!r}") from None


def _page(cluster: Cluster, request: Request, target: Target) -> tuple[int, list[tuple[Key, Entry]]]:
    """The revision of the list and its candidates in key order, from the continue token on."""
    place = target.resource.storage
    token = request.query.get("continue")
    if not token:
        return cluster.store.revision, cluster.store.entries(place, target.namespace or None)
    revision, start = _from_token(token)
    entries = cluster.store.at(place, revision) if revision >= 0 else cluster.store.entries(place)
    if entries is None:
        error = errors.expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list."
        )
        error.metadata = {"continue": _token(-1, start)}
        raise error
    namespace = target.namespace
    rest = [item for item in entries if item[0] > start and (not namespace or item[0][0] == namespace)]
    return (revision if revision >= 0 else cluster.store.revision), rest


async def list_objects(cluster: Cluster, request: Request, target: Target) -> Response:
    """GET of a collection."""
    form = wanted_form(request)
    test = selector_of(request, target)
    version = request.query.get("resourceVersion", "")
    await check_version(cluster, version)
    revision, entries = _page(cluster, request, target)
    limit = request.number("limit") or 0
    if version == "0":
        limit = 0
    selected = bool(request.query.get("labelSelector") or request.query.get("fieldSelector"))
    chosen = [item for item in entries if test(to_version(target.resource, item[1].obj))] if selected else entries
    metadata: Json = {"resourceVersion": str(revision)}
    if limit and len(chosen) > limit:
        metadata["continue"] = _token(revision, chosen[limit - 1][0])
        if not selected:
            metadata["remainingItemCount"] = len(chosen) - limit
        chosen = chosen[:limit]
    return _render(target.resource, [entry for _, entry in chosen], metadata, form)


def _render(resource: Resource, entries: list[Entry], metadata: Json, form: Form) -> Response:
    if form.kind == "Table":
        objects = [to_version(resource, entry.obj) for entry in entries]
        return answer(render_table(resource, objects, metadata, form.include))
    if form.kind:
        partials = [partial(entry.obj) for entry in entries]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        return answer({**head, "items": partials})
    head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
    joined = b",".join(encoded(resource, entry) for entry in entries)
    return Response(body=encode(head)[:-1] + b',"items":[' + joined + b"]}")
