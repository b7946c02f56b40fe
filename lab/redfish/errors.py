"""Redfish errors: every refusal is a body with @Message.ExtendedInfo from the Base registry (DSP0266, DSP8011)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REGISTRY = "Base.1.18"


class RedfishError(Exception):
    """A refusal with an HTTP status and one message; `key` is the message's name in the Base registry."""

    def __init__(
        self,
        status: int,
        key: str,
        text: str,
        *,
        arguments: tuple[str, ...] = (),
        resolution: str = "None.",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.key = key
        self.text = text
        self.arguments = arguments
        self.resolution = resolution
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The error object."""
        message = {
            "@odata.type": "#Message.v1_2_0.Message",
            "MessageId": f"{REGISTRY}.{self.key}",
            "Message": self.text,
            "MessageArgs": list(self.arguments),
            "MessageSeverity": "Critical" if self.status >= 500 else "Warning",
            "Resolution": self.resolution,
        }
        code = f"{REGISTRY}.{self.key}"
        return {"error": {"code": code, "message": self.text, "@Message.ExtendedInfo": [message]}}


def not_found(path: str) -> RedfishError:
    """404: there is no such resource."""
    return RedfishError(
        404,
        "ResourceMissingAtURI",
        f"The resource at the URI '{path}' was not found.",
        arguments=(path,),
        resolution="Place a valid resource at the URI or correct the URI and resubmit the request.",
    )


def not_allowed(method: str, allowed: str) -> RedfishError:
    """405: the resource knows no such method."""
    text = f"The HTTP method {method} is not allowed on this resource."
    return RedfishError(405, "OperationNotAllowed", text, headers={"Allow": allowed})


def unavailable(text: str, retry_after_seconds: int) -> RedfishError:
    """503 with Retry-After."""
    return RedfishError(
        503,
        "ServiceTemporarilyUnavailable",
        text,
        arguments=(str(retry_after_seconds),),
        resolution="Wait for the indicated retry duration and retry the operation.",
        headers={"Retry-After": str(retry_after_seconds)},
    )


def bad_value(parameter: str, value: object, known: object = None) -> RedfishError:
    """400: a property or parameter has a value that is not allowed."""
    text = f"The value '{value}' for the property {parameter} is not in the list of acceptable values."
    if known:
        text += f" Acceptable are: {', '.join(map(str, known if isinstance(known, (list, tuple)) else [known]))}."
    return RedfishError(400, "PropertyValueNotInList", text, arguments=(str(value), parameter))


def unknown_property(name: str) -> RedfishError:
    """400: the property is not known or cannot be written."""
    text = f"The property {name} is not in the list of valid properties for the resource."
    return RedfishError(400, "PropertyUnknown", text, arguments=(name,))


def missing(name: str) -> RedfishError:
    """400: a required parameter is absent."""
    text = f"The property {name} is a required property and must be included in the request."
    return RedfishError(400, "PropertyMissing", text, arguments=(name,))


def in_use(text: str) -> RedfishError:
    """409: something else is going on."""
    return RedfishError(409, "ResourceInUse", text, resolution="Wait until the other operation is done and retry.")
