"""SelfSubjectAccessReview and SelfSubjectReview: `kubectl auth can-i` and `kubectl auth whoami`."""

from __future__ import annotations

from lab.kubernetes.api.auth import Gate
from lab.kubernetes.api.request import Request, Response, Target, answer
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.resources import Json


def review(cluster: Cluster, gate: Gate, request: Request, target: Target) -> Response:
    """Answer a review; nothing is stored."""
    body: Json = request.document() or {}
    made = {**body, "kind": target.resource.kind, "apiVersion": target.resource.api_version}
    made.setdefault("metadata", {})
    if target.resource.plural == "selfsubjectreviews":
        made["status"] = {"userInfo": {"username": request.user.name, "groups": list(request.user.groups)}}
        return answer(made, 201)
    wanted = (body.get("spec") or {}).get("resourceAttributes") or {}
    made["status"] = {"allowed": _allowed(cluster, gate, request, wanted)}
    return answer(made, 201)


def _allowed(cluster: Cluster, gate: Gate, request: Request, wanted: Json) -> bool:
    if "system:masters" in request.user.groups:
        return True
    group, plural = wanted.get("group", ""), wanted.get("resource", "")
    resource = next((row for row in cluster.catalogue if (row.group, row.plural) == (group, plural)), None)
    if resource is None:
        return False
    namespace = wanted.get("namespace", "")
    asked = Target(resource, namespace, wanted.get("name", ""), wanted.get("subresource", ""))
    return gate.allows(request.user, wanted.get("verb", ""), asked)
