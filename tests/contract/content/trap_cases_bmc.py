"""What a BMC tells beside its inventory: events, metrics, sensors, in the form of `trap_cases`."""

from __future__ import annotations

import json
from typing import Any

LOG = "/redfish/v1/Systems/System_0/LogServices/EventLog/Entries"


def log(*entries: dict[str, Any]) -> str:
    """An event log that was read with $expand."""
    members = [
        {"@odata.id": f"{LOG}/{place}", "@odata.type": "#LogEntry.v1_13_0.LogEntry", **entry}
        for place, entry in enumerate(entries)
    ]
    head = {"@odata.id": LOG, "@odata.type": "#LogEntryCollection.LogEntryCollection"}
    return json.dumps({**head, "Members": members, "Members@odata.count": len(members)})


def event(message: str, severity: str, **more: Any) -> dict[str, Any]:
    """One entry of a log."""
    return {"MessageId": message, "Severity": severity, "Message": "as the registry says", **more}


def metrics(kind: str, **values: Any) -> str:
    """One resource of metrics."""
    head = {"@odata.id": f"/redfish/v1/Systems/HGX_Baseboard_0/{kind}", "@odata.type": f"#{kind}.v1_6_1.{kind}"}
    return json.dumps({**head, **values})


FANS = event("Environmental.1.1.FanFailed", "Warning")
QUIET = {"CorrectableECCErrorCount": 3, "UncorrectableECCErrorCount": 0}


def sensor(reading: float, **thresholds: float) -> str:
    """One sensor with its limits."""
    limits = {name: {"Reading": limit} for name, limit in thresholds.items()}
    return json.dumps(
        {"@odata.id": "/s", "@odata.type": "#Sensor.v1_7_0.Sensor", "Reading": reading, "Thresholds": limits}
    )


def detector(state: str) -> str:
    """One detector of leaks."""
    head = {"@odata.id": "/l", "@odata.type": "#LeakDetector.v1_0_1.LeakDetector"}
    return json.dumps({**head, "DetectorState": state, "Status": {"Health": "OK", "State": "Enabled"}})


def system(**status: str) -> str:
    """One system with its health."""
    head = {"@odata.id": "/redfish/v1/Systems/1", "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem"}
    return json.dumps({**head, "Status": {"State": "Enabled", **status}})


REFUSED = json.dumps({"error": {"code": "Base.1.8.GeneralError", "message": "service temporarily unavailable"}})

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("a log without faults", "redfish", log(event("ResourceEvent.1.0.3.ResourceCreated", "OK")), "pass", ""),
    ("a fan that failed", "redfish", log(FANS), "fail", "FanFailed"),
    ("a fan that failed and was seen to", "redfish", log({**FANS, "Resolved": True}), "pass", ""),
    (
        "a leak that is a warning",
        "redfish",
        log(event("Environmental.1.1.LeakDetectedWarning", "Warning")),
        "fail",
        "liquid",
    ),
    ("a vendor's message that is OK", "redfish", log(event("IDRAC.2.8.SYS1003", "OK")), "pass", ""),
    ("a vendor's message that warns", "redfish", log(event("IDRAC.2.8.FOO1", "Warning")), "incomplete", "catalogue"),
    ("a vendor's message that is critical", "redfish", log(event("IDRAC.2.8.FOO2", "Critical")), "fail", "FOO2"),
    (
        "a watched message that is critical here",
        "redfish",
        log(event("ResourceEvent.1.0.3.ResourceErrorsCorrected", "Critical")),
        "fail",
        "Corrected",
    ),
    ("an event of no registry", "redfish", log({"Severity": "Warning", "Message": "?"}), "incomplete", "no message"),
    ("memory without errors", "redfish", metrics("MemoryMetrics", CurrentPeriod=QUIET, LifeTime=QUIET), "pass", ""),
    (
        "memory with errors now",
        "redfish",
        metrics("MemoryMetrics", CurrentPeriod={**QUIET, "UncorrectableECCErrorCount": 1}),
        "fail",
        "Uncorrectable",
    ),
    (
        "memory with errors long ago",
        "redfish",
        metrics("MemoryMetrics", CurrentPeriod=QUIET, LifeTime={**QUIET, "UncorrectableECCErrorCount": 2}),
        "pass",
        "LifeTime",
    ),
    (
        "an alarm that tripped",
        "redfish",
        metrics("MemoryMetrics", HealthData={"AlarmTrips": {"Temperature": True}}),
        "fail",
        "AlarmTrips",
    ),
    (
        "fatal errors of a link",
        "redfish",
        metrics("ProcessorMetrics", PCIeErrors={"FatalErrorCount": 1}),
        "incomplete",
        "FatalErrorCount",
    ),
    (
        "a link that trained badly",
        "redfish",
        metrics("PortMetrics", Oem={"Nvidia": {"NVLinkErrors": {"TrainingError": True}}}),
        "fail",
        "TrainingError",
    ),
    ("a fan that stands", "redfish", sensor(900, LowerCritical=2204), "fail", "lower critical"),
    ("air that is too warm", "redfish", sensor(45, UpperCritical=43), "fail", "upper critical"),
    ("a sensor within its limits", "redfish", sensor(30, LowerCritical=2, UpperCritical=43), "pass", ""),
    ("a detector that sees nothing", "redfish", detector("Unavailable"), "incomplete", "nobody watches"),
    ("a detector that is dry", "redfish", detector("OK"), "pass", ""),
    ("a part below is critical", "redfish", system(Health="OK", HealthRollup="Critical"), "fail", "below"),
    ("a system that is well", "redfish", system(Health="OK", HealthRollup="OK"), "pass", ""),
    ("a BMC that refuses", "redfish", REFUSED, "tool-error", "GeneralError"),
)
