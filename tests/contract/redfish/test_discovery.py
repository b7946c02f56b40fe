"""What the product reads from a BMC, read with the real sushy."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import ServedLab


def test_the_root_is_open_and_the_rest_is_not(lab: ServedLab) -> None:
    """Anyone may read the service root; anything below it needs a login."""
    with lab.client(lab.take()) as client:
        assert client.get("/redfish/v1").status_code == 200
        assert client.get("/redfish/v1/").json()["RedfishVersion"] == "1.15.1"
        refused = client.get("/redfish/v1/Systems")
    assert refused.status_code == 401
    assert refused.json()["error"]["@Message.ExtendedInfo"][0]["MessageId"].endswith("NoValidSession")


def test_sushy_walks_a_server(any_bmc: Any) -> None:
    """Systems, managers and the update service can be walked by sushy without a special case."""
    systems = any_bmc.get_system_collection().get_members()
    assert systems
    assert all(manager.identity for manager in any_bmc.get_manager_collection().get_members())
    assert any_bmc.get_update_service().firmware_inventory.get_members()


def test_the_dgx_host_has_what_its_sku_says(lab: ServedLab) -> None:
    """The host of a DGX H100: 2 CPUs, 2 TiB of memory, 11 interfaces, 10 drives."""
    host = _host(lab, "h100-sxm-8", "DGX")
    assert [cpu.total_cores for cpu in host.processors.get_members()] == [56, 56]
    assert host.memory_summary.size_gib == 2048
    assert len(host.ethernet_interfaces.get_members()) == 11
    (storage,) = host.storage.get_members()
    assert len(storage.drives) == 10
    assert all(drive.serial_number for drive in storage.drives)
    assert host.bios.attributes["SriovEnable"] == "Enabled"
    assert host.secure_boot.enabled


def _host(lab: ServedLab, sku: str, system: str) -> Any:
    node = lab.take(sku)
    return lab.sushy(node).get_system(f"/bmc/{node}/redfish/v1/Systems/{system}")


def test_the_baseboard_lists_the_gpus(lab: ServedLab) -> None:
    """Eight GPUs stand under HGX_Baseboard_0 with serial, UUID, memory and VBIOS version."""
    board = _host(lab, "h100-sxm-8", "HGX_Baseboard_0")
    gpus = [member.json for member in board.processors.get_members()]
    assert len(gpus) == 8
    assert {gpu["ProcessorType"] for gpu in gpus} == {"GPU"}
    assert {gpu["Model"] for gpu in gpus} == {"H100 80GB HBM3"}
    assert len({gpu["SerialNumber"] for gpu in gpus}) == len({gpu["UUID"] for gpu in gpus}) == 8
    assert {gpu["MemorySummary"]["TotalMemorySizeMiB"] for gpu in gpus} == {81559}
    assert {gpu["FirmwareVersion"] for gpu in gpus} == {"96.00.CE.00.01"}


def test_the_supermicro_kind_lists_its_baseboard_first(lab: ServedLab) -> None:
    """The two-system trap: the first system is the baseboard, has a Bios, and cannot be reset."""
    connection = lab.sushy(lab.take("h200-sxm-8"))
    first, second = connection.get_system_collection().get_members()
    assert (first.identity, second.identity) == ("HGX_Baseboard_0", "1")
    assert first.bios.attributes == {}
    assert "Actions" not in first.json
    assert second.get_allowed_reset_system_values()


def test_a_system_that_nobody_pinned(lab: ServedLab) -> None:
    """With quirk 2 the pinned id matches nothing, and the server does not pretend otherwise."""
    node = lab.take("h100-sxm-8", "system-id-unexpected")
    with lab.logged_in(node) as client:
        assert client.get("/redfish/v1/Systems/DGX").status_code == 404
        members = client.get("/redfish/v1/Systems").json()["Members"]
        assert members[0]["@odata.id"] == f"/bmc/{node}/redfish/v1/Systems/Self"


def test_every_reference_stays_below_the_prefix_and_leads_somewhere(lab: ServedLab) -> None:
    """A crawl of the whole tree meets no dead link and never leaves the BMC's own prefix."""
    node = lab.take("h200-sxm-8")
    prefix = f"/bmc/{node}"
    seen: set[str] = set()
    waiting = ["/redfish/v1/"]
    with lab.logged_in(node) as client:
        while waiting:
            path = waiting.pop()
            answer = client.get(path)
            assert answer.status_code in (200, 202), path
            for reference in _references(answer.json()):
                assert reference.startswith(prefix), reference
                target = reference.removeprefix(prefix).partition("#")[0].rstrip("/")
                # One GPU's NVLinks stand for all 144 of them.
                if target not in seen and ("NVLink_" not in target or "GPU_SXM_1/" in target):
                    seen.add(target)
                    waiting.append(target)
    assert len(seen) > 200


def _references(document: Any) -> list[str]:
    if isinstance(document, list):
        return [reference for item in document for reference in _references(item)]
    if not isinstance(document, dict):
        return []
    own = [document["@odata.id"]] if "@odata.id" in document else []
    return own + [reference for value in document.values() for reference in _references(value)]


def test_adapters_show_their_neighbours(lab: ServedLab) -> None:
    """Each port names the switch and port that the manifest's cabling has, and the interface it is on the node."""
    node = lab.take()
    chassis = lab.sushy(node).get_chassis(f"/bmc/{node}/redfish/v1/Chassis/DGX")
    ports = [adapter.ports.get_members()[0].json for adapter in chassis.network_adapters.get_members()]
    seen = {port["Name"]: port["Ethernet"]["LLDPReceive"] for port in ports}
    place = lab.world.nodes[node].index + 1
    assert len(seen) == 11
    assert (seen["eth0"]["SystemName"], seen["eth0"]["PortId"]) == ("leaf-01", f"swp{place}")
    assert seen["eth7"]["SystemName"] == "leaf-08"


def test_one_request_reads_the_whole_firmware_inventory(lab: ServedLab) -> None:
    """$expand=.($levels=1) gives every item with its version in one answer."""
    path = "/redfish/v1/UpdateService/FirmwareInventory"
    with lab.logged_in(lab.take()) as client:
        body = client.get(path + "?$expand=.($levels=1)").json()
        assert client.get(f"{path}/HostBIOS_0").json() in body["Members"]
        processors = client.get("/redfish/v1/Systems/HGX_Baseboard_0/Processors?$expand=.").json()["Members"]
        own = client.get("/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_SXM_1").json()
        assert processors[0] == own
    versions = {item["Id"]: item["Version"] for item in body["Members"]}
    assert body["Members@odata.count"] == len(versions) == 65
    assert versions["HostBIOS_0"] == "1.06.07"


def test_expand_may_lose_required_fields(lab: ServedLab) -> None:
    """With quirk 6 an expanded member has no Name, while the member itself has."""
    path = "/redfish/v1/UpdateService/FirmwareInventory"
    with lab.logged_in(lab.take("h100-sxm-8", "expand-drops-fields")) as client:
        assert "Name" not in client.get(path + "?$expand=.").json()["Members"][0]
        assert "Name" in client.get(path + "/HostBIOS_0").json()


@pytest.mark.parametrize("gone", ["UpdateService", "Tasks"])
def test_fields_and_links_may_be_missing(lab: ServedLab, gone: str) -> None:
    """With quirk 5 a chassis has no type, and links of the root come only after a BMC reset."""
    node = lab.take("h100-sxm-8", "fields-missing")
    with lab.logged_in(node) as client:
        assert "ChassisType" not in client.get("/redfish/v1/Chassis/DGX").json()
        assert gone not in client.get("/redfish/v1/").json()
        client.post("/redfish/v1/Managers/BMC/Actions/Manager.Reset", json={})
    lab.advance(minutes=2)
    with lab.client(node) as client:
        assert gone in client.get("/redfish/v1/").json()


def test_an_unknown_path_is_a_redfish_404(lab: ServedLab) -> None:
    """What is not there is answered with the Base registry's message."""
    with lab.logged_in(lab.take()) as client:
        answer = client.get("/redfish/v1/Systems/DGX/Nothing")
        refused = client.delete("/redfish/v1/Systems/DGX")
    assert answer.status_code == 404
    assert answer.json()["error"]["@Message.ExtendedInfo"][0]["MessageId"].endswith("ResourceMissingAtURI")
    assert refused.status_code == 405
    assert refused.headers["Allow"] == "GET, PATCH"
