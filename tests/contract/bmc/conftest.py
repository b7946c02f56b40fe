"""The BMC port twice: the real adapter over TLS against the lab, and the double that procedures are tried against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.bmc_redfish import RedfishDirectory
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.ports import BmcDirectory
from nodeworthy.qualification.sku import Sku

from tests.contract.redfish.conftest import PASSWORD, USERNAME, ServedLab, lab, served_lab
from tests.doubles.bench import healthy_inventory, node_of
from tests.doubles.machine import Machine, MachineBmcs

__all__ = ["lab", "served_lab"]

LIBRARY = YamlLibrary(Path(__file__).parents[3] / "include")


@dataclass
class Offer:
    """A BMC on offer: how to open it, and how to let time pass until all that is under way has ended."""

    directory: BmcDirectory
    node: FleetNode
    sku: Sku
    pass_time: Callable[[], Any]


def lab_node(lab: ServedLab, name: str) -> FleetNode:
    """The manifest row of a lab node."""
    truth = lab.world.nodes[name]
    address = BmcAddress(lab.url, f"/bmc/{name}/redfish/v1/", lab.ca_file)
    return FleetNode(name, truth.serial, truth.sku, "default", truth.rack, 1, address)


def lab_directory() -> RedfishDirectory:
    """The real adapter with the lab's credentials."""
    return RedfishDirectory(lambda: (USERNAME, PASSWORD), SystemClock())


@pytest.fixture(params=["lab", "double"])
def offer(request: pytest.FixtureRequest) -> Iterator[Offer]:
    """A healthy H100 node behind either implementation."""
    sku = LIBRARY.sku("h100-sxm-8")
    if request.param == "double":
        machine = Machine(healthy_inventory())
        yield Offer(MachineBmcs(machine), node_of(), sku, machine.pass_time)
        return
    served: ServedLab = request.getfixturevalue("lab")
    node = lab_node(served, served.take())
    yield Offer(lab_directory(), node, sku, lambda: served.advance(minutes=30))
