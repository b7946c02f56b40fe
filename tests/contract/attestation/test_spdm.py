"""The lab's components sign over real Redfish, and the product verifies: chain, signature, nonce, measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from nodeworthy.adapters.attestation_spdm import SpdmAttestation
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.spdm import SignedMeasurements

from lab.truth.measured_boot import golden_measurements
from tests.contract.bmc.conftest import LIBRARY, lab, lab_directory, lab_node, served_lab
from tests.contract.redfish.conftest import ServedLab

__all__ = ["lab", "served_lab"]

H200 = LIBRARY.sku("h200-sxm-8")
GPU, EROT = "HGX_IRoT_GPU_SXM_3", "HGX_ERoT_BMC_0"
FIRMWARE = {GPU: "HGX_FW_GPU_SXM_3", EROT: "HGX_FW_ERoT_BMC_0"}
NONCE = "5a" * 32


def asked(lab: ServedLab, *components: str, how: str = "") -> tuple[str, tuple[SignedMeasurements, ...]]:
    """Ask the components of a fresh node; return its name and their answers."""
    node = lab_node(lab, lab.take("h200-sxm-8"))
    if how:
        lab.do(lambda: lab.world.faults.inject(node.name, "spdm-wrong", {"how": how}))
    with lab_directory().open(node, H200) as bmc:
        return node.name, bmc.sign_measurements(dict.fromkeys(components, NONCE))


def references(component: str) -> list[dict[int, str]]:
    """The reference measurements that the lab publishes for this component's firmware."""
    prefix = f"spdm/{FIRMWARE[component]}/"
    golden = {name: value for name, value in golden_measurements().items() if name.startswith(prefix)}
    # Both platforms name this firmware item; each version is a set of its own.
    versions = sorted({name.split("/")[2] for name in golden})
    return [{index: golden[f"{prefix}{version}/{index}"] for index in (1, 2, 3)} for version in versions]


def verify(lab: ServedLab, name: str, one: SignedMeasurements, nonce: str = NONCE) -> None:
    """Verify as the product does, against the lab's vendor."""
    roots = Path(lab.ca_file).with_name("spdm-ca.pem").read_bytes()
    found = SpdmAttestation(roots, SystemClock())
    found.verify(one, node=name, nonce=nonce, references=references(one.component))


def test_components_of_both_versions_are_verified(lab: ServedLab) -> None:
    """A GPU that speaks SPDM 1.1, and a root of trust that speaks 1.2, whose signature has the prefix."""
    name, answers = asked(lab, GPU, EROT)
    for one in answers:
        verify(lab, name, one)
    assert [one.certificates_pem.count("BEGIN CERTIFICATE") for one in answers] == [2, 2]


@pytest.mark.parametrize(
    ("how", "phrase"),
    [
        ("nonce", "answer nonce .* and not 5a5a5a5a5a5a, which was asked: they are stale"),
        ("key", "are not signed by the key of its certificate"),
        ("measurement", "are not the firmware set's: measurement 2 is .* and the reference is"),
    ],
)
def test_each_fault_is_refused_for_its_own_reason(lab: ServedLab, how: str, phrase: str) -> None:
    """The sentence names the component and the node; another component of the node is fine."""
    name, (bad, good) = asked(lab, GPU, EROT, how=how)
    with pytest.raises(Refused, match=f"component {GPU} of {name} {phrase}"):
        verify(lab, name, bad)
    verify(lab, name, good)


def test_a_component_that_does_not_answer_is_the_tools_trouble(lab: ServedLab) -> None:
    """Neither a pass nor a failure of its firmware."""
    with pytest.raises(Permanent, match=rf"Component {GPU} of .* HTTP 500 \(.*did not answer.*proves nothing"):
        asked(lab, GPU, how="silent")


def test_a_component_that_the_bmc_does_not_list_is_named(lab: ServedLab) -> None:
    """Nothing is asked of it."""
    _, (one,) = asked(lab, "HGX_IRoT_NIC_0")
    assert one == SignedMeasurements("HGX_IRoT_NIC_0", lack="its BMC lists no such component in ComponentIntegrity")


def test_a_root_that_nobody_trusts_is_refused(lab: ServedLab) -> None:
    """The lab's TLS authority vouches for no component."""
    name, (one,) = asked(lab, GPU)
    with pytest.raises(Refused, match="leads to no root we trust"):
        SpdmAttestation(Path(lab.ca_file).read_bytes(), SystemClock()).verify(
            one, node=name, nonce=NONCE, references=references(GPU)
        )


def test_an_answer_of_another_component_does_not_serve(lab: ServedLab) -> None:
    """It is genuine, and it measures other firmware."""
    name, (gpu, erot) = asked(lab, GPU, EROT)
    with pytest.raises(Refused, match="measurement 1"):
        verify(lab, name, replace(erot, component=gpu.component))


def test_nine_components_are_nineteen_requests(lab: ServedLab, caplog: pytest.LogCaptureFixture) -> None:
    """The list, and per component its action and its certificate."""
    node = lab_node(lab, lab.take("h200-sxm-8"))
    with lab_directory().open(node, H200) as bmc:
        caplog.clear()
        with caplog.at_level("DEBUG", "urllib3.connectionpool"):
            bmc.sign_measurements({one.id: NONCE for one in H200.attested})
    assert len([line for line in caplog.messages if "HTTP/1.1" in line]) == 19, json.dumps(caplog.messages)
