"""Logins, power, boot and firmware: what a BMC does, with the lab's clock moved by hand."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import sushy

from .conftest import PASSWORD, USERNAME, ServedLab

SESSIONS = "/redfish/v1/SessionService/Sessions"
HOST = "/redfish/v1/Systems/DGX"
RESET = HOST + "/Actions/ComputerSystem.Reset"
BOARD = "/redfish/v1/Systems/HGX_Baseboard_0"
UPDATE = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"
BIOS_ITEM = "/redfish/v1/UpdateService/FirmwareInventory/HostBIOS_0"
SERVICE_IMAGE = "http://images.lab/service-2026.11.efi"


def _login(client: httpx.Client, password: str = PASSWORD) -> int:
    return client.post(SESSIONS, json={"UserName": USERNAME, "Password": password}).status_code


def test_the_ninth_session_is_refused(lab: ServedLab) -> None:
    """Eight sessions fit; one more is answered 503, and fits after one was closed."""
    with lab.client(lab.take()) as client:
        answers = [client.post(SESSIONS, json={"UserName": USERNAME, "Password": PASSWORD}) for _ in range(9)]
        assert [answer.status_code for answer in answers] == [201] * 8 + [503]
        assert answers[8].json()["error"]["code"].endswith("SessionLimitExceeded")
        token = answers[0].headers["X-Auth-Token"]
        gone = client.delete(f"{SESSIONS}/{answers[0].json()['Id']}", headers={"X-Auth-Token": token})
        assert gone.status_code == 204
        assert _login(client) == 201


def test_five_wrong_passwords_lock_the_account(lab: ServedLab) -> None:
    """The right password is refused after five wrong ones, until the lock's lab time is over."""
    with lab.client(lab.take()) as client:
        assert [_login(client, "wrong") for _ in range(5)] == [401] * 5
        assert _login(client) == 401
        lab.advance(minutes=6)
        assert _login(client) == 201


def test_a_strict_bmc_locks_after_three(lab: ServedLab) -> None:
    """With quirk 9 three wrong passwords are enough, for an hour."""
    with lab.client(lab.take("h100-sxm-8", "lockout-strict")) as client:
        assert [_login(client, "wrong") for _ in range(3)] == [401] * 3
        lab.advance(minutes=30)
        assert _login(client) == 401


def test_basic_authentication_works_too(lab: ServedLab) -> None:
    """A client without a session may send its credentials with every request."""
    with lab.client(lab.take(), auth=(USERNAME, PASSWORD)) as client:
        assert client.get("/redfish/v1/Systems").status_code == 200


def test_a_reset_with_an_override_boots_the_image(lab: ServedLab) -> None:
    """Boot override and reset lead through the stages of POST to an installed system; the override is used up."""
    node = lab.take()
    connection = lab.sushy(node)
    host = connection.get_system(f"/bmc/{node}/redfish/v1/Systems/DGX")
    host.set_system_boot_options(
        target=sushy.BootSource.UEFI_HTTP,
        enabled=sushy.BootSourceOverrideEnabled.ONCE,
        mode=sushy.BootSourceOverrideMode.UEFI,
        http_boot_uri=SERVICE_IMAGE,
    )
    host.reset_system(sushy.ResetType.FORCE_RESTART)
    stages = []
    with lab.logged_in(node) as client:
        for _ in range(12):
            stages.append(client.get(HOST).json()["BootProgress"]["LastState"])
            lab.advance(seconds=45)
        boot = client.get(HOST).json()["Boot"]
    assert stages[:2] == ["PrimaryProcessorInitializationStarted", "MemoryInitializationStarted"]
    assert stages[-1] == "OSRunning"
    assert boot["BootSourceOverrideEnabled"] == "Disabled"
    assert lab.world.nodes[node].machine.disk_image == "service-2026.11"
    assert [row.kind for row in lab.world.effects if row.node == node] == ["boot-override", "reset"]


def test_an_effect_id_is_recorded(lab: ServedLab) -> None:
    """The header X-Nodeworthy-Effect is kept with what was done."""
    node = lab.take()
    with lab.logged_in(node) as client:
        headers = {"X-Nodeworthy-Effect": "effect-17"}
        assert client.post(RESET, json={"ResetType": "ForceOff"}, headers=headers).status_code == 204
    assert [row.effect_id for row in lab.world.effects if row.node == node] == ["effect-17"]


def test_an_unknown_reset_type_is_refused_with_the_list(lab: ServedLab) -> None:
    """A value that is not allowed names those that are, and nothing happens."""
    node = lab.take()
    with lab.logged_in(node) as client:
        answer = client.post(RESET, json={"ResetType": "Explode"})
        assert answer.status_code == 400
        assert "ForceRestart" in answer.json()["error"]["message"]
        assert client.post(BOARD + "/Actions/ComputerSystem.Reset", json={"ResetType": "On"}).status_code == 404
    assert lab.world.nodes[node].machine.power == "On"


def test_the_baseboard_is_silent_while_the_host_is_off(lab: ServedLab) -> None:
    """Quirk 3: 503 while off and until the baseboard's controller has started, 200 afterwards."""
    with lab.logged_in(lab.take()) as client:
        assert client.get(BOARD).status_code == 200
        client.post(RESET, json={"ResetType": "ForceOff"})
        lab.advance(seconds=10)
        assert client.get(HOST).json()["PowerState"] == "Off"
        assert client.get(BOARD + "/Processors").status_code == 503
        client.post(RESET, json={"ResetType": "On"})
        lab.advance(seconds=10)
        assert client.get(BOARD).status_code == 503
        lab.advance(seconds=60)
        assert client.get(BOARD).status_code == 200


def _update(client: httpx.Client, version: str = "1.07.01", item: str = "HostBIOS_0") -> httpx.Response:
    return client.post(UPDATE, json={"ImageURI": f"http://firmware.lab/{item}/{version}.bin"})


def _monitor(lab: ServedLab, node: str, answer: httpx.Response) -> str:
    return answer.headers["Location"].removeprefix(f"/bmc/{node}")


def test_an_update_is_a_task_that_a_reset_activates(lab: ServedLab) -> None:
    """202, a monitor that says 202 until it is done, the old version until the reset, then the new one."""
    node = lab.take()
    with lab.logged_in(node) as client:
        answer = _update(client)
        assert (answer.status_code, answer.headers["Retry-After"]) == (202, "1")
        assert client.get(_monitor(lab, node, answer)).status_code == 202
        lab.advance(seconds=120)
        assert client.get(_monitor(lab, node, answer)).json()["PercentComplete"] == 50
        lab.advance(seconds=130)
        done = client.get(_monitor(lab, node, answer))
        assert (done.status_code, done.json()["TaskState"]) == (200, "Completed")
        assert client.get(BIOS_ITEM).json()["Version"] == "1.06.07"
        client.post(RESET, json={"ResetType": "ForceRestart"})
        assert client.get(BIOS_ITEM).json()["Version"] == "1.07.01"
        assert client.get(HOST).json()["BiosVersion"] == "1.07.01"


def test_one_update_at_a_time(lab: ServedLab) -> None:
    """A second update is answered 409 while the first one runs."""
    with lab.logged_in(lab.take()) as client:
        assert _update(client).status_code == 202
        assert _update(client).status_code == 409


def test_the_bmc_goes_away_to_update_itself(lab: ServedLab) -> None:
    """A BMC that has updated itself restarts: 503, sessions gone, then the new version."""
    node = lab.take()
    with lab.logged_in(node) as client:
        _update(client, "24.12.01", "HostBMC_0")
        lab.advance(seconds=301)
        assert client.get("/redfish/v1/").status_code == 503
        lab.advance(seconds=61)
        assert client.get("/redfish/v1/Systems").status_code == 401
    with lab.logged_in(node) as client:
        item = client.get("/redfish/v1/UpdateService/FirmwareInventory/HostBMC_0").json()
    assert item["Version"] == "24.12.01"


@pytest.mark.parametrize(
    ("fault", "state", "version"),
    [("firmware-stuck", "Completed", "1.06.07"), ("firmware-task-fails", "Exception", "1.06.07")],
)
def test_firmware_faults(lab: ServedLab, fault: str, state: str, version: str) -> None:
    """A stuck update says Completed and changes nothing; a failing one ends in Exception."""
    node = lab.take()
    lab.do(lab.world.inject, node, fault)
    with lab.logged_in(node) as client:
        answer = _update(client)
        lab.advance(minutes=5)
        assert client.get(_monitor(lab, node, answer)).json()["TaskState"] == state
        client.post(RESET, json={"ResetType": "PowerCycle"})
        lab.advance(minutes=1)
        assert client.get(BIOS_ITEM).json()["Version"] == version


def test_some_firmware_wants_the_cord_pulled(lab: ServedLab) -> None:
    """Quirk 15: a reset does not activate, and the AC cycle is refused until the chassis is off."""
    node = lab.take("h100-sxm-8", "ac-cycle-activation")
    cycle = "/redfish/v1/Chassis/DGX/Actions/Oem/NvidiaChassis.AuxPowerReset"
    with lab.logged_in(node) as client:
        _update(client)
        lab.advance(minutes=5)
        client.post(RESET, json={"ResetType": "ForceRestart"})
        assert client.get(BIOS_ITEM).json()["Version"] == "1.06.07"
        assert client.post(cycle, json={"ResetType": "AuxPowerCycle"}).status_code == 400
        client.post(RESET, json={"ResetType": "ForceOff"})
        lab.advance(minutes=1)
        assert client.post(cycle, json={"ResetType": "AuxPowerCycle"}).status_code == 204
        assert client.get("/redfish/v1/").status_code == 503
    lab.advance(minutes=2)
    with lab.logged_in(node) as client:
        assert client.get(BIOS_ITEM).json()["Version"] == "1.07.01"
        assert client.get(HOST).json()["PowerState"] == "On"


def test_a_task_may_vanish(lab: ServedLab) -> None:
    """Quirk 13: Completed with status Critical, and 404 a little later."""
    node = lab.take("h100-sxm-8", "task-vanishes")
    with lab.logged_in(node) as client:
        path = _monitor(lab, node, _update(client))
        lab.advance(seconds=239)
        assert client.get(path).json()["PercentComplete"] == 100
        lab.advance(seconds=2)
        assert client.get(path).json()["TaskStatus"] == "Critical"
        lab.advance(seconds=10)
        assert client.get(path).status_code == 404


def test_a_bmc_may_restart_in_an_update(lab: ServedLab) -> None:
    """Quirk 14: the job is 404 at first, the BMC is gone in the middle, and the update goes through all the same."""
    node = lab.take("h100-sxm-8", "bmc-restarts-in-update")
    with lab.logged_in(node) as client:
        path = _monitor(lab, node, _update(client))
        assert client.get(path).status_code == 404
        lab.advance(seconds=121)
        assert client.get(path).status_code == 503
    lab.advance(seconds=130)
    with lab.logged_in(node) as client:
        assert client.get(path).json()["TaskState"] == "Completed"


def test_etags_may_be_demanded(lab: ServedLab) -> None:
    """Quirk 7: PATCH without If-Match is 428, with a stale one 412; an action with one is 412; sushy copes."""
    node = lab.take("h100-sxm-8", "etag-strict")
    boot = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}
    with lab.logged_in(node) as client:
        assert client.patch(HOST, json=boot).status_code == 428
        assert client.patch(HOST, json=boot, headers={"If-Match": '"stale"'}).status_code == 412
        tag = client.get(HOST).headers["ETag"]
        assert client.post(RESET, json={"ResetType": "On"}, headers={"If-Match": tag}).status_code == 412
        assert client.patch(HOST, json=boot, headers={"If-Match": tag}).status_code == 204
    host: Any = lab.sushy(node).get_system(f"/bmc/{node}/redfish/v1/Systems/DGX")
    host.set_system_boot_options(target=sushy.BootSource.HDD, enabled=sushy.BootSourceOverrideEnabled.ONCE)
    assert lab.world.nodes[node].machine.override.target == "Hdd"


def test_the_boot_mode_may_be_unknown(lab: ServedLab) -> None:
    """Quirk 11: BootSourceOverrideMode is absent, sending it or the target None is refused."""
    with lab.logged_in(lab.take("h100-sxm-8", "boot-mode-absent")) as client:
        assert "BootSourceOverrideMode" not in client.get(HOST).json()["Boot"]
        assert client.patch(HOST, json={"Boot": {"BootSourceOverrideMode": "UEFI"}}).status_code == 400
        assert client.patch(HOST, json={"Boot": {"BootSourceOverrideTarget": "None"}}).status_code == 400


def test_a_boot_override_may_be_ignored(lab: ServedLab) -> None:
    """Quirk 10: the override is accepted, and the machine comes back without the image."""
    node = lab.take("h100-sxm-8", "boot-once-ignored")
    boot = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": SERVICE_IMAGE}
    with lab.logged_in(node) as client:
        assert client.patch(HOST, json={"Boot": boot}).status_code == 204
        client.post(RESET, json={"ResetType": "ForceRestart"})
        lab.advance(minutes=10)
        assert client.get(HOST).json()["BootProgress"]["LastState"] == "SetupEntered"


def test_a_reset_may_take_its_time(lab: ServedLab) -> None:
    """Quirk 12: 204 at once, the effect a minute later, and no GracefulRestart."""
    with lab.logged_in(lab.take("h100-sxm-8", "reset-slow")) as client:
        assert client.post(RESET, json={"ResetType": "GracefulRestart"}).status_code == 400
        assert client.post(RESET, json={"ResetType": "ForceOff"}).status_code == 204
        lab.advance(seconds=30)
        assert client.get(HOST).json()["PowerState"] == "On"
        lab.advance(seconds=40)
        assert client.get(HOST).json()["PowerState"] == "Off"


def test_leaked_sessions_stay(lab: ServedLab) -> None:
    """Quirk 8: sessions never time out, so the limit stays reached."""
    node = lab.take("h100-sxm-8", "sessions-leak")
    with lab.client(node) as client:
        assert [_login(client) for _ in range(9)][-1] == 503


def test_bios_attributes_wait_for_a_reset(lab: ServedLab) -> None:
    """A BIOS attribute is pending until POST has run; an unknown one is refused."""
    node = lab.take()
    host = lab.sushy(node).get_system(f"/bmc/{node}/redfish/v1/Systems/DGX")
    host.bios.set_attribute("AcsControl", "Enabled")
    host.bios.refresh(force=True)
    assert host.bios.attributes["AcsControl"] == "Disabled"
    assert host.bios.pending_attributes["AcsControl"] == "Enabled"
    host.reset_system(sushy.ResetType.FORCE_RESTART)
    host.bios.refresh(force=True)
    assert host.bios.attributes["AcsControl"] == "Enabled"
    with lab.logged_in(node) as client:
        body = {"Attributes": {"Nonsense": 1}}
        assert client.patch(HOST + "/Bios/Settings", json=body).status_code == 400


def test_a_silent_bmc_times_out(lab: ServedLab) -> None:
    """The connection is taken and nothing comes back."""
    node = lab.take()
    lab.do(lab.world.inject, node, "bmc-silent")
    with lab.client(node) as client, pytest.raises(httpx.ReadTimeout):
        client.get("/redfish/v1/", timeout=0.3)


def test_a_refused_login(lab: ServedLab) -> None:
    """The right password is refused while the fault lies over the BMC."""
    node = lab.take()
    lab.do(lab.world.inject, node, "bmc-login-refused")
    with lab.client(node) as client:
        assert _login(client) == 401
        lab.do(lab.world.faults.heal, node)
        assert _login(client) == 201
