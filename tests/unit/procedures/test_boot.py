"""A boot is proven by what runs afterwards, and every other end has its own sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.bmc_health import Detector, Leaks
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.provision import provision
from nodeworthy.procedures.reset import send_reset
from nodeworthy.qualification.sku import Environment

from tests.doubles.bench import Bench, bench, library
from tests.unit.procedures.test_crashes import burned_in, with_current_firmware


def ready_to_boot(*, misbehaves: Sequence[str] = ()) -> Bench:
    """A node with current firmware and an approved plan."""
    one = bench("firmware_current", misbehaves=misbehaves)
    one.approve()
    return one


def test_the_validation_boot_is_proven_by_boot_id_image_and_taint() -> None:
    """What ran is written into the facts of the move."""
    one = ready_to_boot()
    done = one.run(boot_validation)
    assert done.facts["image"] == "validation-2026.11"
    assert one.ledger.moves[-1][1]["boot_id"] == "boot-1"
    (reset,) = [effect for effect in one.ledger.effects("gpu-a01") if effect.kind == "reset"]
    assert reset.status == "proven"


def test_provision_gives_a_new_uid_boot_id_and_machine_id() -> None:
    """The Node object of the validation image is deleted and the approved image registers anew."""
    one = burned_in()
    before = one.machine.node
    assert before is not None
    done = one.run(provision)
    assert done.facts["image"] == "service-2026.11"
    assert done.facts["node_uid"] != before.uid
    assert done.facts["boot_id"] != before.boot_id
    assert done.facts["machine_id"] != before.machine_id


def test_no_moment_is_schedulable() -> None:
    """At every port call there is no Node, or one that is not ready, or one with our taint."""
    one = with_current_firmware()
    moments: list[bool] = []

    def watch(line: str) -> None:
        node = one.machine.node
        moments.append(node is not None and node.ready and not node.taints)

    object.__setattr__(one.work, "say", watch)
    one.run(boot_validation)
    assert moments
    assert not any(moments)


def test_another_image_is_named_and_the_attempt_has_failed() -> None:
    """The node came up, but not with what was ordered."""
    one = ready_to_boot(misbehaves=["old-image"])
    with pytest.raises(Permanent, match=r"booted image service-2026.08 where validation-2026.11 was ordered"):
        one.run(boot_validation)
    one.machine.misbehaves = frozenset()
    one.run(boot_validation)
    assert one.machine.sent["reset"] == 2


def test_an_image_that_forgets_the_taint_is_tainted_at_once() -> None:
    """Isolation first, then the sentence."""
    one = ready_to_boot(misbehaves=["no-taint"])
    with pytest.raises(Permanent, match=r"without the taint nodeworthy.dev/unqualified, which was put on at once"):
        one.run(boot_validation)
    assert one.machine.node is not None
    assert [taint.key for taint in one.machine.node.taints] == ["nodeworthy.dev/unqualified"]


def test_a_reset_that_the_bmc_ignores_is_found_out_and_not_repeated() -> None:
    """The BMC says yes and nothing happens: at the deadline the sentence says so; one reset was sent."""
    one = ready_to_boot(misbehaves=["reset-ignored"])
    with pytest.raises(Permanent, match="the time of the last reset has not changed: the BMC ignored the reset"):
        one.run(boot_validation)
    assert one.machine.sent["reset"] == 1


def test_a_node_that_hangs_in_post_is_given_up_with_its_last_stage() -> None:
    """The sentence tells where it hangs."""
    one = ready_to_boot(misbehaves=["no-boot"])
    with pytest.raises(Permanent, match="boot progress MemoryInitializationStarted"):
        one.run(boot_validation)


def test_an_image_that_only_runs_in_memory_is_not_provisioned() -> None:
    """The same machine id as before means that nothing was installed."""
    one = burned_in()
    assert one.machine.node is not None
    one.machine.misbehaves = frozenset({"same-machine-id"})
    one.machine.boots = 0
    one.machine._register("validation-2026.11")
    one.machine.boots = 7
    with pytest.raises(Permanent, match="machine id machine-1, the same as before"):
        one.run(provision)


def test_a_node_that_failed_burn_in_is_refused_with_the_judgements_sentence() -> None:
    """The task that comes too late names the cause, and boots nothing."""
    one = bench("validation_booted")
    sentence = "gpu-a01 fails burn-in: bus bandwidth 459.7 GB/s is below 465.0 GB/s."
    one.ledger.record_judgement(one.lease, Judgement("gpu-a01", Scope.HARDWARE, "l1", Verdict.FAIL, (), sentence), None)
    with pytest.raises(Refused) as refused:
        one.run(provision)
    assert refused.value.sentence == sentence
    assert dict(one.machine.sent) == {}


def test_a_boot_that_nobody_ordered_is_booted_again_in_a_new_attempt() -> None:
    """A proof belongs to one boot: when another runs, it is worth nothing."""
    one = ready_to_boot()
    one.run(boot_validation)
    one.ledger.put("gpu-a01", "firmware_current")
    one.machine.override = "http://images.lab/validation-2026.11.efi"
    one.machine.reset()
    one.machine.pass_time()
    one.run(boot_validation)
    assert one.machine.sent["reset"] == 2


def test_no_reset_goes_to_a_node_that_leaks() -> None:
    """Where the SKU declares leak detectors, each reset looks first: nothing is sent and the node is held."""
    one = bench("firmware_current")
    watched = replace(library().sku("h100-sxm-8"), environment=Environment(fans=12, leak_detectors=1))
    case = Case(one.lease, one.node, one.work, watched)
    one.machine.leaks = Leaks((Detector("manifold", "Moisture", "Critical"),))
    with one.work.bmcs.open(one.node, watched) as bmc, pytest.raises(Refused, match="leaks: manifold"):
        send_reset(case, bmc, "PowerCycle", "boot_validation/1", {})
    assert one.machine.sent == {}
    assert one.ledger.effects(one.node.name) == ()
    assert [hold.scope for hold in one.ledger.holds(one.node.name)] == ["both"]
