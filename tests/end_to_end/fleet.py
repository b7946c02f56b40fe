"""The fleet of the end-to-end tests: the demonstration's eight nodes, one node per fault, and spares to break.

One lab serves all tests, because starting one costs more than most tests. The time limits of the data files are
shortened in a copy, so that what hangs ends within a test's patience; nothing of the product's code knows of it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from stack.layout import REPOSITORY
from tests.end_to_end import captures

OLD_FIRMWARE = {"h100-sxm-8": {"HostBIOS_0": "1.05.03"}, "h200-sxm-8": {"BIOS": "2.3"}}
HEALTHY_IN_WAVE = ("ok-1", "ok-2")
SPARES = ("spare-1", "spare-2", "spare-3", "spare-4", "spare-5", "spare-6", "spare-7")
PAIR, LATE = "pair-1", "late-1"
"""Nodes of pools whose approvals need two people, and whose requests expire at once."""
OWN_RULES = {PAIR: ("careful", {"answers": 2, "expiry": "P1D"}), LATE: ("hasty", {"answers": 1, "expiry": "PT5S"})}
USERS = {"operator": "admin", "keeper": "op", "guest": "user"}
"""Users of the tests' Airflow with its role; the guest has none of ours."""
CRASH_NODES = tuple(f"crash-{number:02d}" for number in range(1, 25))

GROUP_NODES = ("group-1", "group-2", "group-3", "group-4")
SLOW_PORT = "group-3"
RACKS = {rack: tuple(f"{rack}-{number}" for number in (1, 2, 3)) for rack in ("ra", "rb", "rc", "rd")}
"""Four racks of three: a slow leaf port in one, a node that will show an Xid in another, slow uplinks, a late GPU."""
RACK_FAULTS = {"ra-2": "leaf-port-slow", "rd-3": "straggler", **dict.fromkeys(RACKS["rc"], "uplink-slow")}
XID_NODE = "rb-1"

SHORT = {
    "skus/*.yaml": {"read_timeout": "PT5S", "update_deadline": "PT40S", "boot_deadline": "PT30S"},
    "policies/*.yaml": {"node_ready": "PT30S", "power": "PT20S", "bmc_poll": "PT2S", "cluster_poll": "PT2S"},
}
TEST_TIMEOUT_SECONDS = 25
GROUP_TIMEOUT_SECONDS = 90
"""No fault hangs a test of several nodes; a busy machine may be slow to start them."""


def write_fleet(path: Path, faults: dict[str, dict[str, Any]]) -> Path:
    """Write the lab's fleet file; `faults` names the fault of each node of the wave, with what it needs."""
    demo = yaml.safe_load((REPOSITORY / "lab" / "data" / "fleets" / "demo.yaml").read_text())["nodes"]
    wave = [
        _node(f"f-{name}", "faults", number, faults=[{"fault": name, **_of_fault(need)}], **_of_node(need))
        for number, (name, need) in enumerate(faults.items(), 1)
    ]
    healthy = [_node(name, "faults", 90 + number) for number, name in enumerate(HEALTHY_IN_WAVE)]
    captured = [
        _node(name, "faults", 95 + number, replay={kind: str(file) for kind, file in of.items()})
        for number, (name, of) in enumerate(captures.write(path.parent / "captures").items())
    ]
    spares = [_node(name, "spares", number) for number, name in enumerate(SPARES, 1)]
    ruled = [_node(name, "rules", number, pool=pool) for number, (name, (pool, _)) in enumerate(OWN_RULES.items(), 1)]
    crash = [
        _node(name, "crash", number, firmware=OLD_FIRMWARE["h100-sxm-8"]) for number, name in enumerate(CRASH_NODES, 1)
    ]
    groups = [
        _node(name, "groups", number, **_faulty("leaf-port-slow" if name == SLOW_PORT else None))
        for number, name in enumerate(GROUP_NODES, 1)
    ]
    racked = [
        {**_node(name, "racks", number, **_faulty(RACK_FAULTS.get(name))), "rack": rack}
        for rack, names in RACKS.items()
        for number, name in enumerate(names, 1)
    ]
    nodes = [*demo, *wave, *healthy, *captured, *spares, *ruled, *crash, *groups, *racked]
    document = {"schema": "lab.fleet/1", "site": "lab", "nodes": nodes}
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _faulty(fault: str | None) -> dict[str, Any]:
    return {"faults": [{"fault": fault}]} if fault else {}


def _of_node(need: dict[str, Any]) -> dict[str, Any]:
    firmware = {"firmware": OLD_FIRMWARE["h100-sxm-8"]} if need.get("old_firmware") else {}
    return {**firmware, **({"sku": need["sku"]} if "sku" in need else {})}


def _of_fault(need: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in need.items() if name not in ("old_firmware", "sku")}


def _node(name: str, group: str, position: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "sku": "h100-sxm-8", "rack": group, "position": position, "batch": group, **more}


def short_include(target: Path) -> Path:
    """Copy `include/` with short time limits, and return where it is."""
    shutil.copytree(REPOSITORY / "include", target)
    for pattern, limits in SHORT.items():
        for path in target.glob(pattern):
            text = path.read_text()
            for name, value in limits.items():
                text = re.sub(rf"^(\s+{name}:) PT\w+$", rf"\1 {value}", text, flags=re.MULTILINE)
            path.write_text(text)
    people = [{"name": name, "id": name, "roles": ["operator"]} for name in ("operator", "keeper")]
    roles = yaml.safe_load((target / "roles.yaml").read_text())
    (target / "roles.yaml").write_text(yaml.safe_dump({**roles, "people": people}))
    lab = yaml.safe_load((target / "policies" / "lab.yaml").read_text())
    for pool, rule in OWN_RULES.values():
        ruled = {**lab, "pool": pool, "approvals": {"default": {"roles": ["operator"], **rule}}}
        (target / "policies" / f"{pool}.yaml").write_text(yaml.safe_dump(ruled))
    for path in (target / "suites").glob("*.json"):
        limit = GROUP_TIMEOUT_SECONDS if path.name.startswith("m") else TEST_TIMEOUT_SECONDS
        path.write_text(re.sub(r'"timeout_seconds": \d+', f'"timeout_seconds": {limit}', path.read_text()))
    soak = target / "suites" / "l4.json"
    soak.write_text(soak.read_text().replace('"segments": 12', '"segments": 2').replace('["l3"]', '["l1"]'))
    return target
