"""The API's errors: every refusal is a `Status` object with code, reason, message and details.

The texts are those of a v1.36 API server, because clients (and KubernetesPodOperator's retry rules) read them.
"""

from __future__ import annotations

from typing import Any

from lab.kubernetes.resources import Json, Resource


class ApiError(Exception):
    """An answer other than success; `headers` are sent along (Retry-After)."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None, **headers: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.metadata: Json = {}

    def status(self) -> Json:
        """The `Status` document."""
        body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": str(self),
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


class PlainError(Exception):
    """An answer in plain text, as the generic server gives for unknown paths."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def success(kind: str | None = None, name: str | None = None, uid: str | None = None, group: str = "") -> Json:
    """The `Status` of a completed action."""
    body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if kind:
        body["details"] = {"name": name, **({"group": group} if group else {}), "kind": kind, "uid": uid}
    return body


def _details(resource: Resource, name: str, kind: str | None = None, **more: Any) -> Json:
    details: Json = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": kind or resource.plural, **more}


def not_found(resource: Resource, name: str) -> ApiError:
    """404: there is no such object."""
    return ApiError(404, "NotFound", f'{resource.qualified} "{name}" not found', _details(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    """409: the name is taken."""
    return ApiError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: Resource, name: str, why: str = MODIFIED, kind: str | None = None) -> ApiError:
    """409: somebody else was first, or a precondition failed."""
    subject = resource.qualified if kind is None else kind
    text = f'Operation cannot be fulfilled on {subject} "{name}": {why}'
    return ApiError(409, "Conflict", text, _details(resource, name, kind))


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def forbidden(resource_text: str, message: str, details: Json | None = None) -> ApiError:
    """403: the text after `is forbidden: `."""
    return ApiError(403, "Forbidden", f"{resource_text} is forbidden: {message}", details or {})


def unsupported_media(given: str, accepted: list[str]) -> ApiError:
    """415 for a patch or body type that is not accepted here."""
    text = (
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
        if accepted
        else f"the media type {given} is not supported"
    )
    return ApiError(415, "UnsupportedMediaType", text, {})


def cause(field: str, message: str, reason: str = "FieldValueInvalid") -> Json:
    """One cause of a 422."""
    return {"reason": reason, "message": message, "field": field}


def invalid(resource: Resource, name: str, causes: list[Json]) -> ApiError:
    """422 with its causes; the message joins them as apimachinery does."""
    texts = [f"{item['field']}: {item['message']}" for item in causes]
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = _details(resource, name, resource.kind, causes=causes)
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {joined}', details)


def expired(message: str = "The resourceVersion for the provided list is too old.") -> ApiError:
    """410: the history that was asked for is gone."""
    return ApiError(410, "Expired", message)


def invalid_version(text: str) -> ApiError:
    """400 for a resourceVersion that is no number."""
    return bad_request(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax')


def bad_version_cause() -> Json:
    """The cause for a PUT of a custom resource without a resourceVersion."""
    return cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
