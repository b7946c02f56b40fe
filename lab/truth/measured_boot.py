"""Measured boot: which events a node's TPM log holds after a boot, and the digests a verifier should expect.

Every digest is the SHA-256 of one line of text, so that anyone can compute reference values from versions alone:

    pcr 0  nodeworthy-lab:firmware:<item>:<version>   the host's BIOS                EV_S_CRTM_VERSION
    pcr 2  nodeworthy-lab:firmware:<item>:<version>   option ROMs: each GPU, each NIC EV_EFI_BOOT_SERVICES_DRIVER
    pcr 4  nodeworthy-lab:image:<name>                the boot loader of the image   EV_EFI_BOOT_SERVICES_APPLICATION
    pcr 7  nodeworthy-lab:secure-boot:enabled|disabled                               EV_EFI_VARIABLE_DRIVER_CONFIG

Events come in this order; option ROMs in the order of the platform's firmware list. Reference values
(`golden-measurements.json`) are a flat map from `<item>/<version>`, image name or `secure-boot/enabled` to the digest,
and from `spdm/<item>/<version>/<index>` to what a component's root of trust measures (SHA-384); only the current
firmware set and the shipped images are in it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from lab.spdm import responder
from lab.truth.images import load_images
from lab.truth.node import LabNode
from lab.truth.platforms import load_platforms

SECURE_BOOT_PCR = 7
_PLACES = {"bios": (0, "EV_S_CRTM_VERSION"), "option-rom": (2, "EV_EFI_BOOT_SERVICES_DRIVER")}


def digest(text: str) -> str:
    """SHA-256 of one canonical line, as lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def event(pcr: int, kind: str, text: str) -> dict[str, Any]:
    """One entry of the event log."""
    return {"pcr": pcr, "type": kind, "digest_sha256": digest(text), "description": text}


def events(node: LabNode) -> list[dict[str, Any]]:
    """What was measured when the node's running image was booted; firmware only if none runs."""
    items = [item for item in node.platform.firmware.values() if item.measured]
    items.sort(key=lambda item: _PLACES[str(item.measured)][0])
    log = [
        event(*_PLACES[str(item.measured)], f"nodeworthy-lab:firmware:{item.id}:{node.firmware.version(item.id)}")
        for item in items
    ]
    if node.machine.image:
        log.append(event(4, "EV_EFI_BOOT_SERVICES_APPLICATION", f"nodeworthy-lab:image:{node.machine.image}"))
    log.append(secure_boot(enabled=node.secure_boot))
    return log


def secure_boot(*, enabled: bool) -> dict[str, Any]:
    """The event that tells whether secure boot was on."""
    secure = "enabled" if enabled else "disabled"
    return event(SECURE_BOOT_PCR, "EV_EFI_VARIABLE_DRIVER_CONFIG", f"nodeworthy-lab:secure-boot:{secure}")


def golden_measurements() -> dict[str, str]:
    """Reference digests of every platform's current firmware set, every image, and secure boot."""
    golden = {"secure-boot/enabled": digest("nodeworthy-lab:secure-boot:enabled")}
    for name in load_images():
        golden[name] = digest(f"nodeworthy-lab:image:{name}")
    for platform in load_platforms().values():
        for item in platform.firmware.values():
            if item.measured:
                golden[f"{item.id}/{item.version}"] = digest(f"nodeworthy-lab:firmware:{item.id}:{item.version}")
        for component in platform.spdm.values():
            version = platform.firmware[component.firmware].version
            for one in responder.measurements(component.firmware, version):
                golden[f"spdm/{component.firmware}/{version}/{one.index}"] = one.digest.hex()
    return golden
