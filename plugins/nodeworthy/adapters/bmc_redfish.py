"""The BMC port over Redfish: the one door to sushy.

What sushy does by itself was measured and is overridden here: a dead BMC would cost 27 s (10 retries), each request
would load the system's CA store (60 ms) unless a minimum TLS version is set, a refused session login would be tried
again as Basic (a step nearer to lock-out), and an action would be posted up to three times after a time-out. So:
one attempt per request, TLS 1.2 against the BMC's own CA, session login only, actions through the raw connector
exactly once on a connection of their own, sessions deleted whatever happens. sushy's task monitor takes a running
task for a finished one on conformant BMCs: `bmc_redfish_updates` reads tasks itself.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sushy.connector
import sushy.exceptions

from nodeworthy.adapters.bmc_redfish_errors import Phase, translate
from nodeworthy.adapters.bmc_redfish_guard import GuardReader
from nodeworthy.adapters.bmc_redfish_health import HealthReader
from nodeworthy.adapters.bmc_redfish_integrity import IntegrityReader
from nodeworthy.adapters.bmc_redfish_inventory import read_firmware, read_inventory
from nodeworthy.adapters.bmc_redfish_log import LogReader
from nodeworthy.adapters.bmc_redfish_soft import SoftReader
from nodeworthy.adapters.bmc_redfish_state import read_state, reset_target
from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, identity, link, part, text
from nodeworthy.adapters.bmc_redfish_updates import list_updates, read_update, task_of, update_target
from nodeworthy.errors import Permanent
from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_health import Health, Leaks
from nodeworthy.evidence.bmc_log import EventLog, LogRules
from nodeworthy.evidence.inventory import FirmwareItem, Inventory
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.ports import Clock, SystemState, UpdateState
from nodeworthy.qualification.bmc_health import HealthRules
from nodeworthy.qualification.bmc_security import SecurityRules
from nodeworthy.qualification.sku import BmcProfile, Sku

CONNECT_TIMEOUT_SECONDS = 5
ASK_AGAIN = {401, 503}
"""Answers that say nothing of the resource: the session ended, or the BMC is busy or restarting."""
EFFECT_HEADER = "X-Nodeworthy-Effect"
QUIRK_NO_EXPAND = "expand-drops-fields"
QUIRK_NO_KEEP_ALIVE = "no-keep-alive"
QUIRK_NO_OVERRIDE_MODE = "boot-mode-absent"


class RedfishDirectory:
    """Opens one session per BMC. `credentials` gives (user, password): neither is kept, logged or put in a message."""

    def __init__(self, credentials: Callable[[], tuple[str, str]], clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock

    @contextmanager
    def open(self, node: FleetNode, sku: Sku) -> Iterator[RedfishBmc]:
        """Log in; the session is deleted on the way out. Transient when silent, Permanent when the login is refused."""
        door = _Door(node, sku.bmc)
        try:
            door.log_in(*self._credentials())
            yield RedfishBmc(door, node, sku.bmc, self._clock)
        finally:
            door.close()


class _Door:
    """Every request to one BMC passes here; sushy's errors end here."""

    def __init__(self, node: FleetNode, profile: BmcProfile) -> None:
        self._node = node
        self._connector = sushy.connector.Connector(
            node.bmc.address,
            verify=node.bmc.ca_file or True,
            server_side_retries=1,
            server_side_retries_delay=1,
            default_request_timeout=profile.read_timeout.total_seconds(),
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            tls_min_version="1.2",
        )
        # Neither a proxy nor a ~/.netrc of the worker's environment may stand between us and a BMC or log in to it.
        self._connector._session.trust_env = False
        # sushy closes each connection for the sake of BMCs that choke on long ones: here that is a profile's quirk.
        if QUIRK_NO_KEEP_ALIVE not in profile.quirks:
            self._connector._session.headers["Connection"] = "keep-alive"
        self._session = ""
        self.root: Resource = {}
        self.certificate_ends: datetime | None = None
        self._connector._session.hooks["response"].append(self._note_certificate)

    def _note_certificate(self, response: Any, **_: Any) -> None:
        """Note when the certificate of the connection that answered ends; called before its body is read."""
        connection = getattr(response.raw, "connection", None)
        ask: Callable[[], Any] = getattr(getattr(connection, "sock", None), "getpeercert", dict)
        certificate = ask()
        if self.certificate_ends is None and certificate and "notAfter" in certificate:
            self.certificate_ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)

    def log_in(self, user: str, password: str) -> None:
        """Create the one session. Not by sushy's classes: they refuse a root without a name, and fall back to Basic."""
        sessions = self._sessions()
        try:
            response = self._connector.post(
                sessions,
                data={"UserName": user, "Password": password},
                allow_reauth=False,
                server_side_retries_left=0,
            )
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.LOGIN, "logging in") from error
        if "PasswordChangeRequired" in str(_body(response).get("@Message.ExtendedInfo", "")):
            self._session = response.headers.get("Location", "")
            raise Permanent(
                f"The BMC of {self._node.name} ({self._node.bmc.address}) lets the user of connection nodeworthy_bmc "
                "only change its password: it is still the factory's; set another and put it into the connection."
            )
        token = response.headers.get("X-Auth-Token")
        if not token:
            raise Permanent(
                f"Logging in on the BMC of {self._node.name} ({self._node.bmc.address}) gave no session token: enable "
                "session logins in the BMC's settings."
            )
        self._session = response.headers.get("Location") or identity(_body(response))
        self._connector.set_http_session_auth(token)

    def _sessions(self) -> str:
        """Read the service root and return where sessions are made."""
        where = f"{self._node.bmc.address}{self._node.bmc.root} of {self._node.name}"
        root = self.get(self._node.bmc.root)
        if root is None:
            raise Permanent(f"{where} answers 404: correct the BMC address or root in the manifest.")
        self.root = root
        service = link(root, "SessionService")
        sessions = link(root, "Links", "Sessions") or (link(self.get(service), "Sessions") if service else "")
        if not sessions:
            raise Permanent(f"{where} shows no session service: reset the BMC, or enable sessions in its settings.")
        return sessions

    def close(self) -> None:
        """Delete the session; a BMC that is gone by now ends it by its own time-out."""
        if self._session:
            with suppress(sushy.exceptions.SushyError):
                self._connector.delete(self._session)
            self._session = ""
        self._connector.close()

    def get(self, path: str) -> Resource | None:
        """Read one resource; None for 404."""
        status, body, _ = self.read(path)
        return None if status == 404 else body

    def read(self, path: str) -> tuple[int, Resource, Mapping[str, str]]:
        """Read with status and headers, for resources whose absence or progress is an answer of its own."""
        try:
            response = self._connector.get(path)
        except sushy.exceptions.ResourceNotFoundError:
            return 404, {}, {}
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.READ, f"reading {path}") from error
        return response.status_code, _body(response), response.headers

    def ask(self, path: str) -> tuple[int, Resource]:
        """Read what a BMC may well not serve: status and body. Raises when it is silent, busy, or ended the session."""
        try:
            response = self._connector.get(path)
        except sushy.exceptions.HTTPError as error:
            if error.status_code in ASK_AGAIN:
                raise translate(error, self._node, Phase.READ, f"reading {path}") from error
            return error.status_code, {}
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.READ, f"reading {path}") from error
        return response.status_code, _body(response)

    def patch(self, path: str, document: Mapping[str, Any], *, effect_id: str) -> None:
        """Change a resource; sushy walks through the ETag forms that BMCs refuse."""
        _, body, headers = self.read(path)
        etag = headers.get("ETag") or text(body, "@odata.etag")
        try:
            self._connector.patch(path, data=document, headers={EFFECT_HEADER: effect_id}, etag=etag or None)
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.READ, f"changing {path}") from error

    def query(self, path: str, document: Mapping[str, Any]) -> tuple[int, Resource, Mapping[str, str]]:
        """Post an action that only reads: status, body, headers. Raises as `ask` does."""
        try:
            response = self._connector.post(path, data=document, allow_reauth=False, server_side_retries_left=0)
        except sushy.exceptions.HTTPError as error:
            if error.status_code in ASK_AGAIN:
                raise translate(error, self._node, Phase.READ, f"asking {path}") from error
            return error.status_code, {"error": {"message": str(error.detail or "")}}, {}
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.READ, f"asking {path}") from error
        return response.status_code, _body(response), response.headers

    def act(self, path: str, document: Mapping[str, Any], *, effect_id: str) -> tuple[Resource, Mapping[str, str]]:
        """Post an action exactly once. OutcomeUnknown when the answer did not come.

        The pool is emptied first: on a kept connection that the BMC has just closed, a lost request and a lost answer
        look the same. No ETag is sent: BMCs refuse it on actions.
        """
        self._connector.close()
        try:
            response = self._connector.post(
                path, data=document, headers={EFFECT_HEADER: effect_id}, allow_reauth=False, server_side_retries_left=0
            )
        except sushy.exceptions.SushyError as error:
            raise translate(error, self._node, Phase.ACTION, f"sending {path.rsplit('/', 1)[-1]}") from error
        return _body(response), response.headers


class RedfishBmc:
    """One logged-in BMC, on the system that the SKU pins by id; never on "the first" or "the only" one."""

    def __init__(self, door: _Door, node: FleetNode, profile: BmcProfile, clock: Clock) -> None:
        self._door = door
        self._node = node
        self._profile = profile
        self._clock = clock
        self._paths: dict[str, str] = {}
        self._known: Tree | None = None
        self._begun: Tree | None = None
        """What `leaks` read a moment ago, for the inventory that follows."""
        self._soft = SoftReader(door.ask, expands=self._expands())

    def leaks(self, rules: HealthRules) -> Leaks:
        """Read the leak detectors of the chassis that hold the host; it may be without power."""
        tree = self._begun = self._tree()
        self._soft = SoftReader(self._door.ask, expands=self._expands())
        return HealthReader(tree, self._soft, rules, self._door.root).leaks(self._system(tree))

    def inventory(self) -> Inventory:
        """Read components, firmware and neighbours. Permanent when the pinned system is not there."""
        tree = self._known = self._begun or self._tree()
        self._begun = None
        systems = self._systems(tree)
        inventory = read_inventory(tree, self._door.root, systems[0], systems[1] if len(systems) > 1 else None)
        return replace(inventory, raw={**inventory.raw, "read_at": self._clock.now().isoformat()})

    def health(self, rules: HealthRules) -> Health:
        """Read fans, power supplies and temperatures; what was read for the inventory is not read again."""
        tree = self._known or self._tree()
        return HealthReader(tree, self._soft, rules, self._door.root).health(self._system(tree))

    def guard(self, rules: SecurityRules, *, secure_boot: bool) -> BmcGuard:
        """Read how well the BMC is guarded; what was read before is not read again."""
        host = self._system(self._known or self._tree())
        reader = GuardReader(self._soft, self._clock, rules.asks)
        return reader.read(self._door.root, host, self._door.certificate_ends, secure_boot)

    def event_log(self, rules: LogRules) -> EventLog:
        """Read the logs of host, baseboard, their chassis and managers; what the inventory read is not read again."""
        tree = self._known or self._tree()
        skips = part(self._door.root, "ProtocolFeaturesSupported", "TopSkipQuery") is True
        return LogReader(tree, self._soft.ask, rules, self._expands(), skips).read(self._systems(tree))

    def sign_measurements(self, nonces: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Ask components, by id, to sign their nonces. Permanent when one could not be asked."""
        return self._integrity().begin(self._door.root, nonces)

    def signed_measurements(self, tasks: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Read the answers that were not there yet, by component and task."""
        return self._integrity().finish(self._door.root, tasks)

    def _integrity(self) -> IntegrityReader:
        return IntegrityReader(self._soft, self._door.ask, self._door.query, self._node.name)

    def firmware(self) -> tuple[FirmwareItem, ...]:
        """Read the firmware inventory."""
        return read_firmware(self._tree(), self._door.root)

    def state(self) -> SystemState:
        """Read power, boot progress, last reset and boot override."""
        return read_state(self._system(self._tree()))

    def set_boot(self, image_uri: str, *, effect_id: str) -> None:
        """Boot `image_uri` over HTTP at the next start, once. Idempotent."""
        system = self._system(self._tree())
        targets = part(system, "Boot", "BootSourceOverrideTarget@Redfish.AllowableValues")
        if isinstance(targets, list) and "UefiHttp" not in targets:
            raise Permanent(
                f"Setting the boot source of {self._node.name} to HTTP was not tried: its BMC allows only "
                f"{', '.join(map(str, targets))}; update the BMC or serve the image by PXE."
            )
        boot = {
            "BootSourceOverrideTarget": "UefiHttp",
            "BootSourceOverrideEnabled": "Once",
            "HttpBootUri": image_uri,
        }
        if QUIRK_NO_OVERRIDE_MODE not in self._profile.quirks:
            boot["BootSourceOverrideMode"] = "UEFI"
        self._door.patch(identity(system), {"Boot": boot}, effect_id=effect_id)

    def reset(self, kind: str, *, effect_id: str) -> None:
        """Send one reset of a ResetType that the BMC lists. OutcomeUnknown when its answer did not come."""
        tree = self._tree()
        target = reset_target(tree, self._system(tree), self._node.name, kind)
        self._door.act(target, {"ResetType": kind}, effect_id=effect_id)

    def start_update(self, item: FirmwareItem, image_uri: str, *, effect_id: str) -> str:
        """Send one SimpleUpdate for this item and return its task's URI ("" when the BMC names none)."""
        target = update_target(self._tree(), self._door.root, self._node.name)
        protocol = image_uri.split(":", 1)[0].upper()
        document = {"ImageURI": image_uri, "TransferProtocol": protocol, "Targets": [item.uri]}
        return task_of(*self._door.act(target, document, effect_id=effect_id))

    def update_state(self, task: str) -> UpdateState:
        """Read one update task; one that vanished is no longer running and left its outcome to the version."""
        return read_update(task, *self._door.read(task)[:2]) if task else read_update(task, 404, {})

    def updates(self) -> tuple[UpdateState, ...]:
        """Read all tasks that the BMC still knows."""
        return list_updates(self._tree(), self._door.root)

    def _tree(self) -> Tree:
        return Tree(self._door.get, expand=self._expands())

    def _expands(self) -> bool:
        announced = part(self._door.root, "ProtocolFeaturesSupported", "ExpandQuery", "Levels") is True
        return announced and QUIRK_NO_EXPAND not in self._profile.quirks

    def _systems(self, tree: Tree) -> list[Resource]:
        """Read the pinned system and the baseboard's, where the profile names one; without it there is a lack."""
        host = self._system(tree)
        if not self._profile.baseboard_id:
            return [host]
        baseboard = tree.get(self._paths[self._profile.baseboard_id]) if self._has_baseboard() else None
        if baseboard is None:
            tree.lacks.append(f"system {self._profile.baseboard_id} (not listed)")
            return [host]
        return [host, baseboard]

    def _system(self, tree: Tree) -> Resource:
        """Read the pinned system, and only that: its neighbours may be off or not its own."""
        if not self._paths:
            collection = tree.follow(self._door.root, "Systems")
            links = [identity(member) for member in part(collection, "Members") or ()]
            self._paths = {path.rstrip("/").rsplit("/", 1)[-1]: path for path in links if path}
        path = self._paths.get(self._profile.system_id)
        system = tree.get(path) if path else None
        if system is None:
            seen = ", ".join(sorted(self._paths)) or "none at all"
            raise Permanent(
                f"System {self._profile.system_id} of {self._node.name} was looked for and its BMC lists {seen}: check "
                f"the BMC address in the manifest, or the system id that SKU {self._node.sku} pins."
            )
        return system

    def _has_baseboard(self) -> bool:
        return self._profile.baseboard_id in self._paths


def _body(response: Any) -> Resource:
    """Return the JSON body; empty where there is none or it is no object (204, HTML of a rebooting BMC)."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
