"""The ASGI application of all BMCs: finds the node of a path, guards its door, and answers as its BMC would."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from lab.redfish import dispatch, errors, replay, resources
from lab.redfish.bmc import Bmc, Door
from lab.redfish.latency import Latency
from lab.redfish.routes import Answer, Context
from lab.truth.node import LabNode
from lab.truth.world import World

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_BODY_LIMIT = 64 * 1024 * 1024
_SERVICE = "redfish/v1"
_WRITES = ("POST", "PATCH", "PUT", "DELETE")
# What DSP0266 lets anyone read before a login.
_ANONYMOUS = {("GET", ""), ("GET", "odata"), ("GET", "$metadata"), ("POST", "SessionService/Sessions")}

resources.load()


class RedfishApp:
    """`/bmc/<node>/redfish/v1/...` for every node of the world."""

    def __init__(self, world: World, username: str, password: str, latency: Latency) -> None:
        self._world = world
        self._door = Door(world, username, password)
        self._latency = latency
        self._bmcs: dict[str, Bmc] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        parts = scope["path"].split("/", 3)
        node = self._world.nodes.get(parts[2]) if len(parts) == 4 and parts[1] == "bmc" else None
        if node is None:
            await _send(send, 404, errors.not_found(scope["path"]).body(), {}, "")
            return
        if self._world.faults.fires(node.name, "bmc-silent"):
            await _until_disconnect(receive)
            return
        prefix = f"/bmc/{node.name}"
        method = scope["method"]
        try:
            answer = await self._answer(node, method, "/" + parts[3], scope, receive)
        except errors.RedfishError as error:
            answer = Answer(error.status, error.body(), error.headers)
        await _send(send, answer.status, answer.body, answer.headers, prefix, head=method == "HEAD")

    async def _answer(self, node: LabNode, method: str, url: str, scope: Scope, receive: Receive) -> Answer:
        path = _below_root(url)
        slow = self._world.faults.fires(node.name, "bmc-slow")
        delay = self._latency.seconds(path or "") + (float(slow.parameters["seconds"]) if slow else 0.0)
        if delay:
            await asyncio.sleep(delay)
        if path is None:
            return _outside(url)
        bmc = self._bmcs.setdefault(node.name, Bmc())
        bmc.refuse_while_restarting(self._world)
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        if (method, path) not in _ANONYMOUS and not (method == "HEAD" and not path):
            self._authorize(node, bmc, headers)
        context = Context(self._world, node, bmc, self._door, path, headers=headers)
        if method in _WRITES:
            context.body = _parsed(await _read(receive), headers)
        if node.spec.replay and node.spec.replay.redfish and not path.startswith("SessionService"):
            return replay.answer(node.spec.replay.redfish, method, path)
        return await dispatch.answer(context, method, parse_qs(scope["query_string"].decode("latin-1")))

    def _authorize(self, node: LabNode, bmc: Bmc, headers: Mapping[str, str]) -> None:
        token = headers.get("x-auth-token")
        if token:
            self._door.session_of(node, bmc, token)
            return
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            raise errors.RedfishError(
                401,
                "NoValidSession",
                "There is no valid session established with the implementation.",
                resolution="Establish a session before attempting any operations.",
                headers={"WWW-Authenticate": 'Basic realm="redfish"'},
            )
        try:
            username, _, password = base64.b64decode(value).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            username = password = ""
        self._door.check_password(node, bmc, username, password)


def _below_root(url: str) -> str | None:
    """The path below the service root without slashes at its ends; None for what lies outside."""
    stripped = url.strip("/")
    if stripped == _SERVICE:
        return ""
    return stripped[len(_SERVICE) + 1 :] if stripped.startswith(_SERVICE + "/") else None


def _outside(url: str) -> Answer:
    if url.strip("/") == "redfish":
        return Answer(200, {"v1": "/redfish/v1/"})
    raise errors.not_found(url)


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if len(body) > _BODY_LIMIT:
            raise errors.RedfishError(413, "PayloadTooLarge", "The request body is too large.")
        if not message.get("more_body"):
            return body


def _parsed(body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    if not body.strip() or headers.get("content-type", "").startswith("multipart/"):
        return {"": body} if body else {}
    try:
        document = json.loads(body)
    except ValueError as error:
        text = "The request body submitted was malformed JSON and could not be parsed by the receiving service."
        raise errors.RedfishError(400, "MalformedJSON", text) from error
    if not isinstance(document, dict):
        raise errors.RedfishError(400, "UnrecognizedRequestBody", "The service detected a malformed request body.")
    return document


async def _send(
    send: Send, status: int, body: Any, headers: Mapping[str, str], prefix: str, *, head: bool = False
) -> None:
    """Write the answer; every reference in it and its Location move below the BMC's prefix."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    content = content.replace(b'"/redfish/v1', f'"{prefix}/redfish/v1'.encode())
    rows = [
        (b"content-length", str(len(content)).encode()),
        (b"odata-version", b"4.0"),
        (b"cache-control", b"no-cache"),
    ]
    if content:
        rows.append((b"content-type", b"application/json; charset=utf-8"))
    for key, value in headers.items():
        moved = prefix + value if key == "Location" else value
        rows.append((key.lower().encode(), moved.encode("latin-1")))
    if status == 204:
        rows = rows[1:]
    await send({"type": "http.response.start", "status": status, "headers": rows})
    await send({"type": "http.response.body", "body": b"" if head else content})
