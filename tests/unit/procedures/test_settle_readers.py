"""What the world says of an effect whose process is dead: proven, never sent, led nowhere, not yet, unknown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.lifecycle.records import Effect, Lease
from nodeworthy.lifecycle.upkeep import Orphan
from nodeworthy.ports import Power
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.inspect import inspect
from nodeworthy.procedures.settle_readers import READERS, Found, unread

from tests.doubles.bench import Bench, Procedure, behind, bench, healthy_inventory, library
from tests.doubles.crash import Fuse, Killed, fused

SETTLE_TIME = library().sku("h100-sxm-8").bmc.read_timeout + timedelta(seconds=10)
A_DAY = timedelta(days=1)


def look(one: Bench, effect: Effect) -> Found | None:
    """Read the world as housekeeping does: with a lease that can write nothing."""
    lease = Lease(one.node.name, effect.episode, "", "housekeeping/1", one.machine.now)
    case = Case(lease, one.node, one.work, one.work.library.sku(one.node.sku))
    milestone = one.ledger.nodes([one.node.name])[0].milestone
    return READERS.get(effect.kind, unread)(case, Orphan(effect, one.node, milestone))


def killed(make: Callable[[], Bench], procedure: Procedure, kind: str, *, sent: bool) -> tuple[Bench, Effect]:
    """Kill a procedure around the call that sends `kind`; return the bench and the effect that it left open.

    Every port call is tried in turn, each on a fresh bench, until one leaves exactly that behind.
    """
    for at in range(1, 100):
        one = make()
        one.work = fused(one.work, Fuse(at, after=sent))
        with suppress(Killed):
            procedure(one.lease, one.node, one.work)
        left = [e for e in one.ledger.effects(one.node.name) if e.kind == kind and e.status == "intended"]
        if left and one.machine.sent[kind] == sent:
            one.work = fused(one.work, Fuse())
            return one, left[-1]
    raise AssertionError(f"no kill leaves {kind} open and {'sent' if sent else 'unsent'}")


def approved(milestone: str, **more: Any) -> Callable[[], Bench]:
    """A bench on which the plan was answered."""

    def make() -> Bench:
        one = bench(milestone, **more)
        one.approve()
        return one

    return make


def in_validation(*misbehaves: str, sent: bool) -> tuple[Bench, Effect]:
    """A node whose boot into the validation image died around its reset."""
    return killed(approved("firmware_current", misbehaves=misbehaves), boot_validation, "reset", sent=sent)


def test_a_reset_that_never_came_is_failed_once_it_cannot_arrive_any_more() -> None:
    """Until then the world has time; afterwards the BMC's reset time has not changed."""
    one, effect = in_validation(sent=False)
    assert look(one, effect) is None
    one.machine.now += SETTLE_TIME
    assert look(one, effect) == Found("failed", {"sent": False})


def test_a_boot_is_proven_by_what_came_up() -> None:
    """While it boots it is not decided; then boot id, uid, image and machine id prove it, as the procedure would."""
    one, effect = in_validation(sent=True)
    one.machine.now += SETTLE_TIME
    assert look(one, effect) is None
    one.machine.pass_time()
    found = look(one, effect)
    assert found is not None
    assert found.status == "proven"
    assert found.proof["boot_id"] == "boot-1"
    assert found.proof["image"] == "validation-2026.11"
    # The run that goes on takes that proof and boots nothing again.
    one.ledger.settle(one.lease, effect, found.status, found.proof)
    one.run(boot_validation)
    assert one.machine.sent["reset"] == 1


def test_a_boot_into_another_image_is_failed_with_what_came_up() -> None:
    """It booted, and not what was ordered."""
    one, effect = in_validation("old-image", sent=True)
    one.machine.now += SETTLE_TIME
    one.machine.pass_time()
    found = look(one, effect)
    assert found is not None
    assert (found.status, found.proof["image"]) == ("failed", "service-2026.08")


def test_a_node_that_never_came_back_is_failed_after_its_boot_time() -> None:
    """The SKU's boot deadline and the pool's patience for a kubelet."""
    one, effect = in_validation("no-boot", sent=True)
    one.machine.now += SETTLE_TIME
    assert look(one, effect) is None
    one.machine.now += A_DAY
    found = look(one, effect)
    assert found is not None
    assert (found.status, found.proof["moved"]) == ("failed", True)


def test_a_reset_that_nobody_can_tell_of_is_unknown() -> None:
    """No reset time, no answer on record, the same Node as before: a person decides."""
    one, effect = in_validation("no-last-reset", sent=False)
    one.machine.now += A_DAY
    found = look(one, effect)
    assert found is not None
    assert found.status == "unknown"


@pytest.mark.parametrize(("sent", "status"), [(True, "proven"), (False, "failed")])
def test_an_order_for_the_next_boot_is_read_back(sent: bool, status: str) -> None:
    """It stands in the BMC or it does not."""
    one, effect = killed(approved("firmware_current"), boot_validation, "boot-override", sent=sent)
    one.machine.now += SETTLE_TIME
    found = look(one, effect)
    assert found is not None
    assert found.status == status


def test_a_power_on_is_proven_by_the_self_test_that_ended() -> None:
    """The host has power and is past POST."""

    def make() -> Bench:
        one = bench("declared")
        one.machine.power = Power.OFF
        return one

    one, effect = killed(make, inspect, "reset", sent=True)
    one.machine.now += SETTLE_TIME
    assert look(one, effect) is None
    one.machine.progress = "SetupEntered"
    found = look(one, effect)
    assert found is not None
    assert (found.status, found.proof["power"]) == ("proven", "on")


def outdated(*misbehaves: str, sent: bool = True) -> tuple[Bench, Effect]:
    """A node whose firmware update died around its start."""
    first = healthy_inventory().firmware[0].id
    make = approved("conformant", inventory=behind(healthy_inventory(), **{first: "0.0.1"}), misbehaves=misbehaves)
    return killed(make, firmware, "firmware-update", sent=sent)


def test_an_update_that_was_never_started_is_failed() -> None:
    """The BMC knows no task that it did not know before."""
    one, effect = outdated(sent=False)
    one.machine.now += SETTLE_TIME
    assert look(one, effect) == Found("failed", {"sent": False})


def test_an_update_is_proven_by_its_version_and_waits_for_the_reset_until_then() -> None:
    """The task ended well and the version sleeps: the next run resets, and nobody writes the image again."""
    one, effect = outdated()
    one.machine.now += SETTLE_TIME
    assert look(one, effect) is None
    one.machine.pass_time()
    assert look(one, effect) is None
    one.machine.reset()
    found = look(one, effect)
    assert found is not None
    assert (found.status, found.proof["version"]) == ("proven", effect.detail["to"])


def test_an_update_that_failed_says_what_the_bmc_said() -> None:
    """The task's own message."""
    one, effect = outdated("task-fails")
    one.machine.now += SETTLE_TIME
    one.machine.pass_time()
    found = look(one, effect)
    assert found is not None
    assert (found.status, found.proof["message"]) == ("failed", "Exception: bad image")


def written(one: Bench, kind: str, key: str, **detail: Any) -> Effect:
    """An effect that its run left open."""
    return one.ledger.intend(one.lease, kind, key, detail)


def test_a_deleted_node_object_is_gone_or_was_never_deleted() -> None:
    """By uid: another object of that name is not it."""
    one = bench("firmware_current")
    one.machine._register("service-2026.11")
    effect = written(one, "node-delete", "provision/1", uid="uid-1")
    assert look(one, effect) is None
    one.machine.now += SETTLE_TIME
    assert look(one, effect) == Found("failed", {"sent": False})
    assert one.machine.node is not None
    one.machine.node = replace(one.machine.node, uid="uid-2")
    assert look(one, effect) == Found("proven", {"gone": "uid-1"})


def test_a_test_plan_is_over_when_its_tests_would_be() -> None:
    """The pool's patience for a pod and the time of each test: its runs, and once more where it may be tried again."""
    one = bench("validation_booted")
    tests = [{"timeout_seconds": 60}, {"timeout_seconds": 30, "repeats": 5, "retry": ["crashed"]}]
    effect = written(one, "test-plan", "hardware/1", plan={"tests": tests})
    start = library().policy("training")["waits"]["node_ready"]
    one.machine.now += start + timedelta(seconds=60 + 30 * 5 * 2 - 1)
    assert look(one, effect) is None
    one.machine.now += timedelta(seconds=1)
    assert look(one, effect) == Found("failed", {"taken_in": False})


def test_an_admission_that_the_ledger_never_made_is_failed() -> None:
    """The node still stands by."""
    one = bench("standby")
    effect = written(one, "admission", "admit/1", boot_id="boot-1")
    one.machine.now += SETTLE_TIME
    assert look(one, effect) == Found("failed", {"milestone": "standby"})


def test_an_admission_is_proven_when_the_node_shows_it() -> None:
    """In service by the ledger: reconciliation shows it first, then it is proven."""
    one = bench("in_service")
    effect = written(one, "admission", "admit/1", boot_id="boot-1")
    one.machine._register("service-2026.11")
    assert look(one, effect) is None
    projection = library().lifecycle().projection("in_service")
    one.work.cluster.project("gpu-a01", taints=projection.taints, labels=projection.labels, episode=1)
    found = look(one, effect)
    assert found is not None
    assert found.status == "proven"


def test_an_effect_without_a_reader_is_unknown() -> None:
    """Whoever adds an effect adds its reader; until then a person decides."""
    one = bench("standby")
    effect = written(one, "teleport", "x/1")
    assert look(one, effect) is None
    one.machine.now += SETTLE_TIME
    assert look(one, effect) == Found("unknown", {"reader": "none"})
