"""The state of one BMC beyond the ground truth: sessions, the login guard, tasks, and whether it is restarting.

Made when a BMC is first asked, so that a thousand idle ones cost nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lab.redfish import errors
from lab.truth import data

if TYPE_CHECKING:
    from lab.redfish.tasks import Task
    from lab.truth.node import LabNode
    from lab.truth.world import World


def quirk_row(name: str) -> Mapping[str, Any]:
    """The data row of a quirk."""
    row: Mapping[str, Any] = next(row for row in data.load("quirks.yaml")["quirks"] if row["name"] == name)
    return row


@dataclass(slots=True)
class Session:
    """One login; `last_used` is on the clock of `Door`."""

    id: str
    token: str
    user: str
    last_used: float


@dataclass(slots=True)
class Bmc:
    """One BMC. `down_until` is set while it restarts; `was_reset` heals what only a BMC reset heals."""

    sessions: dict[str, Session] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong_logins: int = 0
    locked_until: datetime | None = None
    down_until: datetime | None = None
    was_reset: bool = False
    inventory_readers: int = 0
    numbers: int = 0

    def next_number(self) -> str:
        """A new id for a session, task or subscription."""
        self.numbers += 1
        return str(self.numbers)

    def restart(self, world: World, node: LabNode) -> None:
        """Go away for the platform's restart time; every session is lost."""
        self.sessions.clear()
        self.was_reset = True
        self.down_until = world.clock.now() + timedelta(seconds=node.platform.boot.bmc_restart_seconds)
        world.faults.cure(node.name, "reset-bmc")

    def refuse_while_restarting(self, world: World) -> None:
        """503 with the real seconds that are left."""
        if self.down_until is None:
            return
        left = self.down_until - world.clock.now()
        if left <= timedelta(0):
            self.down_until = None
            return
        wait = max(1, min(60, int(world.clock.real_seconds(left)) if world.clock.speed else 60))
        raise errors.unavailable("The manager is restarting and its services are not ready.", wait)


class Door:
    """Who may come in: sessions with a limit, basic authentication, and a lock after wrong passwords."""

    def __init__(self, world: World, username: str, password: str) -> None:
        self._world = world
        self.username = username
        self._password = password

    def log_in(self, node: LabNode, bmc: Bmc, username: object, password: object) -> Session:
        """A new session; RedfishError 401 for wrong credentials or a locked account, 503 at the limit."""
        self.check_password(node, bmc, username, password)
        self._expire(node, bmc)
        limit = node.platform.account.session_limit
        if len(bmc.sessions) >= limit:
            text = "The session establishment failed due to the number of simultaneous sessions exceeding the limit."
            raise errors.RedfishError(
                503, "SessionLimitExceeded", text, resolution="Close other sessions or wait for them to time out."
            )
        session = Session(bmc.next_number(), secrets.token_hex(16), str(username), self._seconds())
        bmc.sessions[session.id] = session
        return session

    def check_password(self, node: LabNode, bmc: Bmc, username: object, password: object) -> None:
        """401 unless the credentials are right and the account is not locked; wrong ones are counted."""
        now = self._world.clock.now()
        if bmc.locked_until is not None and now < bmc.locked_until:
            raise _unauthorized("The account is locked because of too many failed logins.")
        refused = self._world.faults.fires(node.name, "bmc-login-refused") is not None
        right = secrets.compare_digest(f"{username}\0{password}", f"{self.username}\0{self._password}")
        if right and not refused:
            bmc.wrong_logins, bmc.locked_until = 0, None
            return
        bmc.wrong_logins += 1
        threshold, seconds = self._lock_rule(node)
        if bmc.wrong_logins >= threshold:
            bmc.wrong_logins = 0
            bmc.locked_until = now + timedelta(seconds=seconds)
        raise _unauthorized("The user name or the password is wrong.")

    def session_of(self, node: LabNode, bmc: Bmc, token: str) -> Session:
        """The session with this token; 401 if there is none or it has timed out."""
        self._expire(node, bmc)
        session = next((found for found in bmc.sessions.values() if secrets.compare_digest(found.token, token)), None)
        if session is None:
            raise _unauthorized("The session token is unknown or has timed out.")
        session.last_used = self._seconds()
        return session

    @staticmethod
    def _lock_rule(node: LabNode) -> tuple[int, float]:
        if "lockout-strict" in node.quirks:
            row = quirk_row("lockout-strict")
            return int(row["threshold"]), float(row["seconds"])
        return node.platform.account.lockout_threshold, node.platform.account.lockout_seconds

    def _seconds(self) -> float:
        """The time by which sessions grow old: real, since clients are as slow as ever; the lab's where it stands."""
        clock = self._world.clock
        return time.monotonic() if clock.speed else clock.now().timestamp()

    def _expire(self, node: LabNode, bmc: Bmc) -> None:
        if "sessions-leak" in node.quirks:
            return
        oldest = self._seconds() - node.platform.account.session_timeout_seconds
        for session in [found for found in bmc.sessions.values() if found.last_used < oldest]:
            del bmc.sessions[session.id]


def _unauthorized(text: str) -> errors.RedfishError:
    return errors.RedfishError(
        401,
        "ResourceAtUriUnauthorized",
        text,
        resolution="Ensure that the appropriate access is provided for the service in order for it to access the URI.",
        headers={"WWW-Authenticate": 'Basic realm="redfish"'},
    )
