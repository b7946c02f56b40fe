"""The fleet manifest `nodeworthy.fleet/1`: what a data centre team knows of the fleet before power-on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.truth.node import LabNode
from lab.truth.parts import base_parts
from lab.truth.world import World


def fleet_manifest(world: World, redfish_url: str, ca_file: Path) -> dict[str, Any]:
    """Every node as it was ordered and cabled: faults do not show here. `ca_file` verifies the BMCs' TLS."""
    nodes = [_node(node, redfish_url, str(ca_file.resolve())) for node in world.nodes.values()]
    return {"schema": "nodeworthy.fleet/1", "site": world.site, "nodes": nodes}


def _node(node: LabNode, redfish_url: str, ca_file: str) -> dict[str, Any]:
    spec = node.spec
    return {
        "name": node.name,
        "serial": node.serial,
        "sku": node.sku,
        "pool": spec.pool,
        "tenant": spec.tenant,
        "rack": spec.rack,
        "position": spec.position,
        "fabric_domain": spec.fabric_domain,
        "batch": spec.batch,
        "bmc": {"address": redfish_url, "root": f"/bmc/{node.name}/redfish/v1/", "ca_file": ca_file},
        # A capture's cables are not the lab's; whoever replays one writes them into a manifest of his own.
        "cabling": []
        if spec.replay
        else [{"interface": nic.interface, "switch": nic.switch, "port": nic.port} for nic in base_parts(node).nics],
    }
