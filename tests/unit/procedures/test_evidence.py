"""A result is taken in only when it answers exactly what was asked; a quote only with its whole policy."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.procedures.attest import attest, pcr_policy
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.receive import FOLDER, receive
from nodeworthy.procedures.test_plan import Wanted, plan_sha256, proven
from nodeworthy.procedures.test_plan import test_plan as make_plan

from tests.doubles.bench import Bench, bench, library
from tests.doubles.crash import Fuse, Killed, fused
from tests.unit.procedures.test_crashes import with_current_firmware


def validation_booted() -> Bench:
    """A node that runs the validation image, booted by this episode."""
    one = with_current_firmware()
    one.run(boot_validation)
    return one


def planned(one: Bench, suite: str = "l0") -> dict[str, Any]:
    """Hand out a plan for the hardware scope."""
    return make_plan(one.lease, one.node, one.work, Wanted(Scope.HARDWARE, suite))


def result_of(one: Bench, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The result document of a probe that did what the plan said."""
    assert one.machine.node is not None
    return {
        "schema": "nodeworthy.result/1",
        "node": "gpu-a01",
        "serial": "1571523000123",
        "boot_id": one.machine.node.boot_id,
        "episode": 1,
        "nonce": plan["nonce"],
        "suite": plan["suite"],
        "plan_sha256": sha256(json.dumps(plan).encode()).hexdigest(),
        "tests": [{"test": "gpu.identity", "execution": "completed"}],
        "measurements": [{"metric": "gpu_count", "value": 8}],
    }


def bundled(document: Mapping[str, Any]) -> bytes:
    """Pack a result as the probe does."""
    content = json.dumps(document).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("result.json")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def left_in_pod(one: Bench, document: Mapping[str, Any], **receipt: Any) -> None:
    """Put bundle and receipt where the probe leaves them."""
    bundle = bundled(document)
    one.machine.files[f"{FOLDER}/bundle.tar.gz"] = bundle
    one.machine.files[f"{FOLDER}/return.json"] = json.dumps(
        {
            "schema": "nodeworthy.receipt/1",
            "bundle_sha256": sha256(bundle).hexdigest(),
            "result_sha256": sha256(json.dumps(document).encode()).hexdigest(),
            **receipt,
        }
    ).encode()


def take_in(one: Bench) -> str:
    """Receive what lies in the pod."""
    return receive(one.lease, one.node, one.work, scope=Scope.HARDWARE, pod="test-1")


def test_a_plan_names_node_nonce_and_the_suites_tests() -> None:
    """The pod gets who it tests, under which nonce, and what to run."""
    one = validation_booted()
    plan = planned(one)
    assert (plan["node"], plan["serial"], plan["episode"], plan["suite"]) == ("gpu-a01", "1571523000123", 1, "l0")
    assert len(plan["nonce"]) == 64
    assert plan["expect"] == {"gpus": 8, "nvlinks_per_gpu": 18}
    assert [test["test"] for test in plan["tests"]] == [
        test.test for test in library().suite("l0").for_scope(Scope.HARDWARE, library().sku("h100-sxm-8"))
    ]


def test_the_same_task_run_again_hands_out_the_same_plan() -> None:
    """A pod that still runs must be answering the plan that its second task would hand out."""
    one = validation_booted()
    assert planned(one) == planned(one)


def test_another_suite_or_another_boot_gets_another_nonce() -> None:
    """A result of the old plan can then no longer be taken in."""
    one = validation_booted()
    first = planned(one)
    assert planned(one, "l1")["nonce"] != first["nonce"]


def test_a_node_that_booted_by_itself_goes_back_and_is_not_tested() -> None:
    """A boot that nobody ordered voids what was proven."""
    one = validation_booted()
    one.machine.override = "http://images.lab/validation-2026.11.efi"
    one.machine.reset()
    one.machine.pass_time()
    with pytest.raises(Refused, match="it booted by itself"):
        planned(one)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "firmware_current"


def test_a_node_that_is_not_ready_is_worth_another_try() -> None:
    """A kubelet may come back."""
    one = validation_booted()
    assert one.machine.node is not None
    one.machine.node = replace(one.machine.node, ready=False)
    with pytest.raises(Transient, match="is not Ready"):
        planned(one)


def test_a_node_before_its_boot_is_not_tested() -> None:
    """The suite of a scope begins where the lifecycle says."""
    one = bench("conformant")
    with pytest.raises(Refused, match="gpu-a01 is conformant"):
        planned(one)


def test_a_matching_result_is_stored_and_waits_for_judgement() -> None:
    """Bundle, ledger row and the settled plan; then no second pod is needed."""
    one = validation_booted()
    plan = planned(one)
    left_in_pod(one, result_of(one, plan))
    summary = take_in(one)
    assert summary.startswith("gpu-a01 brought 1 measurements of suite l0: 1 of 1 tests completed; stored as nodes/")
    (stored,) = one.ledger.results(run=one.lease.run, scope=Scope.HARDWARE)
    assert one.store.get(stored.bundle) == one.machine.files[f"{FOLDER}/bundle.tar.gz"]
    sentence = proven(one.lease, one.ledger.nodes(["gpu-a01"])[0], one.work, Wanted(Scope.HARDWARE, "l0"))
    assert sentence is not None
    assert "waits for its judgement" in sentence


def test_receiving_twice_stores_once() -> None:
    """A task that dies behind the ledger row is run again without harm."""
    one = validation_booted()
    left_in_pod(one, result_of(one, planned(one)))
    assert take_in(one) == take_in(one)
    assert len(one.ledger.results(run=one.lease.run, scope=Scope.HARDWARE)) == 1


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"serial": "9999"}, "its serial is 9999 where 1571523000123 was asked for"),
        ({"nonce": "0" * 64}, r"its nonce is 000000000000\.\.\. where"),
        ({"boot_id": "boot-77"}, "its boot_id is boot-77"),
        ({"plan_sha256": "f" * 64}, "its plan_sha256 is ffffffffffff"),
        ({"episode": 2}, "its episode is 2 where 1 was asked for"),
        ({"suite": "l1"}, "its suite is l1 where l0 was asked for"),
    ],
)
def test_a_result_that_answers_something_else_is_not_taken_in(change: dict[str, Any], phrase: str) -> None:
    """Another machine's, an old one's or another plan's result says nothing about this node now."""
    one = validation_booted()
    left_in_pod(one, {**result_of(one, planned(one)), **change})
    with pytest.raises(Refused, match=phrase):
        take_in(one)
    assert one.ledger.results(run=one.lease.run, scope=Scope.HARDWARE) == ()


def test_after_a_mismatch_the_next_plan_has_a_fresh_nonce() -> None:
    """The refused answer stays refused."""
    one = validation_booted()
    first = planned(one)
    left_in_pod(one, {**result_of(one, first), "serial": "9999"})
    with pytest.raises(Refused):
        take_in(one)
    assert planned(one)["nonce"] != first["nonce"]


@pytest.mark.parametrize(
    ("receipt", "phrase"),
    [
        ({"bundle_sha256": "0" * 64}, "its receipt says 000000000000"),
        ({"result_sha256": "0" * 64}, "result.json has another SHA-256"),
    ],
)
def test_a_bundle_that_differs_from_its_receipt_is_refused(receipt: dict[str, str], phrase: str) -> None:
    """What was cut or changed on the way is no evidence."""
    one = validation_booted()
    left_in_pod(one, result_of(one, planned(one)), **receipt)
    with pytest.raises(Refused, match=phrase):
        take_in(one)


@pytest.mark.parametrize("receipt", [b"", b"[]", b'{"schema": "other/1"}', b"\xff"])
def test_a_receipt_that_is_none_is_permanent(receipt: bytes) -> None:
    """A pod without a proper receipt brought no result, whatever its exit code."""
    one = validation_booted()
    left_in_pod(one, result_of(one, planned(one)))
    one.machine.files[f"{FOLDER}/return.json"] = receipt
    with pytest.raises(Permanent, match="Pod test-1 left"):
        take_in(one)


def test_the_plans_hash_is_that_of_the_text_in_the_pod() -> None:
    """The probe hashes the text it was given; the operator writes `json.dumps` of the plan."""
    plan = planned(validation_booted())
    assert plan_sha256(plan) == sha256(json.dumps(plan).encode()).hexdigest()


GOLDEN = {"HostBIOS_0/1.06.07": "aa" * 32, "service-2026.11": "bb" * 32, "secure-boot/enabled": "cc" * 32}


def test_the_pcr_policy_is_picked_from_the_golden_list() -> None:
    """PCR 0 and 2 hold firmware of the set, 4 the approved image, 7 secure boot."""
    policy = pcr_policy(GOLDEN, library().firmware_set("h100-sxm-8-2026.11"), "service-2026.11")
    assert policy == {0: ("aa" * 32,), 2: ("aa" * 32,), 4: ("bb" * 32,), 7: ("cc" * 32,)}


@pytest.mark.parametrize("absent", GOLDEN)
def test_a_missing_reference_is_refused(absent: str) -> None:
    """What has no reference cannot be attested."""
    golden = {name: value for name, value in GOLDEN.items() if name != absent}
    with pytest.raises(Refused, match="The golden measurements lack"):
        pcr_policy(golden, library().firmware_set("h100-sxm-8-2026.11"), "service-2026.11")


def test_attest_verifies_the_nonce_of_the_platform_plan() -> None:
    """The verifier is asked about our nonce and the node's chassis, and the node advances."""
    one = bench("provisioned")
    attest(one.lease, one.node, one.work, {"attestation": {"quote_base64": ""}, "boot_id": "b"}, GOLDEN)
    asked = one.work.attestation.asked[0]  # type: ignore[attr-defined]
    assert asked["nonce"] == one.ledger.nonce(one.lease, "platform")
    assert asked["serial"] == "1571523000123"
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "attested"


def test_a_result_without_a_quote_is_not_attested() -> None:
    """Not attested is never attested."""
    one = bench("provisioned")
    with pytest.raises(Refused, match="brought no TPM quote"):
        attest(one.lease, one.node, one.work, {"attestation": None}, GOLDEN)


@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_kill_while_receiving_loses_and_doubles_nothing(after: bool) -> None:
    """Whichever call the process dies at, the next one ends with one stored result and the same plan."""
    call = 0
    while True:
        call += 1
        one = validation_booted()
        plan = planned(one)
        left_in_pod(one, result_of(one, plan))
        work = one.work
        try:
            receive(one.lease, one.node, fused(work, Fuse(call, after)), scope=Scope.HARDWARE, pod="test-1")
        except Killed:
            take_in(one)
        else:
            break
        assert len(one.ledger.results(run=one.lease.run, scope=Scope.HARDWARE)) == 1, f"killed at call {call}"
        assert [e.status for e in one.ledger.effects("gpu-a01") if e.kind == "test-plan"] == ["proven"]
    assert call > 5
