"""Leaks, fans, supplies and temperatures over real Redfish, in the lab and in captures of real BMCs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.evidence.bmc_health import Health, Leaks
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.qualification.bmc_health import judge_health, judge_leaks
from nodeworthy.qualification.sku import Environment, Sku

from lab.truth.fleet import FleetFile, NodeSpec, Replay
from tests.contract.bmc.conftest import LIBRARY, Offer, lab_directory, lab_node
from tests.contract.redfish.conftest import ServedLab, served

RULES = LIBRARY.health_rules()
H100, H200 = LIBRARY.sku("h100-sxm-8"), LIBRARY.sku("h200-sxm-8")
ROOT = "/redfish/v1"


def read(node: FleetNode, sku: Sku) -> tuple[Leaks, Health]:
    """Read as inspect does: the detectors first, the rest after the inventory."""
    with lab_directory().open(node, sku) as bmc:
        leaks = bmc.leaks(RULES)
        bmc.inventory()
        return leaks, bmc.health(RULES)


def phrases(lab: ServedLab, sku: Sku, fault: str, **parameters: Any) -> list[str]:
    """What refuses a node with this fault."""
    node = lab_node(lab, lab.take(sku.name))
    lab.do(lambda: lab.world.faults.inject(node.name, fault, parameters))
    leaks, health = read(node, sku)
    return [*judge_leaks(leaks, sku.environment), *judge_health(health, RULES, sku.environment).refusals]


def test_a_healthy_node_has_all_that_its_sku_names(offer: Offer) -> None:
    """Every fan is there, nothing refuses and nothing is a remark."""
    with offer.directory.open(offer.node, offer.sku) as bmc:
        leaks, health = bmc.leaks(RULES), bmc.health(RULES)
    judged = judge_health(health, RULES, offer.sku.environment)
    assert (judge_leaks(leaks, offer.sku.environment), judged.refusals, judged.remarks) == ((), (), ())
    assert len(health.fans) == offer.sku.environment.fans


def test_health_is_three_requests_beside_the_inventory_and_five_with_liquid(
    lab: ServedLab, caplog: pytest.LogCaptureFixture
) -> None:
    """ThermalSubsystem, fans, sensors; with liquid the detection and its detectors. Nothing is read twice."""
    for sku, wanted in ((H100, 3), (H200, 5)):
        node = lab_node(lab, lab.take(sku.name))
        caplog.clear()
        with lab_directory().open(node, sku) as bmc, caplog.at_level("DEBUG", "urllib3.connectionpool"):
            bmc.inventory()
            without = len(caplog.messages)
        caplog.clear()
        with lab_directory().open(node, sku) as bmc, caplog.at_level("DEBUG", "urllib3.connectionpool"):
            bmc.leaks(RULES)
            bmc.inventory()
            bmc.health(RULES)
            seen = [line for line in caplog.messages if '"GET ' in line]
        assert len(caplog.messages) - without == wanted, caplog.messages
        assert len(seen) == len(set(seen))


def test_a_leak_is_read_from_a_host_without_power(lab: ServedLab) -> None:
    """That is when it matters most: nobody may switch it on."""
    node = lab_node(lab, lab.take("h200-sxm-8"))
    lab.do(lambda: lab.world.boot.power_off(lab.world.nodes[node.name]))
    lab.advance(minutes=1)
    lab.do(lambda: lab.world.faults.inject(node.name, "leak"))
    with lab_directory().open(node, H200) as bmc:
        leaks = bmc.leaks(RULES)
    assert [one.state for one in leaks.wet] == ["LeakDetected"]


def test_a_detector_that_is_unavailable_is_incomplete(lab: ServedLab) -> None:
    """It is served, and nobody watches."""
    (phrase,) = phrases(lab, H200, "leak", state="Unavailable")
    assert phrase.startswith("incomplete, leak detector Leak_Detector_0 says Unavailable")


def test_a_fan_that_failed_is_named(lab: ServedLab) -> None:
    """By its slot, with what to do."""
    assert phrases(lab, H100, "chassis-failing", what="fan") == ["fan FAN_3 calls itself critical: replace it"]


def test_a_supply_without_its_line_is_named(lab: ServedLab) -> None:
    """The redundancy is not lost by one of six, of which four are needed."""
    (phrase,) = phrases(lab, H100, "chassis-failing", what="supply")
    assert phrase == "power supply PSU_2 has line input OutOfRange: check its cord and the feed behind it"


def test_a_sensor_is_held_against_its_own_threshold(lab: ServedLab) -> None:
    """The lab's BMC calls 45 degrees at the inlet critical."""
    assert phrases(lab, H100, "chassis-failing", what="heat") == [
        "Inlet_Temp reads 47 C and its BMC calls 45 C critical: check airflow and cooling"
    ]


def test_a_bmc_that_cannot_expand_tells_it_by_the_deprecated_resource(lab: ServedLab) -> None:
    """One request more for temperatures, none per sensor; fans one by one, and the same verdict."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.faults.inject(node.name, "chassis-failing", {"what": "heat"}))
    sku = replace(H100, bmc=replace(H100.bmc, quirks=("expand-drops-fields",)))
    leaks, health = read(node, sku)
    assert leaks == Leaks()
    found = judge_health(health, RULES, sku.environment)
    assert [one.split(" reads")[0] for one in found.refusals] == ["Inlet_Temp"]
    assert found.remarks == ()


def captured(tmp_path: Path, thermal: dict[str, Any], more: dict[str, Any]) -> tuple[Leaks, Health]:
    """Serve a small capture of a liquid-cooled chassis and read it."""

    def at(path: str, **fields: Any) -> dict[str, Any]:
        return {"@odata.id": ROOT + path, "Id": path.rsplit("/", 1)[-1], **fields}

    def link(path: str) -> dict[str, str]:
        return {"@odata.id": ROOT + path}

    chassis = {"ChassisType": "RackMount", "ThermalSubsystem": link("/Chassis/C/ThermalSubsystem"), "Links": {}}
    bundle = {
        "/": at("/", Systems=link("/Systems"), Chassis=link("/Chassis")),
        "/Systems": at("/Systems", Members=[link("/Systems/DGX")]),
        "/Systems/DGX": at("/Systems/DGX", Links={"Chassis": [link("/Chassis/C")]}),
        "/Chassis/C": at("/Chassis/C", **chassis),
        "/Chassis/C/ThermalSubsystem": at("/Chassis/C/ThermalSubsystem", **thermal),
        **{path: at(path, **fields) for path, fields in more.items()},
    }
    (tmp_path / "bmc.json").write_text(json.dumps({ROOT + path: body for path, body in bundle.items()}))
    spec = NodeSpec("captured", "h100-sxm-8", "A1", 1, replay=Replay(redfish=tmp_path / "bmc.json"))
    with (
        served(FleetFile("lab", (spec,)), tmp_path) as lab,
        lab_directory().open(lab_node(lab, "captured"), H100) as bmc,
    ):
        return bmc.leaks(RULES), bmc.health(RULES)


DETECTION = "/Chassis/C/ThermalSubsystem/LeakDetection"
LINKED = {"LeakDetection": {"@odata.id": ROOT + DETECTION}}


def test_a_leak_of_a_capture_is_found(tmp_path: Path) -> None:
    """A GB300 tray's detector as an exporter captured it: DetectorState LeakDetected, which no schema names."""
    manifold = f"{DETECTION}/LeakDetectors/Chassis_0_LeakDetector_1_Manifold"
    wet = {"LeakDetectorType": "Moisture", "DetectorState": "LeakDetected", "Status": {"Health": "Critical"}}
    more = {
        DETECTION: {"LeakDetectors": {"@odata.id": f"{ROOT}{DETECTION}/LeakDetectors"}},
        f"{DETECTION}/LeakDetectors": {"Members": [{"@odata.id": ROOT + manifold}]},
        manifold: wet,
    }
    leaks, _ = captured(tmp_path, LINKED, more)
    assert [(one.name, one.state) for one in leaks.wet] == [("Chassis_0_LeakDetector_1_Manifold", "LeakDetected")]


def test_detectors_inside_of_a_group_count(tmp_path: Path) -> None:
    """LeakDetection 1.0 gives them as excerpts."""
    group = {
        "Detectors": [{"DeviceName": "sump", "DetectorState": "OK"}, {"DeviceName": "hose", "DetectorState": "Warning"}]
    }
    leaks, _ = captured(tmp_path, LINKED, {DETECTION: {"LeakDetectorGroups": [group]}})
    assert [(one.name, one.wet) for one in leaks.detectors] == [("sump", False), ("hose", True)]


def test_detection_that_is_announced_and_not_served_is_incomplete(tmp_path: Path) -> None:
    """A BMC that links it and answers 404 (seen on a vendor's tree) does not say that the node is dry."""
    leaks, _ = captured(tmp_path, LINKED, {})
    (phrase,) = judge_leaks(leaks, Environment())
    assert phrase.startswith("incomplete, ")
    assert "LeakDetection answers 404" in phrase


def test_headroom_below_its_critical_threshold_refuses(tmp_path: Path) -> None:
    """A GPU's distance to its first throttle limit falls: its lower thresholds count (GB300 capture, T.Limit)."""
    thermal: dict[str, Any] = {}
    sensors = {"Members": [{"@odata.id": f"{ROOT}/Chassis/C/Sensors/TLIMIT"}]}
    tlimit = {
        "ReadingType": "Temperature",
        "ReadingBasis": "Headroom",
        "Reading": -4.5,
        "Thresholds": {"LowerCaution": {"Reading": -0.05}, "LowerCritical": {"Reading": -4.0}},
    }
    more = {
        "/Chassis/C": {
            "ChassisType": "RackMount",
            "ThermalSubsystem": {"@odata.id": f"{ROOT}/Chassis/C/ThermalSubsystem"},
            "Sensors": {"@odata.id": f"{ROOT}/Chassis/C/Sensors"},
            "Links": {},
        },
        "/Chassis/C/Sensors": sensors,
        "/Chassis/C/Sensors/TLIMIT": tlimit,
    }
    _, health = captured(tmp_path, thermal, more)
    (phrase,) = judge_health(health, RULES, Environment()).refusals
    assert phrase.startswith("TLIMIT reads -4.5 C and its BMC calls -4 C critical")


def test_the_box_is_found_where_the_host_links_only_to_what_is_inside_of_it(tmp_path: Path) -> None:
    """A GB300 tray's system links to the chassis of its BMC; the tray, which is cooled by liquid, lists both."""
    inner, box = {"@odata.id": f"{ROOT}/Chassis/C"}, {"@odata.id": f"{ROOT}/Chassis/Chassis_0"}
    detection = "/Chassis/Chassis_0/ThermalSubsystem/LeakDetection"
    more = {
        "/Chassis/C": {"ChassisType": "Module", "Links": {}},
        "/Chassis": {"Members": [inner, box]},
        "/Chassis/Chassis_0": {
            "ChassisType": "RackMount",
            "Links": {"ComputerSystems": [{"@odata.id": f"{ROOT}/Systems/DGX"}], "Contains": [inner]},
            "ThermalSubsystem": {"@odata.id": f"{ROOT}/Chassis/Chassis_0/ThermalSubsystem"},
        },
        "/Chassis/Chassis_0/ThermalSubsystem": {"LeakDetection": {"@odata.id": ROOT + detection}},
        detection: {"LeakDetectorGroups": [{"Detectors": [{"DeviceName": "tray", "DetectorState": "Critical"}]}]},
    }
    leaks, _ = captured(tmp_path, {}, more)
    assert [one.name for one in leaks.wet] == ["tray"]
