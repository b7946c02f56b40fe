"""The event log over real Redfish: what the lab's BMCs write down is read, judged, and gone when it is cleared."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.evidence.bmc_log import EventLog, judge_log
from nodeworthy.lifecycle.fleet import FleetNode

from lab.truth.fleet import FleetFile, NodeSpec, Replay
from tests.contract.bmc.conftest import LIBRARY, Offer, lab_directory, lab_node
from tests.contract.redfish.conftest import ServedLab, served

RULES = LIBRARY.log_rules()
H100 = LIBRARY.sku("h100-sxm-8")
CLEAR = "/redfish/v1/Systems/DGX/LogServices/EventLog/Actions/LogService.ClearLog"


def read(node: FleetNode) -> EventLog:
    """Read the log as inspect does, after the inventory."""
    with lab_directory().open(node, H100) as bmc:
        bmc.inventory()
        return bmc.event_log(RULES)


def refusals(log: EventLog) -> tuple[str, ...]:
    """Judge it a year later than the lab's clock may stand."""
    now = datetime.now(UTC) + timedelta(days=365)
    return judge_log(log, RULES, LIBRARY.catalogue("default"), now, {}).refusals


def test_a_healthy_node_has_an_empty_log_and_no_gap(offer: Offer) -> None:
    """That is another answer than a log that could not be read."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        log = bmc.event_log(RULES)
    assert (log.entries, log.logs, log.gaps) == ((), {"DGX/EventLog": 0}, ())


def test_a_healthy_nodes_log_is_five_requests_beside_its_inventory(
    lab: ServedLab, caplog: pytest.LogCaptureFixture
) -> None:
    """Services, entries, two managers, the host manager's services: nothing that the inventory read is read again."""
    node = lab_node(lab, lab.take())
    with lab_directory().open(node, H100) as bmc:
        bmc.inventory()
        with caplog.at_level("DEBUG", "urllib3.connectionpool"):
            bmc.event_log(RULES)
    assert len([line for line in caplog.messages if '"GET ' in line]) == 5, caplog.messages


def test_a_critical_entry_refuses_until_the_log_is_cleared(lab: ServedLab) -> None:
    """Clearing over Redfish takes the entry away, as healing the fault does."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.faults.inject(node.name, "sel-critical"))
    (phrase,) = refusals(read(node))
    assert "DGX/EventLog has entry 1 of " in phrase
    assert "Memory ECC uncorrectable error. Socket=0 Channel=A DIMM=1 Rank=0" in phrase
    with lab.logged_in(node.name) as client:
        assert client.post(CLEAR, json={}).status_code == 204
    assert refusals(read(node)) == ()
    assert lab.world.faults.active(node.name) == ()


def test_a_resolved_entry_and_a_warning_do_not_refuse(lab: ServedLab) -> None:
    """Both are read, and neither refuses."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.faults.inject(node.name, "sel-critical", {"resolved": True}))
    lab.do(lambda: lab.world.faults.inject(node.name, "drive-failing"))
    log = read(node)
    assert [(one.severity, one.origin) for one in log.entries] == [("Critical", ""), ("Warning", "NVMe_5")]
    assert refusals(log) == ()


def test_the_log_of_a_captured_bmc_is_judged_like_a_real_one(tmp_path: Path) -> None:
    """A SEL without MessageIds, newest first: the supply's failure is over, the processor's is not."""
    system = "/redfish/v1/Systems/DGX"
    sel = f"{system}/LogServices/SEL"

    def link(path: str) -> dict[str, str]:
        return {"@odata.id": path}

    def entry(number: int, severity: str, message: str) -> dict[str, Any]:
        own = {
            "Id": str(number),
            "EntryType": "SEL",
            "Severity": severity,
            "Message": message,
            "SensorNumber": number % 2,
        }
        return {**link(f"{sel}/Entries/{number}"), "Created": f"2026-11-01T0{number}:00:00+00:00", **own}

    rows = [entry(3, "OK", "PSU1 failed - Deasserted"), entry(2, "Critical", "CPU0 IERR - Asserted"),
            entry(1, "Critical", "PSU1 failed - Asserted")]  # fmt: skip
    bundle = {
        "/redfish/v1/": {**link("/redfish/v1"), "Systems": link("/redfish/v1/Systems")},
        "/redfish/v1/Systems": {**link("/redfish/v1/Systems"), "Members": [link(system)]},
        system: {**link(system), "Id": "DGX", "LogServices": link(f"{system}/LogServices")},
        f"{system}/LogServices": {**link(f"{system}/LogServices"), "Members": [link(sel)]},
        sel: {**link(sel), "Id": "SEL", "Entries": link(f"{sel}/Entries")},
        f"{sel}/Entries": {**link(f"{sel}/Entries"), "Members": rows, "Members@odata.count": 3},
    }
    (tmp_path / "bmc.json").write_text(json.dumps(bundle))
    spec = NodeSpec("captured", "h100-sxm-8", "A1", 1, replay=Replay(redfish=tmp_path / "bmc.json"))
    with served(FleetFile("lab", (spec,)), tmp_path) as lab:
        log = read(lab_node(lab, "captured"))
    assert [one.id for one in log.entries] == ["1", "2", "3"]
    (phrase,) = refusals(log)
    assert "DGX/SEL has entry 2 of 2026-11-01 02:00 UTC, CPU0 IERR - Asserted (Critical)" in phrase
