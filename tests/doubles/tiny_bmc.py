"""A BMC of a few resources over plain HTTP, with a story: what it answers, and how it fails.

It exists to see what reaches the wire: how many requests, which headers, whether the session is closed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ROOT = "/redfish/v1/"
SYSTEM = "/redfish/v1/Systems/DGX"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"
SESSIONS = "/redfish/v1/SessionService/Sessions"
UPDATE = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"


def resources() -> dict[str, Any]:
    """The tree: a root, a baseboard that is listed first, the host, an update service with one item."""
    links = {
        name: {"@odata.id": f"/redfish/v1/{name}"}
        for name in ("Systems", "UpdateService", "SessionService", "Chassis", "Tasks")
    }
    return {
        "/redfish/v1": {"@odata.id": ROOT, "RedfishVersion": "1.15.0", **links},
        "/redfish/v1/SessionService": {
            "@odata.id": "/redfish/v1/SessionService",
            "Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"},
        },
        "/redfish/v1/Systems": {
            "Members": [{"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0"}, {"@odata.id": SYSTEM}]
        },
        "/redfish/v1/Systems/HGX_Baseboard_0": {
            "@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0",
            "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
            "Id": "HGX_Baseboard_0",
        },
        SYSTEM: {
            "@odata.id": SYSTEM,
            "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
            "Id": "DGX",
            "SerialNumber": " 123 ",
            "PowerState": "On",
            "LastResetTime": "2026-11-30T12:00:00+01:00",
            "Boot": {"BootSourceOverrideEnabled": "Disabled"},
            "Actions": {
                "#ComputerSystem.Reset": {
                    "target": RESET,
                    "ResetType@Redfish.AllowableValues": ["On", "ForceRestart"],
                }
            },
        },
        **_update_service(),
    }


def _update_service() -> dict[str, Any]:
    """One firmware item, and no task yet."""
    return {
        "/redfish/v1/UpdateService": {
            "@odata.id": "/redfish/v1/UpdateService",
            "FirmwareInventory": {"@odata.id": "/redfish/v1/UpdateService/FirmwareInventory"},
            "Actions": {"#UpdateService.SimpleUpdate": {"target": UPDATE}},
        },
        "/redfish/v1/UpdateService/FirmwareInventory": {
            "Members": [{"@odata.id": "/redfish/v1/UpdateService/FirmwareInventory/BIOS"}]
        },
        "/redfish/v1/UpdateService/FirmwareInventory/BIOS": {
            "@odata.id": "/redfish/v1/UpdateService/FirmwareInventory/BIOS",
            "@odata.type": "#SoftwareInventory.v1_10_0.SoftwareInventory",
            "Id": "BIOS",
            "Version": "1.0",
            "Updateable": True,
        },
        "/redfish/v1/Tasks": {"@odata.id": "/redfish/v1/Tasks", "Tasks": {"@odata.id": "/redfish/v1/Tasks/Tasks"}},
        "/redfish/v1/Tasks/Tasks": {"Members": []},
    }


@dataclass
class TinyBmc:
    """What it holds and what came in. `fails` maps method and path to a status, or to "hang" or "cut"."""

    resources: dict[str, Any] = field(default_factory=resources)
    fails: dict[tuple[str, str], int | str] = field(default_factory=dict)
    requests: list[tuple[str, str, Mapping[str, str], Any]] = field(default_factory=list)
    open_sessions: int = 0
    login_answer: dict[str, Any] = field(default_factory=dict)
    address: str = ""

    def count(self, method: str, path: str) -> int:
        """Return how often a request came in."""
        return sum((seen, at) == (method, path) for seen, at, _, _ in self.requests)


@contextmanager
def tiny_bmc() -> Iterator[TinyBmc]:
    """Serve a tiny BMC on a free port until the block ends."""
    bmc = TinyBmc()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(bmc))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    bmc.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield bmc
    finally:
        server.shutdown()
        server.server_close()


def _handler(bmc: TinyBmc) -> type[_Handler]:
    return type("Handler", (_Handler,), {"bmc": bmc})


class _Handler(BaseHTTPRequestHandler):
    """Answers from the tree, or as the story says."""

    protocol_version = "HTTP/1.1"
    bmc: TinyBmc

    def log_message(self, *args: object) -> None:
        """Keep quiet."""

    def _handle(self) -> None:
        path = self.path.split("?")[0].rstrip("/")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(content) if content else {}
        self.bmc.requests.append((self.command, path, dict(self.headers), body))
        failure = self.bmc.fails.get((self.command, path))
        if failure is None:
            self._answer(*self._normal(path, body))
        elif isinstance(failure, int):
            self._answer(failure, {"error": {"message": "the story says so"}})
        else:
            time.sleep(1.5 if failure == "hang" else 0)
            self.close_connection = True

    def _normal(self, path: str, body: Any) -> tuple[int, Any, Mapping[str, str]]:
        if self.command == "GET":
            found = self.bmc.resources.get(path)
            missing = {"error": {"message": "no such thing"}}
            return (200, found, {"ETag": '"abc"'}) if found is not None else (404, missing, {})
        if path == SESSIONS:
            return self._log_in(body)
        if path == UPDATE:
            return 202, {"@odata.id": "/wrong"}, {"Location": "/redfish/v1/Tasks/Tasks/1"}
        if self.command == "DELETE":
            self.bmc.open_sessions -= 1
        if self.command == "PATCH":
            self.bmc.resources[path]["Boot"].update(body.get("Boot", {}))
        return 204, None, {}

    def _log_in(self, body: Any) -> tuple[int, Any, Mapping[str, str]]:
        if body["Password"] != "right":
            return 401, {"error": {"message": "wrong"}}, {}
        self.bmc.open_sessions += 1
        return 201, self.bmc.login_answer, {"X-Auth-Token": "t", "Location": f"{SESSIONS}/1"}

    def _answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle
