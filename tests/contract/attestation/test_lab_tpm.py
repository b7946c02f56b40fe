"""The product's verifier against the lab's software TPM: a sound node passes, each TPM fault is refused by name."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.attestation_tpm import TpmAttestation
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Refused
from nodeworthy.procedures.attest import pcr_policy

from lab.tpm import ensure_authority, ensure_node
from lab.tpm.software_tpm import SoftwareTpm
from lab.truth.fleet import generate
from lab.truth.measured_boot import events, golden_measurements
from lab.truth.world import LabClock, World

LIBRARY = YamlLibrary(Path(__file__).parents[3] / "include")
IMAGE = "service-2026.11"
NONCE = "5a" * 32


@dataclass
class Bed:
    """A lab node with its TPM and the verifier that knows the lab's vendor."""

    node: Any
    folder: Path
    verifier: TpmAttestation

    def document(self, fault: str | None = None, extra: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
        """What the probe brings from this TPM."""
        log = [*events(self.node), *extra]
        quote = SoftwareTpm(self.folder / "iak.key", {"events": log, "fault": fault}).quote(
            bytes.fromhex(NONCE), [0, 2, 4, 7]
        )
        return {
            "quote_base64": base64.b64encode(quote.attest).decode(),
            "signature_base64": base64.b64encode(quote.signature).decode(),
            "signature_algorithm": "ecdsa-p256-sha256",
            "iak_certificate_pem": (self.folder / "iak.pem").read_text(),
            "pcrs": {"sha256": {str(index): value.hex() for index, value in quote.pcrs.items()}},
            "event_log": log,
        }

    def verify(self, document: dict[str, Any]) -> None:
        """Check it by the policy of the node's SKU and the approved image."""
        firmware = LIBRARY.firmware_set(LIBRARY.sku(self.node.sku).firmware_set)
        policy = pcr_policy(golden_measurements(), firmware, IMAGE)
        self.verifier.verify(document, nonce=NONCE, serial=self.node.serial, golden=policy)


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    """A node that runs the approved image with current firmware."""
    world = World(generate(1, image=IMAGE), tmp_path, clock=LabClock(speed=0))
    world.start()
    (node,) = world.nodes.values()
    folder = ensure_node(tmp_path / "nodes" / node.name, node.serial, tmp_path)
    verifier = TpmAttestation(ensure_authority(tmp_path).read_bytes(), SystemClock())
    return Bed(node, folder, verifier)


def test_a_sound_node_is_attested(bed: Bed) -> None:
    """Every event is a reference measurement of its firmware set and image."""
    bed.verify(bed.document())


@pytest.mark.parametrize(
    ("fault", "phrase"),
    [
        ("stale-quote", "stale or replayed"),
        ("wrong-key", "is not signed by the key of its certificate"),
        ("extra-event", "something was measured that the log does not show"),
        ("zero-bank", "all-zero SHA-256 bank"),
    ],
)
def test_each_fault_of_the_tpm_is_refused_by_name(bed: Bed, fault: str, phrase: str) -> None:
    """One fault, one sentence."""
    with pytest.raises(Refused, match=phrase):
        bed.verify(bed.document(fault))


def test_old_firmware_is_no_reference_measurement(bed: Bed) -> None:
    """A BIOS that is one version behind shows in PCR 0."""
    bed.node.firmware.stage("HostBIOS_0", "1.05.03", "reset")
    bed.node.firmware.activate("reset")
    with pytest.raises(Refused, match=r"unknown event in PCR 0 .*HostBIOS_0:1\.05\.03"):
        bed.verify(bed.document())


def test_another_image_is_no_reference_measurement(bed: Bed) -> None:
    """What booted must be the approved image, even when its events are logged honestly."""
    bed.node.machine.image = "service-2026.08"
    with pytest.raises(Refused, match=r"unknown event in PCR 4 .*service-2026\.08"):
        bed.verify(bed.document())
