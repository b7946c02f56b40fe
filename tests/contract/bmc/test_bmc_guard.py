"""The BMC's own safety over real Redfish: each fault of the lab is one phrase, and its absence none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_log import LogRoom
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.qualification.bmc_security import SecurityJudgement, judge_security

from tests.contract.bmc.conftest import LIBRARY, Offer, lab_directory, lab_node
from tests.contract.redfish.conftest import ServedLab

RULES = LIBRARY.security_rules()
H100 = LIBRARY.sku("h100-sxm-8")


def read(node: FleetNode) -> tuple[BmcGuard, tuple[LogRoom, ...]]:
    """Read as inspect does."""
    with lab_directory().open(node, H100) as bmc:
        guard = bmc.guard(RULES, secure_boot=True)
        return guard, bmc.event_log(LIBRARY.log_rules()).rooms


def judged(guard: BmcGuard, rooms: tuple[LogRoom, ...] = ()) -> SecurityJudgement:
    """Judge it now."""
    return judge_security(guard, rooms, RULES, True, datetime.now(UTC))


def test_a_healthy_node_is_guarded(offer: Offer) -> None:
    """Nothing refuses, nothing is a remark."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        guard = bmc.guard(RULES, secure_boot=True)
    assert judged(guard) == SecurityJudgement((), ())


@pytest.mark.parametrize(
    ("what", "phrase"),
    [
        ("password", "the BMC's account factory is enabled with a password"),
        ("clock", "s ahead of ours: set it"),
        ("log", "the BMC's DGX/EventLog holds 1 of 1 entries and overwrites none"),
        ("medium", "virtual medium CD1 http://10.0.0.9/rescue.iso is inserted"),
        ("override", "every start takes Pxe"),
        ("secure-boot-off", "Secure Boot is disabled"),
    ],
)
def test_each_fault_is_one_phrase(lab: ServedLab, what: str, phrase: str) -> None:
    """Healing it takes the phrase away."""
    node = lab_node(lab, lab.take())
    fault = (what, {}) if what == "secure-boot-off" else ("bmc-unsafe", {"what": what})
    lab.do(lambda: lab.world.faults.inject(node.name, *fault))
    found = judged(*read(node))
    assert len(found.refusals) == 1, found
    assert phrase in found.refusals[0]
    lab.do(lambda: lab.world.faults.heal(node.name))
    assert judged(*read(node)) == SecurityJudgement((), ())


def test_the_certificate_is_that_of_our_own_connection(lab: ServedLab) -> None:
    """Its end is known without a request."""
    node = lab_node(lab, lab.take())
    guard, _ = read(node)
    served = x509.load_pem_x509_certificate((Path(lab.ca_file).parent / "server.pem").read_bytes())
    assert guard.certificate_ends == served.not_valid_after_utc


def test_a_check_that_is_off_costs_no_request(lab: ServedLab, caplog: pytest.LogCaptureFixture) -> None:
    """Six requests with all checks, the manager's among them, which the log needs anyway; none without."""
    node = lab_node(lab, lab.take())
    off = replace(RULES, stances=dict.fromkeys(RULES.stances, "off"))
    for rules, wanted in ((RULES, 6), (off, 1)):
        with lab_directory().open(node, H100) as bmc:
            bmc.inventory()
            caplog.clear()
            with caplog.at_level("DEBUG", "urllib3.connectionpool"):
                bmc.guard(rules, secure_boot=True)
        assert len([line for line in caplog.messages if '"GET ' in line]) == wanted, caplog.messages
