"""What a SKU must be made of, and which firmware it must run.

Both come from `include/skus/`: counts, models and capacities with tolerance, the ids that pin the BMC's systems,
and the firmware baseline set as allowed versions per component id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from nodeworthy.evidence.inventory import ComponentKind


@dataclass(frozen=True, slots=True)
class PartRule:
    """So many components of one kind, of one of these models, each of this capacity (MiB, within the tolerance)."""

    kind: ComponentKind
    count: int
    models: tuple[str, ...]
    capacity_mib: int | None = None
    tolerance_percent: float = 0.0
    firmware: tuple[str, ...] = ()
    """Of drives: the firmware that they may have, as the kernel tells it; empty where any will do."""
    speed_mts: int | None = None
    """Of memory modules: the rate at which they must run, in million transfers a second."""


@dataclass(frozen=True, slots=True)
class BmcProfile:
    """How this SKU's BMC is spoken to: pinned system ids and named quirks (facts of the platform, not of a node)."""

    system_id: str
    baseboard_id: str = ""
    quirks: tuple[str, ...] = ()
    read_timeout: timedelta = timedelta(seconds=60)
    update_deadline: timedelta = timedelta(minutes=60)
    boot_deadline: timedelta = timedelta(minutes=45)


class Vendor(StrEnum):
    """Who made a node's GPUs: whose tools read and load them, and under which name Kubernetes counts them."""

    NVIDIA = "nvidia"
    AMD = "amd"


@dataclass(frozen=True, slots=True)
class Waiver:
    """A test that this SKU does without, by name, and why."""

    test: str
    why: str


@dataclass(frozen=True, slots=True)
class Environment:
    """How much its BMC watches over this SKU at least; zero is "not declared", and what is served is judged anyway."""

    fans: int = 0
    leak_detectors: int = 0


@dataclass(frozen=True, slots=True)
class AttestedComponent:
    """A component whose root of trust must sign that it runs this item of the firmware set."""

    id: str
    firmware: str


@dataclass(frozen=True, slots=True)
class Sku:
    """One SKU. `models` are the system models that the BMC may report."""

    name: str
    version: int
    models: tuple[str, ...]
    parts: tuple[PartRule, ...]
    bmc: BmcProfile
    firmware_set: str
    gpus: int
    nvlinks_per_gpu: int
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What this SKU names, by kind: fabric adapters (`nic`), drives to be read (`drive`) or destroyed (`scratch`),
    what the host's software must have (`services`, `mounts` ...), and its parts that the kernel is compared with."""
    offers: tuple[str, ...] = ()
    """What not every SKU can do: formats in which its GPUs multiply matrices (`fp64`, `tf32`, `fp8`, `fp4`)."""
    transports: Mapping[str, str] = field(default_factory=dict)
    """What proves a collective here where a suite demands another: a SKU without NVLS is tested over P2P."""
    vendor: Vendor = Vendor.NVIDIA
    waives: tuple[Waiver, ...] = ()
    environment: Environment = field(default_factory=Environment)
    secure_boot: bool = False
    """Whether the BMC must show that Secure Boot was on at the last start."""
    attested: tuple[AttestedComponent, ...] = ()
    """Components of Redfish ComponentIntegrity that must prove by SPDM which firmware they run."""

    @property
    def declares(self) -> frozenset[str]:
        """Everything that a test may ask for by `only_with`: kinds of devices that are named, and what is offered."""
        return frozenset(self.offers) | {kind for kind, names in self.devices.items() if names}


@dataclass(frozen=True, slots=True)
class FirmwareEntry:
    """One component id: the versions that are allowed, the one to update to and from where, and what activates it."""

    id: str
    allowed: tuple[str, ...]
    target: str
    image_uri: str
    activation: str = "reset"


@dataclass(frozen=True, slots=True)
class FirmwareSet:
    """A named, versioned set of firmware that was qualified together."""

    name: str
    sku: str
    entries: tuple[FirmwareEntry, ...]
