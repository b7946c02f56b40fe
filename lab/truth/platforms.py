"""Server platforms as data: what is inside a server of one kind and how its BMC shows it (lab/data/platforms/)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from lab.truth import data

Activation = Literal["reset", "ac-cycle", "self"]


@dataclass(frozen=True, slots=True)
class FirmwareItem:
    """One entry of the firmware inventory; `seconds` is how long its update task runs in lab time."""

    id: str
    name: str
    version: str
    activation: Activation
    seconds: float
    older: tuple[str, ...] = ()
    measured: str | None = None
    updateable: bool = True


@dataclass(frozen=True, slots=True)
class SpdmComponent:
    """A component that signs what it runs: which firmware item that is, and the SPDM version it speaks."""

    firmware: str
    version: str


@dataclass(frozen=True, slots=True)
class BootTimes:
    """How long power and POST take, in lab seconds; `stages` are BootProgress.LastState values (DSP2046)."""

    power_on_seconds: float
    power_off_seconds: float
    graceful_shutdown_seconds: float
    bmc_restart_seconds: float
    hmc_ready_seconds: float
    stages: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class AccountRules:
    """How the BMC guards its accounts; sessions age in real seconds, a lockout ends in lab seconds."""

    session_limit: int
    session_timeout_seconds: float
    lockout_threshold: int
    lockout_seconds: float


@dataclass(frozen=True, slots=True)
class Platform:
    """One server model. The plain mappings (`gpu`, `cpu`, `dimm` ...) hold the data file's rows as they are."""

    name: str
    skus: tuple[str, ...]
    manufacturer: str
    model: str
    bmc_product: str
    redfish_version: str
    supports_expand: bool
    quirks: frozenset[str]
    host_system: str
    baseboard_system: str
    host_manager: str
    baseboard_manager: str
    other_managers: tuple[str, ...]
    host_chassis: str
    baseboard_chassis: str
    other_chassis: tuple[str, ...]
    gpu_chassis: str
    reset_types: tuple[str, ...]
    account: AccountRules
    firmware: Mapping[str, FirmwareItem]
    boot: BootTimes
    spdm: Mapping[str, SpdmComponent]
    gpu: Mapping[str, Any] = field(repr=False)
    nvswitch: Mapping[str, Any] = field(repr=False)
    cpu: Mapping[str, Any] = field(repr=False)
    dimm: Mapping[str, Any] = field(repr=False)
    nics: tuple[Mapping[str, Any], ...] = field(repr=False)
    drives: tuple[Mapping[str, Any], ...] = field(repr=False)
    psu: Mapping[str, Any] = field(repr=False)
    cooling: Mapping[str, Any] = field(repr=False)
    figures: Mapping[str, Any] = field(repr=False)
    bios_attributes: Mapping[str, Any] = field(repr=False)
    vendor: str = "nvidia"
    """Who made the GPUs: which driver runs there, and what its BMC calls them."""
    software: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Versions that every image has here in place of its own: another vendor's driver and libraries."""


_PLAIN = ("gpu", "nvswitch", "cpu", "dimm", "psu", "cooling", "figures", "bios_attributes")
_COPIED = ("name", "manufacturer", "model", "bmc_product", "redfish_version", "supports_expand")


@cache
def load_platforms() -> Mapping[str, Platform]:
    """All shipped platforms by name."""
    found = {}
    for path in sorted((data.ROOT / "platforms").glob("*.yaml")):
        platform = _platform(data.load(f"platforms/{path.name}"))
        found[platform.name] = platform
    return found


def platform_for_sku(sku: str) -> Platform:
    """The platform that is sold as `sku`; ValueError with the known ones otherwise."""
    platforms = load_platforms()
    for platform in platforms.values():
        if sku in platform.skus:
            return platform
    known = ", ".join(sku for platform in platforms.values() for sku in platform.skus)
    raise ValueError(f"SKU {sku} has no platform in the lab; known SKUs are {known}.")


def _platform(row: Mapping[str, Any]) -> Platform:
    return Platform(
        **{key: row[key] for key in _COPIED},
        **{key: row[key] for key in _PLAIN},
        skus=tuple(row["skus"]),
        quirks=frozenset(row["quirks"]),
        host_system=row["systems"]["host"],
        baseboard_system=row["systems"]["baseboard"],
        host_manager=row["managers"]["host"],
        baseboard_manager=row["managers"]["baseboard"],
        other_managers=tuple(row["managers"]["others"]),
        host_chassis=row["chassis"]["host"],
        baseboard_chassis=row["chassis"]["baseboard"],
        other_chassis=tuple(row["chassis"]["others"]),
        gpu_chassis=row["chassis"]["gpu"],
        reset_types=tuple(row["reset_types"]),
        account=AccountRules(**row["account"]),
        firmware={item.id: item for entry in row["firmware"] for item in _firmware(entry)},
        boot=_boot(row["boot"]),
        vendor=row.get("vendor", "nvidia"),
        software=row.get("software", {}),
        spdm=dict(found for entry in row.get("spdm", ()) for found in _spdm(entry)),
        nics=tuple(row["nics"]),
        drives=tuple(row["drives"]),
    )


def _boot(row: Mapping[str, Any]) -> BootTimes:
    return BootTimes(**{**row, "stages": tuple((name, float(seconds)) for name, seconds in row["stages"])})


def _spdm(entry: Mapping[str, Any]) -> Iterator[tuple[str, SpdmComponent]]:
    first, last = entry.get("range", (0, 0))
    for number in range(first, last + 1):
        yield entry["id"].format(number), SpdmComponent(entry["firmware"].format(number), entry["version"])


def _firmware(entry: Mapping[str, Any]) -> list[FirmwareItem]:
    values = {**entry, "older": tuple(entry.get("older", ()))}
    if "range" not in values:
        return [FirmwareItem(**values)]
    first, last = values.pop("range")
    return [
        FirmwareItem(**{**values, "id": values["id"].format(number), "name": values["name"].format(number)})
        for number in range(first, last + 1)
    ]
