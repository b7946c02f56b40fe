"""Reads how well a BMC is guarded, softly and in few requests; a check that is off costs none.

No login is tried with passwords of a factory: a wrong one is a step to lock-out. An account says by itself whether its
password must be changed (DSP0266, "Password change required handling"; ManagerAccount 1.3 PasswordChangeRequired).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from nodeworthy.adapters.bmc_redfish_soft import SoftReader
from nodeworthy.adapters.bmc_redfish_state import moment
from nodeworthy.adapters.bmc_redfish_tree import Resource, identity, link, part, rows, text
from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.ports import Clock

MOST = {"most_single_reads": 16, "most_pages": 2}
"""Accounts, media and interfaces of one BMC: no more are read."""


@dataclass(slots=True)
class GuardReader:
    """One reading of one BMC; `asks` tells which checks are made."""

    soft: SoftReader
    clock: Clock
    asks: Callable[[str], bool]
    gaps: list[tuple[str, str]] = field(default_factory=list)

    def read(self, root: Resource, host: Resource, certificate_ends: datetime | None, secure_boot: bool) -> BmcGuard:
        """Read all that is asked for; `secure_boot` is whether the SKU demands it."""
        managers = [self._one("clock", identity(one)) for one in rows(host, "Links", "ManagedBy")]
        manager = next(iter(managers), {})
        once, always = self._override(host)
        return BmcGuard(
            accounts=tuple(self._accounts(root)) if self.asks("default_password") else (),
            clock_ahead_seconds=self._ahead(manager) if self.asks("clock") else None,
            certificate_ends=certificate_ends,
            media=tuple(self._media(host, manager)) if self.asks("virtual_media") else (),
            bootstrapping=tuple(self._bootstrapping(manager)) if self.asks("host_interface") else (),
            boot_override=always,
            boot_once=once,
            secure_boot=self._secure_boot(host) if secure_boot and self.asks("secure_boot") else "",
            gaps=tuple(self.gaps),
        )

    def _one(self, check: str, path: str) -> Resource:
        gaps: list[str] = []
        found = self.soft.resource(path, gaps)
        self.gaps += [(check, gap) for gap in gaps]
        return found

    def _all(self, check: str, path: str) -> list[Resource]:
        gaps: list[str] = []
        found = self.soft.members(path, gaps, **MOST)
        self.gaps += [(check, gap) for gap in gaps]
        return found

    def _accounts(self, root: Resource) -> Iterator[str]:
        service = self._one("default_password", link(root, "AccountService"))
        for account in self._all("default_password", link(service, "Accounts")):
            if part(account, "Enabled") is not False and part(account, "PasswordChangeRequired") is True:
                yield text(account, "UserName") or text(account, "Id") or identity(account)

    def _ahead(self, manager: Resource) -> float | None:
        """Return the BMC's clock less ours; a time without zone is of the zone that the BMC names."""
        local, offset = text(manager, "DateTime"), text(manager, "DateTimeLocalOffset")
        zoned = {"at": local if moment({"at": local}, "at") or not offset else local + offset}
        at = moment(zoned, "at")
        if at is None:
            self.gaps.append(("clock", f"the BMC's clock reads {local or 'nothing'}, which is no time"))
            return None
        return (at - self.clock.now().astimezone(UTC)).total_seconds()

    def _media(self, host: Resource, manager: Resource) -> Iterator[str]:
        for path in dict.fromkeys(filter(None, (link(host, "VirtualMedia"), link(manager, "VirtualMedia")))):
            for medium in self._all("virtual_media", path):
                if part(medium, "Inserted") is True:
                    yield " ".join(
                        filter(None, (text(medium, "Id"), text(medium, "Image") or text(medium, "ImageName")))
                    )

    def _bootstrapping(self, manager: Resource) -> Iterator[str]:
        for interface in self._all("host_interface", link(manager, "HostInterfaces")):
            enabled = part(interface, "InterfaceEnabled") is not False
            if enabled and part(interface, "CredentialBootstrapping", "Enabled") is True:
                yield text(interface, "Id") or identity(interface)

    def _override(self, host: Resource) -> tuple[str, str]:
        """Return the source that the next start takes, and the one that every start takes."""
        enabled, target = (
            text(host, "Boot", "BootSourceOverrideEnabled"),
            text(host, "Boot", "BootSourceOverrideTarget"),
        )
        return (target if enabled == "Once" else ""), (target if enabled == "Continuous" else "")

    def _secure_boot(self, host: Resource) -> str:
        shown = self._one("secure_boot", link(host, "SecureBoot"))
        return text(shown, "SecureBootCurrentBoot")
