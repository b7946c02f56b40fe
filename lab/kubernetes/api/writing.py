"""POST, PUT, PATCH and DELETE of objects and collections."""

from __future__ import annotations

import json
from typing import Any

import yaml

from lab.kubernetes import errors, ownership
from lab.kubernetes.api.conversion import to_storage, to_version
from lab.kubernetes.api.reading import selector_of
from lab.kubernetes.api.request import Request, Response, Target, answer
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import ApiError, success
from lab.kubernetes.patches import PatchFailed, json_patch, merge_patch, strategic_merge
from lab.kubernetes.registry import Options, utc_text
from lab.kubernetes.resources import Json

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def options_of(request: Request, target: Target) -> Options:
    """The write options of a request."""
    validation = request.query.get("fieldValidation") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        raise errors.bad_request(f'invalid fieldValidation "{validation}"')
    return Options(
        request.manager, request.dry_run, validation, target.subresource, tracked=True, warnings=request.warnings
    )


def _body(request: Request, target: Target) -> Json:
    body = request.document()
    if not isinstance(body, dict):
        raise errors.bad_request("unexpected end of JSON input")
    kind = body.get("kind", target.resource.kind)
    version = body.get("apiVersion", target.resource.api_version)
    if kind != target.resource.kind or version != target.resource.api_version:
        given = f"{version}, Kind={kind}"
        resource = target.resource
        text = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        text += f"the object given is {given}"
        raise errors.bad_request(text)
    return body


def create(cluster: Cluster, request: Request, target: Target) -> Response:
    """POST on a collection."""
    body = to_storage(target.resource, _body(request, target))
    resource = target.resource
    if resource.plural == "events":
        resource = cluster.catalogue.by_plural("events")
    obj = cluster.registry.create(resource, target.namespace, body, options_of(request, target))
    return answer(to_version(target.resource, obj), 201)


def update(cluster: Cluster, request: Request, target: Target) -> Response:
    """PUT on an object or its status."""
    body = _body(request, target)
    name = (body.get("metadata") or {}).get("name")
    if name != target.name:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    options = options_of(request, target)
    old = cluster.registry.get(target.resource, target.namespace, target.name)
    body = cluster.registry.decode(target.resource, to_storage(target.resource, body), options, patching=False)
    metadata = body.get("metadata") or {}
    if target.resource.custom and not metadata.get("resourceVersion"):
        why = errors.bad_version_cause()
        raise errors.invalid(target.resource, target.name, [why])
    obj = cluster.registry.replace(target.resource, old, body, options)
    return answer(to_version(target.resource, obj))


def patch(cluster: Cluster, request: Request, target: Target) -> Response:
    """PATCH by media type."""
    kind = request.content_type
    accepted = [JSON_PATCH, MERGE_PATCH, *([] if target.resource.custom else [STRATEGIC]), APPLY]
    if kind not in accepted:
        raise errors.unsupported_media(kind, accepted if not target.resource.custom else [*accepted])
    if kind == APPLY:
        return _apply(cluster, request, target)
    options = options_of(request, target)
    old = cluster.registry.get(target.resource, target.namespace, target.name)
    new = _patched(request, target, old)
    new = cluster.registry.decode(target.resource, new, options, patching=True)
    _same_identity(target, old, new)
    obj = cluster.registry.replace(target.resource, old, new, options)
    return answer(to_version(target.resource, obj))


def _patched(request: Request, target: Target, old: Json) -> Json:
    try:
        document = json.loads(request.raw)
    except ValueError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    try:
        if request.content_type == JSON_PATCH:
            return json_patch(old, document)
        if not isinstance(document, dict):
            raise errors.bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
        merged = merge_patch(old, document) if request.content_type == MERGE_PATCH else strategic_merge(old, document)
    except PatchFailed as error:
        text = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", text, {"name": target.name, "kind": target.resource.plural}) from error
    except (TypeError, AttributeError) as error:
        raise errors.bad_request(f"the patch does not fit the object: {error}") from None
    if "resourceVersion" not in (document.get("metadata") or {}):
        merged["metadata"] = {**merged["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
    result: Json = merged
    return result


def _same_identity(target: Target, old: Json, new: Json) -> None:
    name = (new.get("metadata") or {}).get("name")
    if name != old["metadata"]["name"]:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")


# -- server-side apply ----------------------------------------------------------------------------------------------


def _apply(cluster: Cluster, request: Request, target: Target) -> Response:
    manager = request.query.get("fieldManager", "")
    if not manager:
        text = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
        causes = [errors.cause("fieldManager", "Required value: is required for apply patch", "FieldValueRequired")]
        raise ApiError(422, "Invalid", text, {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": causes})
    body = _apply_body(request, target)
    options = options_of(request, target)
    applied = cluster.registry.decode(target.resource, body, options, patching=True)
    live = cluster.store.get(target.resource.storage, target.namespace, target.name)
    row = ownership.new_row(
        manager, "Apply", target.resource.api_version, utc_text(cluster.registry.now()), target.subresource
    )
    if live is None:
        return _apply_new(cluster, target, applied, row, options)
    if "resourceVersion" not in applied["metadata"]:
        applied["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    lost = ownership.clashes(live, applied, set(ownership.paths(applied)), row)
    if lost and not request.flag("force"):
        raise _apply_conflict(lost)
    merged = ownership.after_apply(live, applied, row, lost)
    options.tracked = False
    obj = cluster.registry.replace(target.resource, live, merged, options)
    return answer(to_version(target.resource, obj))


def _apply_body(request: Request, target: Target) -> Json:
    try:
        body = yaml.safe_load(request.raw)
    except yaml.YAMLError as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        raise errors.bad_request("error decoding YAML: Object 'Kind' is missing")
    metadata = body.setdefault("metadata", {})
    if metadata.get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    if metadata.setdefault("name", target.name) != target.name:
        raise errors.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        )
    return body


def _apply_new(cluster: Cluster, target: Target, applied: Json, row: ownership.Manager, options: Options) -> Response:
    if target.subresource:
        raise errors.not_found(target.resource, target.name)
    row.fields = set(ownership.paths(applied))
    options.tracked, options.owners = False, ownership.render([row])
    obj = cluster.registry.create(target.resource, target.namespace, applied, options)
    return answer(to_version(target.resource, obj), 201)


def _apply_conflict(lost: list[ownership.Clash]) -> ApiError:
    causes = []
    for clash in lost:
        row = clash.manager.row
        using = (
            f" using {row['apiVersion']}"
            if row["operation"] == "Apply"
            else f" using {row['apiVersion']} at {row.get('time')}"
        )
        sub = f' with subresource "{clash.manager.subresource}"' if clash.manager.subresource else ""
        message = f'conflict with "{clash.manager.name}"{sub}{using}'
        causes.append(errors.cause(clash.field, message, "FieldManagerConflict"))
    count = "1 conflict" if len(causes) == 1 else f"{len(causes)} conflicts"
    first = (
        f": {causes[0]['message']}: {causes[0]['field']}"
        if len(causes) == 1
        else "s: " + "; ".join(item["field"] for item in causes)
    )
    noun = f"Apply failed with {count}"
    return ApiError(409, "Conflict", noun + first.removeprefix("s"), {"causes": causes})


# -- delete ---------------------------------------------------------------------------------------------------------


def delete_options(request: Request) -> Json:
    """DeleteOptions from the body and the query."""
    body = request.parse()
    options: Json = dict(body) if isinstance(body, dict) else {}
    seconds = request.number("gracePeriodSeconds")
    if seconds is not None:
        options["gracePeriodSeconds"] = seconds
    return options


def delete(cluster: Cluster, request: Request, target: Target) -> Response:
    """DELETE of one object: pods come back as they are now, others as a Status once they are gone."""
    options = delete_options(request)
    dry_run = request.dry_run or options.get("dryRun") == ["All"]
    obj, gone = cluster.registry.delete(target.resource, target.namespace, target.name, options, dry_run=dry_run)
    if not gone or target.resource.qualified in ("pods", "namespaces", "serviceaccounts"):
        return answer(to_version(target.resource, obj))
    return answer(success(target.resource.plural, target.name, obj["metadata"]["uid"], target.resource.group))


def delete_collection(cluster: Cluster, request: Request, target: Target) -> Response:
    """DELETE of a collection: everything that the selectors choose."""
    test = selector_of(request, target)
    options = delete_options(request)
    entries = cluster.store.entries(target.resource.storage, target.namespace or None)
    items: list[Any] = []
    for key, entry in entries:
        if test(to_version(target.resource, entry.obj)):
            obj, _ = cluster.registry.delete(target.resource, *key, options, dry_run=request.dry_run)
            items.append(to_version(target.resource, obj))
    metadata = {"resourceVersion": str(cluster.store.revision)}
    kind = f"{target.resource.kind}List"
    return answer({"kind": kind, "apiVersion": target.resource.api_version, "metadata": metadata, "items": items})
