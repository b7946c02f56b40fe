"""Each verdict from a result written by hand, by the reference implementation; what the sentences say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from nodeworthy.evidence.verdicts import Verdict

from tests.unit.qualification.written_results import (
    context,
    degraded,
    find,
    find_test,
    healthy,
    judge_context,
    judged_purely,
    noisy,
    row,
    spoilt,
    stored,
)

Change = Callable[[dict[str, Any]], object]


def _set(metric: str, component: str, **values: Any) -> Change:
    return lambda document: find(document, metric, component).update(values)


def _set_test(test: str, **values: Any) -> Change:
    return lambda document: find_test(document, test).update(values)


def _broken(test: str, execution: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        find_test(document, test).update(execution=execution, reason="as it ended")
        for measured in document["measurements"]:
            if measured["test"] == test:
                measured.update(value=None, status="missing")

    return change


def _without(component: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["measurements"] = [m for m in document["measurements"] if component not in m["component"]]

    return change


def _xid(document: dict[str, Any]) -> None:
    find(document, "xid_new", "node")["value"] = 1
    document["findings"].append({"code": "xid/79", "component": "gpu/3", "during": "test", "line": "NVRM: Xid 79"})


def _xid_before(document: dict[str, Any]) -> None:
    find(document, "xid_awaiting_boot", "node")["value"] = 1
    before = {"component": "gpu/3", "during": "before", "line": "NVRM: Xid"}
    document["findings"] += [{"code": "xid/119", **before}]


CASES: list[tuple[str, Change, Verdict, str]] = [
    ("healthy", lambda document: None, Verdict.PASS, ""),
    ("bandwidth below its floor", _set("host_to_device_bandwidth", "gpu/1", value=26.0), Verdict.FAIL, "below_floor"),
    ("a link down", _set("nvlinks_up", "gpu/2", value=17), Verdict.FAIL, "below_floor"),
    ("an uncorrected error", _set("ecc_uncorrected", "gpu/6", value=2), Verdict.FAIL, "above_most"),
    ("an Xid during the tests", _xid, Verdict.FAIL, "above_most"),
    ("an Xid from before that only a boot ends", _xid_before, Verdict.FAIL, "above_most"),
    ("wrong values", _set("wrong_values", "node", value=96), Verdict.FAIL, "above_most"),
    ("DCGM hardware class", _set("diag_failures", "gpu/0", value=1), Verdict.FAIL, "above_most"),
    ("DCGM configuration class", _set("diag_config_failures", "gpu/0", value=1), Verdict.FAIL_CONFIG, "above_most"),
    ("persistence mode off", _set("persistence_mode", "gpu/5", value=0), Verdict.FAIL_CONFIG, "below_floor"),
    ("a lowered power limit", _set("power_limit", "gpu/5", value=500), Verdict.FAIL_CONFIG, "below_floor"),
    ("a GPU without rows", _without("gpu/7"), Verdict.INCOMPLETE, "missing"),
    ("fewer GPUs counted", _set("gpu_count", "node", value=7), Verdict.INCOMPLETE, "below_floor"),
    ("no driver version", lambda d: d["versions"].update(driver=None), Verdict.INCOMPLETE, "version_unknown"),
    ("a test that is absent", lambda d: d["tests"].pop(0), Verdict.INCOMPLETE, "test_absent"),
    ("no measurements at all", lambda d: d["measurements"].clear(), Verdict.INCOMPLETE, "missing"),
    ("real hardware, simulated reference", lambda d: d.update(simulated=False), Verdict.INCOMPLETE, "no_baseline"),
    ("a tool that is missing", _broken("gpu.diag", "tool-missing"), Verdict.NOT_RUN, "not_run"),
    ("a skipped test", _broken("pcie.bandwidth", "skipped"), Verdict.NOT_RUN, "not_run"),
    ("waived", _set("peer_bandwidth", "gpu/0-gpu/1", value=None, status="waived"), Verdict.NOT_RUN, "not_checked"),
    ("nothing ran in DCGM", _set("diag_tests_run", "node", value=0), Verdict.NOT_RUN, "below_floor"),
    ("correctness not checked", _set("correctness_checked", "node", value=0), Verdict.NOT_RUN, "below_floor"),
    ("a crash", _broken("nvlink.bandwidth", "crashed"), Verdict.TOOL_ERROR, "tool_error"),
    ("a hang", _broken("gpu.diag", "timed-out"), Verdict.TOOL_ERROR, "tool_error"),
    ("unreadable output", _broken("collective.all_reduce", "unparsable"), Verdict.TOOL_ERROR, "tool_error"),
    ("wrong transport", _set_test("collective.all_reduce", transport="SHM"), Verdict.INVALID, "wrong_transport"),
    ("no transport proven", _set_test("collective.all_reduce", transport=None), Verdict.INVALID, "wrong_transport"),
    ("another unit", _set("device_to_host_bandwidth", "gpu/3", unit="GiB/s"), Verdict.INVALID, "wrong_unit"),
    (
        "a short sweep",
        _set("bus_bandwidth", "node", parameters={"size_bytes": 2**27}),
        Verdict.INVALID,
        "wrong_parameters",
    ),
    ("too few ranks", _set("ranks", "node", value=1), Verdict.INVALID, "below_floor"),
    ("another node's result", lambda d: d.update(node="gpu-b07"), Verdict.INVALID, "wrong_document"),
    ("another episode's result", lambda d: d.update(episode=4), Verdict.INVALID, "wrong_document"),
    ("another schema", lambda d: d.update(schema="nodeworthy.result/2"), Verdict.INVALID, "wrong_document"),
    ("above physics", _set("bus_bandwidth", "node", value=600.0), Verdict.IMPOSSIBLE, "above_ceiling"),
]


@pytest.mark.parametrize(("change", "verdict", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_result_gets_its_verdict_and_reason_code(change: Change, verdict: Verdict, code: str) -> None:
    """The first reason carries the code, and only a healthy node has none."""
    judgement = judged_purely(spoilt(change))
    assert judgement.verdict is verdict, judgement.sentence
    assert ([reason.code for reason in judgement.reasons] or [""])[0] == code
    assert judgement.sentence.startswith("gpu-a01")


def test_all_eight_words_are_reached() -> None:
    """The table above leaves no word of the vocabulary out."""
    assert {case[2] for case in CASES} == set(Verdict)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "N/A", True, "396.0", 10**400])
@pytest.mark.parametrize("metric", ["host_to_device_bandwidth", "ecc_uncorrected"])
def test_what_is_no_number_never_passes(metric: str, value: object) -> None:
    """A healthy row whose value is no finite number is incomplete, whatever its status claims."""
    judgement = judged_purely(spoilt(_set(metric, "gpu/2", value=value, status="ok")))
    assert judgement.verdict is Verdict.INCOMPLETE


def test_a_figure_that_came_twice_is_invalid() -> None:
    """Two rows of one component, the second one better, are both refused."""
    twice = row("pcie.bandwidth", "gpu/1", "host_to_device_bandwidth", 55.0, "GB/s")
    judgement = judged_purely(spoilt(lambda document: document["measurements"].append(twice)))
    assert (judgement.verdict, judgement.reasons[0].code) == (Verdict.INVALID, "duplicate")


def test_a_component_that_the_sku_does_not_have_is_invalid() -> None:
    """A ninth GPU in an eight-GPU node means that the result or the SKU is wrong."""
    ninth = row("gpu.identity", "gpu/8", "nvlinks_up", 18, "count")
    judgement = judged_purely(spoilt(lambda document: document["measurements"].append(ninth)))
    assert (judgement.verdict, judgement.reasons[0].code) == (Verdict.INVALID, "not_demanded")


def test_four_per_cent_that_every_floor_accepts_fail_and_name_the_gpu() -> None:
    """478.9 x 0.96 = 459.7 lies above the floor 450; the reference 396.0 says that gpu/4's 380.2 is 4.0 % low."""
    judgement = judged_purely(spoilt(lambda document: degraded(document, gpu=4, amount=0.04)))
    assert judgement.verdict is Verdict.FAIL
    assert judgement.sentence.startswith(
        "gpu-a01 fail: gpu/4 peer_bandwidth median 380.2 GB/s is 4.0 % below the reference 396 GB/s (limit 3 %, z -8.0)"
    )
    assert [(reason.component, reason.metric) for reason in judgement.reasons] == [
        ("gpu/4", "peer_bandwidth"),
        ("node", "bus_bandwidth"),
    ]


@pytest.mark.parametrize("amount", [0.005, 0.01, 0.02])
def test_what_is_not_materially_low_passes(amount: float) -> None:
    """Two per cent below are improbable and still no fault: both halves of the rule must say low."""
    assert judged_purely(spoilt(lambda document: degraded(document, 4, amount))).verdict is Verdict.PASS


def test_one_slow_gpu_is_found_within_its_own_node() -> None:
    """Without any reference, a GPU 6 % below the median of its node still fails, by slot."""
    given = context(stored(spoilt(_set("host_to_device_bandwidth", "gpu/6", value=48.9))))
    bare = type(given)(given.stored, given.suite, given.sku, _without_references(given.baselines), "any")
    judgement = judge_context(bare)
    assert (judgement.verdict, judgement.reasons[0].code) == (Verdict.FAIL, "below_own_node")
    assert "gpu/6" in judgement.sentence
    assert "6.0 % below the median 52 GB/s of its own node (limit 5 %)" in judgement.sentence


def _without_references(baselines: Any) -> tuple[Any, ...]:
    from dataclasses import replace

    return tuple(replace(baseline, reference=None) for baseline in baselines)


def test_a_broken_test_is_never_a_bad_node() -> None:
    """A run on one rank reads busbw 0 and prints OK: invalid, although 0 lies below every floor."""

    def one_rank(document: dict[str, Any]) -> None:
        find(document, "ranks", "node")["value"] = 1
        find(document, "bus_bandwidth", "node")["value"] = 0.0

    judgement = judged_purely(spoilt(one_rank))
    assert judgement.verdict is Verdict.INVALID
    assert all(reason.verdict is not Verdict.FAIL for reason in judgement.reasons)


def test_a_counted_fault_stands_although_another_test_broke() -> None:
    """A GPU that falls off the bus kills the collective too: the Xid decides, and names the GPU."""

    def lost(document: dict[str, Any]) -> None:
        _xid(document)
        _broken("collective.all_reduce", "crashed")(document)

    judgement = judged_purely(spoilt(lost))
    assert judgement.verdict is Verdict.FAIL
    assert "xid_new 1 is not 0 (xid/79 on gpu/3)" in judgement.sentence
    assert {reason.verdict for reason in judgement.reasons} == {Verdict.FAIL, Verdict.TOOL_ERROR}


def test_an_xid_from_before_the_tests_is_named_with_what_ends_it() -> None:
    """The sentence names the old Xid, not those of the tests, and asks for a reboot."""
    sentence = judged_purely(spoilt(_xid_before)).sentence
    assert "xid_awaiting_boot 1 is not 0 (xid/119 on gpu/3): reboot the node" in sentence


def test_healthy_noise_fails_nobody_in_the_lab_nor_with_a_reference_of_its_own() -> None:
    """Two hundred nodes with the virtual fleet's noise, judged by the shipped reference."""
    verdicts = [judged_purely(healthy(noise=noisy(seed, 0.0017, 0.0015))).verdict for seed in range(200)]
    assert verdicts == [Verdict.PASS] * 200


def test_the_evidence_of_the_virtual_fleet_says_so() -> None:
    """`simulated` is carried from the result into the judgement."""
    assert judged_purely(healthy()).simulated
    assert not judged_purely(spoilt(lambda document: document.update(simulated=False))).simulated


def test_a_pass_says_what_was_proven() -> None:
    """The sentence of a node that passed holds its headline figures with unit and floor."""
    sentence = judged_purely(healthy()).sentence
    assert sentence.startswith("gpu-a01 passed suite l1: all 408 figures complete")
    assert "bus_bandwidth 478.9 GB/s (floor 450)" in sentence
