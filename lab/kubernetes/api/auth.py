"""Who asks and what they may do: bearer tokens, service accounts of one namespace, and everybody else.

Rules are rows; the test namespace's service accounts get just what KubernetesPodOperator needs (facts of the provider
10.25.0), so that nodes under validation can join with credentials that reach nothing else.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lab.kubernetes.api.request import Request, Target
from lab.kubernetes.errors import ApiError, forbidden
from lab.kubernetes.resources import Json

_ALL = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
# (plural, subresource) -> verbs that a service account has in its own namespace.
GRANTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("pods", ""): _ALL,
    ("pods", "log"): ("get",),
    ("pods", "exec"): ("get", "create"),
    ("pods", "status"): ("get",),
    ("events", ""): ("get", "list", "watch"),
    ("configmaps", ""): ("get", "list", "watch"),
}
# What every authenticated user may do.
SELF_SERVICE = ("selfsubjectaccessreviews", "selfsubjectreviews")
PUBLIC_PATHS = ("/version", "/healthz", "/livez", "/readyz")


@dataclass(frozen=True, slots=True)
class User:
    """An identity. `namespace` limits a service account."""

    name: str
    groups: tuple[str, ...] = ()
    namespace: str = ""
    expires: datetime | None = None


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


class Gate:
    """Knows the tokens and decides."""

    def __init__(self) -> None:
        self._tokens: dict[str, User] = {}
        self.admin_token = secrets.token_urlsafe(32)
        self._tokens[self.admin_token] = User("lab-admin", ("system:masters", "system:authenticated"))

    def issue(self, namespace: str, account: str, lifetime: timedelta) -> tuple[str, datetime]:
        """A new token of a service account and when it ends."""
        token, expires = secrets.token_urlsafe(32), datetime.now(UTC) + lifetime
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        self._tokens[token] = User(f"system:serviceaccount:{namespace}:{account}", groups, namespace, expires)
        return token, expires

    def identify(self, request: Request) -> User:
        """The user of a request; 401 for a token that is unknown or has expired."""
        header = request.headers.get("authorization", "")
        if not header:
            return ANONYMOUS
        user = self._tokens.get(header.partition(" ")[2].strip())
        if user is None or (user.expires and user.expires < datetime.now(UTC)):
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return user

    def allows(self, user: User, verb: str, target: Target) -> bool:
        """Whether the user may do this."""
        if "system:masters" in user.groups:
            return True
        if "system:authenticated" not in user.groups:
            return False
        if target.resource.plural in SELF_SERVICE and verb == "create":
            return True
        same_namespace = bool(user.namespace) and target.namespace == user.namespace
        return same_namespace and verb in GRANTS.get((target.resource.plural, target.subresource), ())

    def require(self, user: User, verb: str, target: Target) -> None:
        """403 with the text of the real API server unless allowed."""
        if self.allows(user, verb, target):
            return
        resource = target.resource
        plural = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
        scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        subject = f'{resource.qualified} "{target.name}"' if target.name else resource.qualified
        why = f'User "{user.name}" cannot {verb} resource "{plural}" in API group "{resource.group}" {scope}'
        details: Json = {**({"name": target.name} if target.name else {}), "kind": resource.plural}
        raise forbidden(subject, why, {**details, **({"group": resource.group} if resource.group else {})})

    def require_path(self, user: User, path: str) -> None:
        """403 for paths without a resource (discovery) unless public or authenticated."""
        if path in PUBLIC_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return
        if "system:authenticated" not in user.groups:
            raise ApiError(403, "Forbidden", f'forbidden: User "{user.name}" cannot get path "{path}"', {})
