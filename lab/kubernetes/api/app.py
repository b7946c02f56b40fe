"""The ASGI application: authentication, routing, errors and streaming."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected

from lab.kubernetes import errors
from lab.kubernetes.api import pods, reading, reviews, streams, watching, writing
from lab.kubernetes.api.auth import Gate
from lab.kubernetes.api.discovery import discover
from lab.kubernetes.api.request import Request, Response, Target, answer, find_target, make_request
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import ApiError, PlainError

log = logging.getLogger(__name__)
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class App:
    """One API server."""

    def __init__(self, cluster: Cluster, gate: Gate) -> None:
        self.cluster = cluster
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = make_request(scope)
        request.raw = await _read_body(receive)
        response = await self._respond(request)
        for text in request.warnings:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            response.headers.setdefault("Warning", f'299 - "{escaped}"')
        await _send(response, receive, send)

    async def _respond(self, request: Request) -> Response:
        try:
            return await self._route(request)
        except ApiError as error:
            return answer(error.status(), error.code) if not error.headers else _with_headers(error)
        except PlainError as error:
            return Response(error.code, str(error).encode(), "text/plain; charset=utf-8")
        except Exception:
            # The last line of defence of a server: the client gets a 500 and the lab's log gets the stack.
            log.exception("The lab's API failed on %s %s", request.method, request.path)
            return answer(ApiError(500, "InternalError", "Internal error occurred: see the lab's log").status(), 500)

    async def _route(self, request: Request) -> Response:
        request.user = self.gate.identify(request)
        target = find_target(self.cluster.catalogue, request.path)
        if target is None:
            return self._without_target(request)
        verb = verb_of(request, target)
        self.gate.require(request.user, verb, target)
        if target.subresource in _SUBRESOURCES:
            return _SUBRESOURCES[target.subresource](self, request, target)
        if target.resource.verbs == ("create",):
            if verb != "create":
                raise _method_not_allowed()
            return reviews.review(self.cluster, self.gate, request, target)
        return await self._resource(request, target, verb)

    def _without_target(self, request: Request) -> Response:
        self.gate.require_path(request.user, request.path)
        if request.path.count("/") > 3 and request.path.startswith(("/api/", "/apis/")):
            # A known group with an unknown resource is as unknown as an unknown group.
            raise PlainError(404, "404 page not found\n")
        if request.method not in ("GET", "HEAD"):
            raise _method_not_allowed()
        return discover(self.cluster.catalogue, request)

    async def _resource(self, request: Request, target: Target, verb: str) -> Response:
        if verb == "watch":
            return await watching.watch_objects(self.cluster, request, target)
        if verb == "list":
            return await reading.list_objects(self.cluster, request, target)
        if verb == "get":
            return reading.get_object(self.cluster, request, target)
        handler = {
            "create": writing.create,
            "update": writing.update,
            "patch": writing.patch,
            "delete": writing.delete,
            "deletecollection": writing.delete_collection,
        }[verb]
        return handler(self.cluster, request, target)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = make_request(scope)
        try:
            request.user = self.gate.identify(request)
            target = find_target(self.cluster.catalogue, request.path)
            if target is None or target.subresource != "exec":
                raise ApiError(404, "NotFound", "the server could not find the requested resource", {})
            self.gate.require(request.user, "create", target)
            session = streams.open_session(self.cluster, request, target, scope.get("subprotocols") or [])
        except ApiError as error:
            await _refuse_websocket(error, receive, send)
            return
        await session.run(receive, send)


def verb_of(request: Request, target: Target) -> str:
    """The RBAC verb; 405 where the method does not fit."""
    single = bool(target.name)
    if request.method in ("GET", "HEAD"):
        if single and not request.flag("watch"):
            return "get"
        return "watch" if "watch" in request.query and request.flag("watch") else "list"
    table = {("POST", False): "create", ("PUT", True): "update", ("PATCH", True): "patch"}
    table |= {("DELETE", True): "delete", ("DELETE", False): "deletecollection"}
    if target.subresource in _SUBRESOURCES:
        table = {("POST", True): "create"}
    elif target.subresource:
        table = {("PUT", True): "update", ("PATCH", True): "patch"}
    verb = table.get((request.method, single))
    if verb is None:
        raise _method_not_allowed()
    return verb


def _method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def _exec_without_upgrade(app: App, request: Request, target: Target) -> Response:
    streams.check_pod(app.cluster, request, target)
    raise errors.bad_request("Upgrade request required")


def _log(app: App, request: Request, target: Target) -> Response:
    if request.method != "GET":
        raise _method_not_allowed()
    return pods.log(app.cluster, request, target)


_SUBRESOURCES: dict[str, Callable[[App, Request, Target], Response]] = {
    "log": _log,
    "exec": _exec_without_upgrade,
    "eviction": lambda app, request, target: pods.evict(app.cluster, request, target),
    "binding": lambda app, request, target: pods.bind(app.cluster, request, target),
    "token": lambda app, request, target: pods.token(app.cluster, app.gate, request, target),
}


def _with_headers(error: ApiError) -> Response:
    response = answer(error.status(), error.code)
    response.headers.update(error.headers)
    return response


async def _read_body(receive: Receive) -> bytes:
    chunks = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(chunks)


async def _send(response: Response, receive: Receive, send: Send) -> None:
    headers = {"content-type": response.content_type, "cache-control": "no-cache, private", **response.headers}
    if response.stream is None:
        headers["content-length"] = str(len(response.body))
    raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    if response.stream is None:
        await send({"type": "http.response.body", "body": response.body})
        return
    await _send_stream(response, receive, send)


async def _send_stream(response: Response, receive: Receive, send: Send) -> None:
    """Send chunks until the stream ends or the client goes."""
    assert response.stream is not None
    stream = response.stream

    async def pump() -> None:
        async for chunk in stream:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    # An empty chunk makes the server send the headers now: a client waits for them before it reads a quiet watch.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    sending = asyncio.ensure_future(pump())
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, gone):
            if not task.done():
                task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)
        await stream.aclose()  # type: ignore[attr-defined]


async def _refuse_websocket(error: ApiError, receive: Receive, send: Send) -> None:
    await receive()
    response = answer(error.status(), error.code)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(response.body)).encode())]
    await send({"type": "websocket.http.response.start", "status": error.code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": response.body})
    # uvicorn logs an error when an application returns without a handshake; to it, a refused client is a gone client.
    raise ClientDisconnected
