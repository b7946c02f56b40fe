"""Components that the SKU names sign what they run, before anything is booted; who does not is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.procedures.attest_components import attest_components
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.outcome import Waiting
from nodeworthy.qualification.sku import AttestedComponent

from tests.doubles.bench import Bench, bench, library

EROT = AttestedComponent("EROT", "HGX_FW_ERoT_BMC_0")
GPU = AttestedComponent("GPU_1", "HGX_FW_GPU_SXM_1")
WANTED = library().firmware_set("h100-sxm-8-2026.11")
GOOD = SignedMeasurements("", statement="good")


def ready(*attested: AttestedComponent, **components: SignedMeasurements) -> tuple[Bench, Case]:
    """A node whose SKU names these components."""
    one = bench("conformant")
    one.machine.components = components
    sku = replace(library().sku("h100-sxm-8"), attested=attested)
    return one, Case(one.lease, one.node, one.work, sku)


def go(one: Bench, case: Case) -> Waiting | None:
    """One call."""
    with one.work.bmcs.open(one.node, case.sku) as bmc:
        return attest_components(case, bmc, WANTED)


def test_a_sku_without_components_asks_nothing() -> None:
    """And claims nothing."""
    one, case = ready()
    assert go(one, case) is None
    assert (one.machine.nonces, one.said) == ([], [])


def test_every_component_signs_a_nonce_of_its_own_and_is_held_against_its_firmware() -> None:
    """What they signed is evidence; the references are those of the set's version."""
    one, case = ready(EROT, GPU, EROT=GOOD, GPU_1=GOOD)
    assert go(one, case) is None
    (nonces,) = one.machine.nonces
    ours = one.ledger.nonce(one.lease, "spdm")
    assert nonces == {name: sha256(bytes.fromhex(ours) + name.encode()).hexdigest() for name in ("EROT", "GPU_1")}
    asked = one.work.attestation.asked  # type: ignore[attr-defined]
    assert [(row["component"], row["nonce"] == nonces[row["component"]]) for row in asked] == [
        ("EROT", True),
        ("GPU_1", True),
    ]
    assert [row["references"] for row in asked] == [[{1: "ab"}], [{2: "cd"}]]
    (stored,) = [content for path, content in one.store.content.items() if "/components-" in path]
    assert [row["component"] for row in json.loads(stored)] == ["EROT", "GPU_1"]


def test_each_attempt_asks_with_a_new_nonce() -> None:
    """A statement of before is never enough."""
    one, case = ready(EROT, EROT=GOOD)
    go(one, case)
    go(one, case)
    assert one.machine.nonces[0] != one.machine.nonces[1]


def test_what_the_bmc_does_not_offer_is_refused_by_name() -> None:
    """Both are named, and what to do."""
    lack = SignedMeasurements("", lack="its BMC lists no such component in ComponentIntegrity")
    one, case = ready(EROT, GPU, EROT=lack, GPU_1=lack)
    with pytest.raises(Refused, match=r"does not give: EROT: its BMC lists .*; GPU_1: .*; update the BMC"):
        go(one, case)


def test_what_is_refused_is_the_sentence_and_all_are_in_the_log() -> None:
    """Two wrong components: the first in the refusal, both said; their statements are evidence all the same."""
    bad = SignedMeasurements("", statement="changed")
    one, case = ready(EROT, GPU, EROT=bad, GPU_1=bad)
    with pytest.raises(Refused, match=r"component EROT of gpu-a01 are changed. And 1 more, see the log."):
        go(one, case)
    assert sum("are changed" in line for line in one.said) == 2
    assert any("/components-" in path for path in one.store.content)


def test_a_component_without_references_is_refused_before_it_is_asked() -> None:
    """Unknown never passes."""
    one, case = ready(AttestedComponent("CPLD", "CPLDMB_0"), CPLD=GOOD)
    with pytest.raises(Refused, match=r"The golden measurements lack spdm/CPLDMB_0/0.2.1.9"):
        go(one, case)
    assert one.machine.nonces == []


def test_a_bmc_that_takes_its_time_is_waited_for_and_asked_once() -> None:
    """One component answers at once, the other by a task; both are verified over the one nonce."""
    one, case = ready(EROT, GPU, EROT=GOOD, GPU_1=SignedMeasurements("", task="/tasks/1"))
    assert isinstance(go(one, case), Waiting)
    assert isinstance(go(one, case), Waiting)
    one.machine.components["GPU_1"] = GOOD
    assert go(one, case) is None
    assert len(one.machine.nonces) == 1
    nonces = {row["component"]: row["nonce"] for row in one.work.attestation.asked}  # type: ignore[attr-defined]
    assert nonces == one.machine.nonces[0]
    go(one, case)
    assert len(one.machine.nonces) == 2


def test_a_task_that_never_ends_is_given_up_and_begun_anew() -> None:
    """The sentence names who did not sign; the next attempt asks again."""
    one, case = ready(GPU, GPU_1=SignedMeasurements("", task="/tasks/1"))
    go(one, case)
    one.machine.pass_time(4.9)
    with pytest.raises(Permanent, match="GPU_1 of gpu-a01 did not sign within"):
        go(one, case)
    assert isinstance(go(one, case), Waiting)
    assert len(one.machine.nonces) == 2
