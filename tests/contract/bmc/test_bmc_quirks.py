"""The real adapter against the lab's BMC quirks and BMC faults: each is survived, or refused with its own sentence."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Permanent, Transient
from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.procedures.conform import part_differences
from nodeworthy.qualification.sku import Sku

from tests.contract.bmc.conftest import LIBRARY, lab_directory, lab_node
from tests.contract.redfish.conftest import PASSWORD, ServedLab

IMAGE = "http://images.lab/validation-2026.11.efi"
H100 = LIBRARY.sku("h100-sxm-8")


def with_quirks(sku: Sku, *quirks: str, seconds: float = 10) -> Sku:
    """The SKU with its BMC's quirks written down, as an operator would."""
    return replace(sku, bmc=replace(sku.bmc, quirks=quirks, read_timeout=timedelta(seconds=seconds)))


def test_the_host_is_found_behind_a_baseboard_that_is_listed_first(lab: ServedLab) -> None:
    """Quirk 1, which every H200 of the lab has."""
    sku = LIBRARY.sku("h200-sxm-8")
    node = lab_node(lab, lab.take("h200-sxm-8"))
    with lab_directory().open(node, sku) as bmc:
        inventory = bmc.inventory()
    assert inventory.system_id == "1"
    assert part_differences(sku, inventory) == []


def test_an_unexpected_system_id_is_refused_with_what_was_seen(lab: ServedLab) -> None:
    """Quirk 2: no match is never all."""
    node = lab_node(lab, lab.take("h100-sxm-8", "system-id-unexpected"))
    with lab_directory().open(node, H100) as bmc, pytest.raises(Permanent, match=r"its BMC lists .*HGX_Baseboard_0"):
        bmc.reset("ForceRestart", effect_id="fx-1")
    assert not [effect for effect in lab.world.effects if effect.node == node.name]


def test_gpus_of_a_host_without_power_are_unreadable_and_not_zero(lab: ServedLab) -> None:
    """Quirk 3: the baseboard's controller is off with the host."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.boot.power_off(lab.world.nodes[node.name]))
    lab.advance(minutes=1)
    with lab_directory().open(node, H100) as bmc, pytest.raises(Transient, match="HTTP 503"):
        bmc.inventory()


@pytest.mark.parametrize("quirk", ["fields-missing", "expand-drops-fields"])
def test_missing_fields_do_not_stop_an_inventory(lab: ServedLab, quirk: str) -> None:
    """Quirks 5 and 6: what is absent is read around, or named."""
    node = lab_node(lab, lab.take("h100-sxm-8", quirk))
    with lab_directory().open(node, with_quirks(H100, "expand-drops-fields")) as bmc:
        inventory = bmc.inventory()
    assert len(inventory.of_kind(ComponentKind.GPU)) == 8
    assert part_differences(H100, inventory) == []


def test_strict_etags_are_sent_on_changes_and_not_on_actions(lab: ServedLab) -> None:
    """Quirk 7."""
    node = lab_node(lab, lab.take("h100-sxm-8", "etag-strict"))
    with lab_directory().open(node, H100) as bmc:
        bmc.set_boot(IMAGE, effect_id="fx-1")
        bmc.reset("ForceRestart", effect_id="fx-2")
        assert bmc.state().boot_override_uri == IMAGE


def test_leaked_sessions_of_others_are_a_reason_to_come_back(lab: ServedLab) -> None:
    """Quirk 8: the ninth login is answered 503."""
    name = lab.take("h100-sxm-8", "sessions-leak")
    for _ in range(8):
        with lab.logged_in(name):
            pass
    with (
        pytest.raises(Transient, match="out of sessions"),
        lab_directory().open(lab_node(lab, name), H100),
    ):
        pass


def test_a_boot_mode_that_does_not_exist_is_left_out(lab: ServedLab) -> None:
    """Quirk 11, named in the SKU's profile."""
    node = lab_node(lab, lab.take("h100-sxm-8", "boot-mode-absent"))
    with lab_directory().open(node, with_quirks(H100, "boot-mode-absent")) as bmc:
        bmc.set_boot(IMAGE, effect_id="fx-1")
        assert bmc.state().boot_override_uri == IMAGE


def test_a_vanished_task_is_unclear_and_not_running(lab: ServedLab) -> None:
    """Quirk 13: Completed with Critical, then gone; only the version will tell."""
    node = lab_node(lab, lab.take("h100-sxm-8", "task-vanishes"))
    with lab_directory().open(node, H100) as bmc:
        item = next(item for item in bmc.firmware() if item.id == "HostBIOS_0")
        task = bmc.start_update(item, "http://firmware.lab/HostBIOS_0/9.9.bin", effect_id="fx-1")
    lab.advance(minutes=30)
    with lab_directory().open(node, H100) as bmc:
        state = bmc.update_state(task)
    assert (state.running, state.succeeded, state.unclear) == (False, False, True)


def test_a_refused_login_is_permanent_without_the_password(lab: ServedLab) -> None:
    """The sentence names the connection to check."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.faults.inject(node.name, "bmc-login-refused"))
    with pytest.raises(Permanent, match="nodeworthy_bmc") as refused, lab_directory().open(node, H100):
        pass
    assert PASSWORD not in refused.value.sentence


def test_a_silent_bmc_is_transient_within_its_time_out(lab: ServedLab) -> None:
    """It takes the connection and never answers."""
    node = lab_node(lab, lab.take())
    lab.do(lambda: lab.world.faults.inject(node.name, "bmc-silent"))
    with pytest.raises(Transient, match="got no answer"), lab_directory().open(node, with_quirks(H100, seconds=0.5)):
        pass


def test_another_authority_is_refused_at_the_certificate(lab: ServedLab) -> None:
    """Verification is never switched off."""
    node = lab_node(lab, lab.take())
    other = replace(node, bmc=replace(node.bmc, ca_file=None))
    with pytest.raises(Permanent, match="TLS certificate"), lab_directory().open(other, H100):
        pass
