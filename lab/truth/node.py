"""One node of the ground truth: who it is, where it stands, and the state of its machine and firmware."""

from __future__ import annotations

from lab.truth import seeded
from lab.truth.captures import host_serial
from lab.truth.firmware import Firmware
from lab.truth.fleet import NodeSpec
from lab.truth.machine import Machine
from lab.truth.platforms import Platform, load_platforms, platform_for_sku


class LabNode:
    """A node; parts are derived from seed and name when they are asked for, never stored."""

    __slots__ = (
        "_serial",
        "bios",
        "bios_pending",
        "firmware",
        "index",
        "machine",
        "platform",
        "quirks",
        "secure_boot",
        "seed",
        "spec",
    )

    def __init__(self, spec: NodeSpec, index: int, seed: int) -> None:
        self.spec = spec
        self.index = index
        self.seed = seed
        self.platform = _platform(spec)
        self._serial = spec.serial or _captured_serial(spec) or seeded.digits(13, seed, spec.name, "chassis")
        self.machine = Machine()
        self.firmware = Firmware(self.platform, spec.firmware)
        self.quirks: frozenset[str] = self.platform.quirks | frozenset(spec.quirks)
        self.bios: dict[str, object] = {}
        self.bios_pending: dict[str, object] = {}
        self.secure_boot = True

    @property
    def name(self) -> str:
        """The node's name; also the name of its Kubernetes Node."""
        return self.spec.name

    @property
    def sku(self) -> str:
        """The SKU it was sold as."""
        return self.spec.sku

    @property
    def rack(self) -> str:
        """The rack it stands in."""
        return self.spec.rack

    @property
    def position(self) -> int:
        """Its place in the rack, from 1."""
        return self.spec.position

    @property
    def pool(self) -> str:
        """The pool of the fleet it belongs to."""
        return self.spec.pool

    @property
    def serial(self) -> str:
        """The chassis serial number, as the manifest knows it."""
        return self._serial

    @property
    def system_uuid(self) -> str:
        """The UUID of the host system (DMI product_uuid)."""
        return seeded.identity(self.seed, self.name, "system")


def _platform(spec: NodeSpec) -> Platform:
    if spec.platform is None:
        return platform_for_sku(spec.sku)
    platforms = load_platforms()
    if spec.platform not in platforms:
        raise ValueError(f"Node {spec.name} wants platform {spec.platform}; known are {', '.join(sorted(platforms))}.")
    return platforms[spec.platform]


def _captured_serial(spec: NodeSpec) -> str | None:
    return host_serial(spec.replay.redfish) if spec.replay and spec.replay.redfish else None
