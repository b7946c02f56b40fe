"""Attest: a quote over our nonce proves that the node booted the firmware set and the image that it should have.

The policy is the set of reference digests for PCRs 0, 2, 4 and 7 of the SHA-256 bank, picked from the golden list by
the node's firmware set and approved image; a reference that is missing refuses, since unknown never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.progress import begin
from nodeworthy.qualification.sku import FirmwareSet

EVENT = "attest"
SECURE_BOOT = "secure-boot/enabled"


def attest(lease: Lease, node: FleetNode, work: Work, document: Mapping[str, Any], golden: Mapping[str, str]) -> Done:
    """Verify the attestation in a result document and advance. Raises Refused with the one thing that is wrong.

    `document` is a `nodeworthy.result/1`; `golden` maps `<firmware id>/<version>`, image names and
    `secure-boot/enabled` to SHA-256 digests in hex.
    """
    done = begin(EVENT, node, work)
    if done is not None:
        return done
    quoted = document.get("attestation")
    if not isinstance(quoted, Mapping):
        raise Refused(
            f"{node.name} brought no TPM quote in its result: not attested is never attested; see the test "
            "attest.quote."
        )
    nonce = work.ledger.nonce(lease, Scope.PLATFORM.value)
    image = str(work.library.policy(node.pool)["images"]["approved"]["name"])
    firmware = work.library.firmware_set(work.library.sku(node.sku).firmware_set)
    policy = pcr_policy(golden, firmware, image)
    work.attestation.verify(quoted, nonce=nonce, serial=node.serial, golden=policy)
    facts = {"nonce": nonce, "boot_id": str(document.get("boot_id", "")), "firmware_set": firmware.name, "image": image}
    work.ledger.advance(lease, EVENT, facts)
    summary = (
        f"{node.name} is attested: the quote over nonce {nonce[:12]} is signed by the TPM of chassis {node.serial} and "
        f"its log holds firmware set {firmware.name}, image {image} and secure boot, nothing else."
    )
    work.say(summary)
    return Done(summary, facts)


def pcr_policy(golden: Mapping[str, str], firmware: FirmwareSet, image: str) -> Mapping[int, tuple[str, ...]]:
    """Return the digests that each PCR's log may hold. Raises Refused when a needed reference is not in the list."""
    measured = tuple(
        golden[name]
        for entry in firmware.entries
        for name in (f"{entry.id}/{version}" for version in entry.allowed)
        if name in golden
    )
    absent = [name for name in (image, SECURE_BOOT) if name not in golden]
    if not measured:
        absent.append(f"any item of firmware set {firmware.name}")
    if absent:
        raise Refused(
            f"The golden measurements lack {' and '.join(absent)}: add the reference values of that release, since "
            "what has no reference cannot be attested."
        )
    return {0: measured, 2: measured, 4: (golden[image],), 7: (golden[SECURE_BOOT],)}
