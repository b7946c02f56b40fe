"""Trees of BMCs with anything anywhere: who reads health, safety and components takes it, or says so."""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from nodeworthy.adapters.bmc_redfish_guard import GuardReader
from nodeworthy.adapters.bmc_redfish_health import HealthReader
from nodeworthy.adapters.bmc_redfish_integrity import IntegrityReader
from nodeworthy.adapters.bmc_redfish_soft import SoftReader
from nodeworthy.adapters.bmc_redfish_tree import Tree
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.errors import NodeworthyError
from nodeworthy.qualification.bmc_health import judge_health, judge_leaks
from nodeworthy.qualification.bmc_security import judge_security
from nodeworthy.qualification.sku import Environment

from tests.doubles.bench import library

ODD: tuple[Any, ...] = (None, 5, -1, "x", "", [], {}, [1], [None], ["a"], {"a": 1}, True, float("inf"), [{}], [[]])


def link(path: str) -> dict[str, str]:
    """A reference."""
    return {"@odata.id": path}


def tree() -> dict[str, Any]:
    """A host in its chassis with a member of everything that is read."""
    status = {"State": "Enabled", "Health": "OK"}
    action = {"#ComponentIntegrity.SPDMGetSignedMeasurements": {"target": "/sign"}}
    limits = {"UpperCritical": {"Reading": 45}, "UpperCaution": {"Reading": 40}, "LowerCritical": {"Reading": 1}}
    group = {"RedundancyGroup": [link("/f")], "MinNeededInGroup": 1, "Status": status}
    return {
        "/": {**link("/"), "AccountService": link("/as"), "Chassis": link("/cs"), "ComponentIntegrity": link("/ci")},
        "/s": {**link("/s"), "Links": {"Chassis": [link("/c")], "ManagedBy": [link("/m")]}, "SecureBoot": link("/sb")},
        "/cs": {"Members": [link("/c")]},
        "/c": {
            **link("/c"),
            "ChassisType": "RackMount",
            **{name: link(f"/{name}") for name in ("ThermalSubsystem", "PowerSubsystem", "Sensors", "Thermal")},
            "Links": {"ContainedBy": link("/cs")},
        },
        "/ThermalSubsystem": {"Fans": link("/fs"), "LeakDetection": link("/ld"), "FanRedundancy": [group]},
        "/fs": {"Members": [link("/f")]},
        "/f": {**link("/f"), "Id": "F", "SpeedPercent": {"Reading": 4}, "Status": status},
        "/ld": {"LeakDetectors": link("/ds"), "LeakDetectorGroups": [{"Detectors": [{"DetectorState": "OK"}]}]},
        "/ds": {"Members": [{**link("/d"), "@odata.type": "d", "DetectorState": "OK"}]},
        "/PowerSubsystem": {"PowerSupplies": link("/ps"), "PowerSupplyRedundancy": [group]},
        "/ps": {"Members": [{**link("/p"), "@odata.type": "p", "LineInputStatus": "Normal", "Status": status}]},
        "/Sensors": {"Members": [link("/t")], "Members@odata.nextLink": "/t"},
        "/t": {**link("/t"), "ReadingType": "Temperature", "Reading": 24, "Thresholds": limits, "Status": status},
        "/Thermal": {"Temperatures": [{"ReadingCelsius": 24, "UpperThresholdCritical": 45}], "Fans": [{"Reading": 9}]},
        "/m": {
            **link("/m"),
            "DateTime": "2026-11-30T12:00:00Z",
            "VirtualMedia": link("/vs"),
            "HostInterfaces": link("/hs"),
        },
        "/vs": {"Members": [{**link("/v"), "Inserted": True, "Image": "i"}]},
        "/hs": {"Members": [{**link("/h"), "CredentialBootstrapping": {"Enabled": True}}]},
        "/as": {"Accounts": link("/us")},
        "/us": {"Members": [{**link("/u"), "Enabled": True, "PasswordChangeRequired": True}]},
        "/sb": {"SecureBootCurrentBoot": "Enabled"},
        "/ci": {"Members": [{**link("/g"), "Id": "G", "Actions": action}]},
    }


def read(bodies: dict[str, Any]) -> tuple[Any, ...]:
    """Read and judge all of it."""

    def ask(path: str) -> tuple[int, Any]:
        body = bodies.get(path)
        return (200, body) if isinstance(body, dict) else (404, {})

    known, soft = Tree(lambda path: ask(path)[1] or None, expand=False), SoftReader(ask, expands=False)
    host, root = ask("/s")[1], ask("/")[1]
    health_rules, security_rules = library().health_rules(), library().security_rules()
    reader = HealthReader(known, soft, health_rules, root)
    leaks, health = reader.leaks(host), reader.health(host)
    guard = GuardReader(soft, SystemClock(), security_rules.asks).read(root, host, None, True)
    with suppress(NodeworthyError):
        IntegrityReader(soft, ask, lambda _, __: (200, {}, {}), "n1").begin(root, {"G": "ab" * 32})
    return (
        judge_leaks(leaks, Environment()),
        judge_health(health, health_rules, Environment()).refusals,
        judge_security(guard, (), security_rules, True, datetime.now(UTC)).refusals,
    )


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document that can be written to."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *places(value[key]))]


def test_the_tree_as_it_is_has_what_it_has() -> None:
    """Otherwise the test below would mutate what nobody reads: an account, a medium, a clock that is behind."""
    leaks, health, security = read(tree())
    assert (leaks, health) == ((), ())
    assert len(security) == 3, security


@pytest.mark.parametrize("seed", range(4))
def test_anything_anywhere_is_taken(seed: int) -> None:
    """Up to six places at once hold what no schema allows; nothing but one of our errors comes out."""
    chance = random.Random(seed)
    whole = tree()
    for _ in range(75):
        bodies = copy.deepcopy(whole)
        for holder, key in chance.sample(places(bodies), chance.randint(1, 6)):
            holder[key] = chance.choice(ODD)
        with suppress(NodeworthyError):
            read(bodies)
