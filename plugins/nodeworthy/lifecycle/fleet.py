"""What is known about a node before anybody switches it on: the row of the fleet manifest."""

from __future__ import annotations

from dataclasses import dataclass

from nodeworthy.evidence.inventory import Neighbour


@dataclass(frozen=True, slots=True)
class BmcAddress:
    """How to reach a BMC. Credentials never stand here: they come from an Airflow connection."""

    address: str
    root: str = "/redfish/v1/"
    ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node as the data centre team declares it. Identity is the chassis serial."""

    name: str
    serial: str
    sku: str
    pool: str
    rack: str
    position: int
    bmc: BmcAddress
    batch: str = ""
    tenant: str = ""
    fabric_domain: str = ""
    cabling: tuple[Neighbour, ...] = ()
