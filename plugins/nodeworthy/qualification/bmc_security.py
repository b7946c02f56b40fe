"""Which of what a BMC says of its own safety refuses a node. Pure.

Each check has a stance: refuse, remark, or off, which also saves its requests. What could not be read is a remark, but
for Secure Boot of a SKU that demands it: there, unknown does not pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_log import LogRoom

REFUSE, OFF = "refuse", "off"
CHECKS: Final = (
    "default_password",
    "clock",
    "certificate",
    "log_space",
    "virtual_media",
    "host_interface",
    "boot_override",
    "secure_boot",
)


@dataclass(frozen=True, slots=True)
class SecurityRules:
    """The stance of each check and the three limits (`include/schemas/bmc-security-1.json`)."""

    stances: Mapping[str, str]
    clock_tolerance: timedelta
    certificate_left: timedelta
    log_percent: float

    def asks(self, check: str) -> bool:
        """Whether a check is made at all."""
        return self.stances[check] != OFF


@dataclass(frozen=True, slots=True)
class SecurityJudgement:
    """One phrase per thing that refuses the node, and one per remark."""

    refusals: tuple[str, ...]
    remarks: tuple[str, ...]


def security_rules_from_document(document: Mapping[str, object]) -> SecurityRules:
    """The rules of a checked document."""
    checks = document["checks"]
    assert isinstance(checks, Mapping)
    return SecurityRules(
        stances={name: str(checks[name]["stance"]) for name in CHECKS},
        clock_tolerance=timedelta(seconds=float(checks["clock"]["tolerance_seconds"])),
        certificate_left=timedelta(days=float(checks["certificate"]["days_left"])),
        log_percent=float(checks["log_space"]["percent"]),
    )


def judge_security(
    guard: BmcGuard, rooms: tuple[LogRoom, ...], rules: SecurityRules, secure_boot: bool, now: datetime
) -> SecurityJudgement:
    """Judge one reading; `secure_boot` is whether the SKU demands it."""
    found: Mapping[str, Iterable[str]] = {
        "default_password": _accounts(guard),
        "clock": _clock(guard, rules),
        "certificate": _certificate(guard, rules, now),
        "log_space": _log_space(rooms, rules),
        "virtual_media": (f"virtual medium {one} is inserted: eject it, the node could boot it" for one in guard.media),
        "host_interface": _host_interface(guard),
        "boot_override": _boot_override(guard),
        "secure_boot": _secure_boot(guard) if secure_boot else (),
    }
    refusals: list[str] = []
    remarks = [f"not checked: {gap}" for check, gap in guard.gaps if rules.asks(check)]
    for check in filter(rules.asks, CHECKS):
        (refusals if rules.stances[check] == REFUSE else remarks).extend(found[check])
    if guard.boot_once and rules.asks("boot_override"):
        remarks.append(f"the next start takes {guard.boot_once}: bring-up orders its own boot source")
    return SecurityJudgement(tuple(refusals), tuple(remarks))


def _accounts(guard: BmcGuard) -> Iterator[str]:
    for name in guard.accounts:
        yield f"the BMC's account {name} is enabled with a password that it demands to be changed: set another"


def _clock(guard: BmcGuard, rules: SecurityRules) -> Iterator[str]:
    ahead = guard.clock_ahead_seconds
    if ahead is not None and abs(ahead) > rules.clock_tolerance.total_seconds():
        side = "ahead of" if ahead > 0 else "behind"
        yield f"the BMC's clock is {abs(ahead):.0f} s {side} ours: set it, or give it a time server"


def _certificate(guard: BmcGuard, rules: SecurityRules, now: datetime) -> Iterator[str]:
    ends = guard.certificate_ends
    if ends is not None and ends - now < rules.certificate_left:
        yield f"the BMC's TLS certificate ends at {ends:%Y-%m-%d %H:%M} UTC: renew it before logins fail"


def _log_space(rooms: Iterable[LogRoom], rules: SecurityRules) -> Iterator[str]:
    for room in rooms:
        if room.fills_up and room.entries * 100 >= rules.log_percent * room.most:
            yield (
                f"the BMC's {room.log} holds {room.entries} of {room.most} entries and overwrites none: save and clear "
                "it, since what comes next is lost"
            )


def _host_interface(guard: BmcGuard) -> Iterator[str]:
    for name in guard.bootstrapping:
        yield f"host interface {name} hands BMC credentials to whoever runs on the host: switch that off"


def _boot_override(guard: BmcGuard) -> Iterator[str]:
    if guard.boot_override:
        yield f"every start takes {guard.boot_override}: disable the boot override"


def _secure_boot(guard: BmcGuard) -> Iterator[str]:
    if guard.secure_boot != "Enabled":
        seen = f"is {guard.secure_boot.lower()}" if guard.secure_boot else "is not shown by the BMC (incomplete)"
        yield f"Secure Boot {seen} where the SKU demands it: enable it in firmware setup, or update the BMC"
