"""What the Redfish adapter puts on the wire, and what each failure becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from nodeworthy.adapters.bmc_redfish import RedfishBmc, RedfishDirectory
from nodeworthy.adapters.bmc_redfish_updates import read_update
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.errors import OutcomeUnknown, Permanent, Transient
from nodeworthy.evidence.inventory import FirmwareItem
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.ports import Power
from nodeworthy.qualification.sku import BmcProfile, Sku

from tests.doubles.bench import library
from tests.doubles.tiny_bmc import RESET, SYSTEM, UPDATE, TinyBmc, tiny_bmc

PROFILE = BmcProfile("DGX", "HGX_Baseboard_0", read_timeout=timedelta(seconds=1))
SKU = Sku("h100-sxm-8", 1, ("DGXH100",), (), PROFILE, "set", 8, 18)
SESSIONS = "/redfish/v1/SessionService/Sessions"
LOGS = f"{SYSTEM}/LogServices"


@pytest.fixture
def tiny() -> Iterator[TinyBmc]:
    """A tiny BMC."""
    with tiny_bmc() as bmc:
        yield bmc


def node_of(bmc: TinyBmc) -> FleetNode:
    """The manifest row of the tiny BMC."""
    return FleetNode("gpu-a01", "123", "h100-sxm-8", "p", "A1", 1, BmcAddress(bmc.address))


def directory(password: str = "right") -> RedfishDirectory:
    """A directory with credentials."""
    return RedfishDirectory(lambda: ("admin", password), SystemClock())


@pytest.fixture
def session(tiny: TinyBmc) -> Iterator[RedfishBmc]:
    """An open session."""
    with directory().open(node_of(tiny), SKU) as bmc:
        yield bmc


def test_the_session_is_closed_whatever_happens(tiny: TinyBmc) -> None:
    """An error inside the block leaves no session behind."""
    with suppress(RuntimeError), directory().open(node_of(tiny), SKU):
        assert tiny.open_sessions == 1
        raise RuntimeError
    assert tiny.open_sessions == 0


def test_a_refused_login_is_tried_once_and_never_as_basic(tiny: TinyBmc) -> None:
    """A second try would be a step nearer to lock-out; the password is in no message."""
    with pytest.raises(Permanent) as refused, directory("hunter2").open(node_of(tiny), SKU):
        pass
    assert tiny.count("POST", SESSIONS) == 1
    assert all("Authorization" not in headers for _, _, headers, _ in tiny.requests)
    assert "nodeworthy_bmc" in refused.value.sentence
    assert "hunter2" not in repr(refused.value) + repr(refused.value.__cause__)


def test_a_bmc_is_asked_without_the_environment_s_proxy(tiny: TinyBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's proxy does not reach a management network, and has no business reading BMC logins."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with directory().open(node_of(tiny), SKU) as bmc:
        assert bmc.state().power is Power.ON


def test_state_reads_the_pinned_system(session: RedfishBmc) -> None:
    """The baseboard is listed first and is not asked."""
    state = session.state()
    assert state.power is Power.ON
    assert state.last_reset == datetime(2026, 11, 30, 11, 0, tzinfo=UTC)


def test_an_unknown_system_id_lists_what_was_seen(tiny: TinyBmc) -> None:
    """No match never means all, or the first."""
    sku = replace(SKU, bmc=replace(PROFILE, system_id="System_0"))
    with (
        directory().open(node_of(tiny), sku) as bmc,
        pytest.raises(Permanent, match="its BMC lists DGX, HGX_Baseboard_0"),
    ):
        bmc.state()


def test_reset_is_posted_once_with_its_effect_id_and_without_etag(tiny: TinyBmc, session: RedfishBmc) -> None:
    """One POST, our header, no If-Match."""
    session.reset("ForceRestart", effect_id="fx-1")
    (request,) = [request for request in tiny.requests if request[1] == RESET]
    assert request[2]["X-Nodeworthy-Effect"] == "fx-1"
    assert "If-Match" not in request[2]
    assert request[3] == {"ResetType": "ForceRestart"}


def test_a_reset_that_the_bmc_does_not_list_is_not_sent(tiny: TinyBmc, session: RedfishBmc) -> None:
    """The sentence names what is allowed."""
    with pytest.raises(Permanent, match="its BMC allows On, ForceRestart"):
        session.reset("PowerCycle", effect_id="fx-1")
    assert tiny.count("POST", RESET) == 0


@pytest.mark.parametrize("failure", ["hang", "cut"])
def test_a_lost_answer_is_an_unknown_outcome_and_is_sent_once(tiny: TinyBmc, session: RedfishBmc, failure: str) -> None:
    """After a time-out or a cut connection the action is not repeated."""
    tiny.fails["POST", RESET] = failure
    with pytest.raises(OutcomeUnknown, match="whether it took effect is unknown"):
        session.reset("On", effect_id="fx-1")
    assert tiny.count("POST", RESET) == 1


@pytest.mark.parametrize(("status", "kind"), [(503, Transient), (400, Permanent), (401, Permanent), (409, Permanent)])
def test_an_action_that_the_bmc_refuses_is_sent_once(
    tiny: TinyBmc, session: RedfishBmc, status: int, kind: type[Exception]
) -> None:
    """An answer, even a bad one, is an answer: nothing was done and nothing is repeated."""
    tiny.fails["POST", RESET] = status
    with pytest.raises(kind):
        session.reset("On", effect_id="fx-1")
    assert tiny.count("POST", RESET) == 1


def test_a_bmc_that_is_not_there_is_transient_and_quick() -> None:
    """A refused connection costs no retries: our own policy owns them."""
    node = FleetNode("gpu-a01", "123", "s", "p", "A1", 1, BmcAddress("http://127.0.0.1:9"))
    quiet = "got no answer: check that the BMC has power and network"
    with pytest.raises(Transient, match=quiet), directory().open(node, SKU):
        pass


def test_a_bmc_that_fell_silent_before_an_action_is_transient(tiny: TinyBmc) -> None:
    """A connection that never came about proves that nothing was sent."""
    with directory().open(node_of(tiny), SKU) as bmc:
        bmc._door._connector._url = "http://127.0.0.1:9"
        with pytest.raises(Transient):
            bmc._door.act("/x", {}, effect_id="fx-1")
        bmc._door._connector._url = tiny.address


def test_set_boot_orders_http_once_with_mode_and_etag(tiny: TinyBmc, session: RedfishBmc) -> None:
    """One PATCH; the quirk leaves the mode out."""
    session.set_boot("http://images/x.efi", effect_id="fx-2")
    (request,) = [request for request in tiny.requests if request[0] == "PATCH"]
    assert request[2]["If-Match"] == '"abc"'
    assert request[3]["Boot"] == {
        "BootSourceOverrideTarget": "UefiHttp",
        "BootSourceOverrideEnabled": "Once",
        "BootSourceOverrideMode": "UEFI",
        "HttpBootUri": "http://images/x.efi",
    }
    assert session.state().boot_override_uri == "http://images/x.efi"


def test_the_boot_mode_is_left_out_where_the_bmc_has_none(tiny: TinyBmc) -> None:
    """Quirk 11: sending BootSourceOverrideMode fails on some BMCs."""
    sku = replace(SKU, bmc=replace(PROFILE, quirks=("boot-mode-absent",)))
    with directory().open(node_of(tiny), sku) as bmc:
        bmc.set_boot("http://images/x.efi", effect_id="fx-2")
    (request,) = [request for request in tiny.requests if request[0] == "PATCH"]
    assert "BootSourceOverrideMode" not in request[3]["Boot"]


def test_a_bmc_that_cannot_boot_over_http_says_what_it_can(tiny: TinyBmc, session: RedfishBmc) -> None:
    """Nothing is sent."""
    tiny.resources[SYSTEM]["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] = ["None", "Pxe"]
    with pytest.raises(Permanent, match="allows only None, Pxe"):
        session.set_boot("http://images/x.efi", effect_id="fx-2")
    assert all(method != "PATCH" for method, *_ in tiny.requests)


def test_an_update_names_its_target_and_returns_the_location(tiny: TinyBmc, session: RedfishBmc) -> None:
    """The Location header goes before the body's own id, which is some other resource on some BMCs."""
    item = FirmwareItem("BIOS", "1.0", True, "/redfish/v1/UpdateService/FirmwareInventory/BIOS")
    assert session.start_update(item, "http://fw/BIOS/1.1.bin", effect_id="fx-3") == "/redfish/v1/Tasks/Tasks/1"
    (request,) = [request for request in tiny.requests if request[1] == UPDATE]
    assert request[3] == {"ImageURI": "http://fw/BIOS/1.1.bin", "TransferProtocol": "HTTP", "Targets": [item.uri]}


def test_firmware_is_read_with_versions(session: RedfishBmc) -> None:
    """Ids are the BMC's own."""
    assert [(item.id, item.version, item.updateable) for item in session.firmware()] == [("BIOS", "1.0", True)]


def test_an_inventory_of_a_poor_bmc_says_what_it_lacks(session: RedfishBmc) -> None:
    """Absent collections are named, and the serial is trimmed."""
    inventory = session.inventory()
    assert inventory.serial == "123"
    assert "Memory of DGX (not announced)" in inventory.lacks
    assert not inventory.simulated


@pytest.mark.parametrize(
    ("status", "body", "running", "succeeded", "unclear"),
    [
        (200, {"TaskState": "Running", "PercentComplete": 100}, True, False, False),
        (202, {}, True, False, False),
        (202, {"TaskState": "Completed", "TaskStatus": "OK"}, False, True, False),
        (200, {"TaskState": "Completed", "TaskStatus": "OK"}, False, True, False),
        (200, {"TaskState": "Completed", "TaskStatus": "Critical"}, False, False, True),
        (200, {"TaskState": "Exception", "TaskStatus": "Critical"}, False, False, False),
        (200, {"TaskState": "Cancelled", "TaskStatus": "OK"}, False, False, False),
        (404, {}, False, False, True),
        (204, {}, False, True, False),
    ],
)
def test_a_task_ends_by_its_state_alone(
    status: int, body: dict[str, str], running: bool, succeeded: bool, unclear: bool
) -> None:
    """100 per cent is no end, Completed with a bad status no success, and a vanished task no outcome."""
    state = read_update("/t/1", status, body)
    assert (state.running, state.succeeded, state.unclear) == (running, succeeded, unclear)


@pytest.mark.parametrize("status", [404, 405, 500])
def test_a_log_that_is_announced_and_not_served_is_a_gap(tiny: TinyBmc, session: RedfishBmc, status: int) -> None:
    """For every other resource 405 and 500 are errors; a log may be missing."""
    tiny.resources[SYSTEM]["LogServices"] = {"@odata.id": LOGS}
    tiny.fails["GET", LOGS] = status
    assert f"LogServices of DGX answers {status}" in session.event_log(library().log_rules()).gaps


def test_the_log_of_a_busy_bmc_is_read_later(tiny: TinyBmc, session: RedfishBmc) -> None:
    """503 says nothing of the log: the step is tried again."""
    tiny.resources[SYSTEM]["LogServices"] = {"@odata.id": LOGS}
    tiny.fails["GET", LOGS] = 503
    with pytest.raises(Transient, match="busy, restarting"):
        session.event_log(library().log_rules())


def test_an_own_account_with_the_factorys_password_is_refused_at_login(tiny: TinyBmc) -> None:
    """The BMC lets it in to change the password alone (DSP0266): said as that, and the session is deleted."""
    message = {"MessageId": "Base.1.18.PasswordChangeRequired"}
    tiny.login_answer = {"@Message.ExtendedInfo": [message]}
    with pytest.raises(Permanent, match="it is still the factory's"), directory().open(node_of(tiny), SKU):
        pass
    assert tiny.open_sessions == 0
