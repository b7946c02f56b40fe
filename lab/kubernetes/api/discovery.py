"""Discovery, version and OpenAPI: what clients read first to learn what this API server can do.

OpenAPI v3 holds, per group version, one PATCH operation per kind with the parameters that kubectl looks for
(fieldValidation, dryRun) and no schemas: kubectl then validates on the server and merges with its built-in types.
OpenAPI v2 is an empty protobuf document for kubectl and an empty JSON one for others.
"""

from __future__ import annotations

from lab.kubernetes.api.request import Request, Response, answer
from lab.kubernetes.errors import PlainError
from lab.kubernetes.resources import Catalogue, Json, Resource

VERSION: Json = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "nodeworthy-lab",
    "gitTreeState": "clean",
    "buildDate": "2026-06-01T00:00:00Z",
    "goVersion": "go1.26.0",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_SUB_KINDS = {
    "log": ("Pod", "", "", ("get",)),
    "exec": ("PodExecOptions", "", "", ("create", "get")),
    "eviction": ("Eviction", "policy", "v1", ("create",)),
    "binding": ("Binding", "", "", ("create",)),
    "token": ("TokenRequest", "authentication.k8s.io", "v1", ("create",)),
    "finalize": ("Namespace", "", "", ("update",)),
}


def discover(catalogue: Catalogue, request: Request) -> Response:
    """Answer a path without a resource; plain 404 for unknown ones."""
    path = request.path.rstrip("/") or "/"
    if path == "/version":
        return answer(VERSION)
    if path.startswith(("/healthz", "/livez", "/readyz")):
        return Response(body=b"ok", content_type="text/plain; charset=utf-8")
    if path == "/api":
        return answer({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
    if path == "/apis":
        groups = [_group(name, versions) for name, versions in catalogue.group_versions().items()]
        return answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    if path.startswith("/openapi"):
        return _openapi(catalogue, path, request)
    return _group_or_version(catalogue, path)


def _group_or_version(catalogue: Catalogue, path: str) -> Response:
    words = path.strip("/").split("/")
    groups = catalogue.group_versions()
    if words == ["api", "v1"]:
        return answer(_resources(catalogue, "", "v1"))
    if len(words) == 2 and words[0] == "apis" and words[1] in groups:
        return answer({**_group(words[1], groups[words[1]]), "kind": "APIGroup", "apiVersion": "v1"})
    if len(words) == 3 and words[0] == "apis" and words[2] in groups.get(words[1], []):
        return answer(_resources(catalogue, words[1], words[2]))
    if path == "/":
        return answer(
            {
                "paths": [
                    "/api",
                    "/api/v1",
                    "/apis",
                    "/healthz",
                    "/livez",
                    "/openapi/v2",
                    "/openapi/v3",
                    "/readyz",
                    "/version",
                ]
            }
        )
    raise PlainError(404, "404 page not found\n")


def _group(name: str, versions: list[str]) -> Json:
    rows = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": rows, "preferredVersion": rows[0]}


def _resources(catalogue: Catalogue, group: str, version: str) -> Json:
    rows: list[Json] = []
    for resource in catalogue.of(group, version):
        row: Json = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            row["shortNames"] = list(resource.short_names)
        if resource.categories:
            row["categories"] = list(resource.categories)
        rows.append(row)
        rows += [_subresource(resource, name) for name in resource.subresources]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": rows,
    }


def _subresource(resource: Resource, name: str) -> Json:
    kind, group, version, verbs = _SUB_KINDS.get(name, (resource.kind, "", "", ("get", "patch", "update")))
    row: Json = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
    }
    if group:
        row |= {"group": group, "version": version}
    return {**row, "verbs": list(verbs)}


def _openapi(catalogue: Catalogue, path: str, request: Request) -> Response:
    if path == "/openapi/v2":
        if "protobuf" in request.headers.get("accept", ""):
            kind = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            return Response(body=b"", content_type=kind)
        return answer(
            {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": {}, "definitions": {}}
        )
    versions = {"api/v1": ("", "v1")}
    for group, names in catalogue.group_versions().items():
        versions |= {f"apis/{group}/{name}": (group, name) for name in names}
    if path == "/openapi/v3":
        return answer({"paths": {key: {"serverRelativeURL": f"/openapi/v3/{key}?hash=lab"} for key in versions}})
    found = versions.get(path.removeprefix("/openapi/v3/"))
    if found is None:
        raise PlainError(404, "404 page not found\n")
    return answer(_document(catalogue, *found))


def _document(catalogue: Catalogue, group: str, version: str) -> Json:
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation", "force")
    ]
    paths: Json = {}
    for resource in catalogue.of(group, version):
        middle = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": group, "version": version, "kind": resource.kind}
        operation = {
            "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-group-version-kind": kind,
        }
        paths[f"{base}{middle}/{resource.plural}"] = {"post": operation}
        paths[f"{base}{middle}/{resource.plural}/{{name}}"] = {"get": operation, "patch": operation, "put": operation}
    info = {"title": "Kubernetes", "version": "v1.36.2"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}
