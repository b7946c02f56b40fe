"""What tools say that must not be believed, as small hand-written files: each rule of the formats, once.

The cases follow the known traps of the tools: exit code 0 and "pass" roll-ups that lie, zeros that mean absence,
figures above physics, cuts, skips, and contradictions.
"""

from __future__ import annotations

import pytest
from nodeworthy.qualification.content import ContentContext
from nodeworthy_probe.content.kinds import KINDS

from tests.contract.content import (
    trap_cases,
    trap_cases_amd,
    trap_cases_bmc,
    trap_cases_cluster,
    trap_cases_collective,
    trap_cases_forms,
    trap_cases_found,
    trap_cases_gpu,
    trap_cases_host,
    trap_cases_kernel,
    trap_cases_lists,
    trap_cases_parts,
    trap_cases_suites,
    trap_cases_tools,
)
from tests.contract.content.reading import judged
from tests.contract.content.trap_cases import HEALTHY

CASES = (
    *trap_cases.CASES,
    *trap_cases_host.CASES,
    *trap_cases_forms.CASES,
    *trap_cases_cluster.CASES,
    *trap_cases_bmc.CASES,
    *trap_cases_collective.CASES,
    *trap_cases_kernel.CASES,
    *trap_cases_tools.CASES,
    *trap_cases_parts.CASES,
    *trap_cases_gpu.CASES,
    *trap_cases_suites.CASES,
    *trap_cases_found.CASES,
    *trap_cases_lists.CASES,
    *trap_cases_amd.CASES,
)


@pytest.mark.parametrize(
    ("kind", "text", "word", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_trap(kind: str, text: str, word: str, says: str) -> None:
    """The word, and what the reason names."""
    verdict = judged(kind, text)

    assert (verdict.verdict.value, says in verdict.reason) == (word, True), verdict.reason


@pytest.mark.parametrize(("kind", "text"), [case[1:3] for case in CASES], ids=[case[0] for case in CASES])
def test_no_reader_of_another_kind_passes_it(kind: str, text: str) -> None:
    """A list of GPUs heads many outputs, and a name with a number is a line of many."""
    for other in KINDS:
        if other != kind and not (other.startswith("dcgm-diag") and kind.startswith("dcgm-diag")):
            assert judged(other, text).verdict.value != "pass", other


def test_the_line_rate_decides_what_is_low() -> None:
    """382 Gb/s is a 400G port's figure and too low for an 800G port."""
    text = HEALTHY["perftest"]

    assert judged("perftest", text, ContentContext(line_rate_gbps=400)).verdict.value == "pass"
    assert judged("perftest", text, ContentContext(line_rate_gbps=800)).verdict.value == "fail"
    assert judged("perftest", text, ContentContext(line_rate_gbps=200)).verdict.value == "impossible"


def test_the_sku_says_how_many_gpus_and_which() -> None:
    """Two GPUs of eight are not all of them, and an H100 is no MI300X."""
    text = HEALTHY["smi-nvlink"]

    assert judged("nvidia-smi", text).verdict.value == "pass"
    assert judged("nvidia-smi", text, ContentContext(gpus=2)).verdict.value == "pass"
    assert judged("nvidia-smi", text, ContentContext(sku="h100-sxm-8")).reason == "2 of 8 GPUs are there"
    assert judged("nvidia-smi", text, ContentContext(sku="mi300x-8", gpus=2)).verdict.value == "invalid"
