"""The DCGM reader knows the shapes of 2.x to 4.x and tells config failures from hardware ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nodeworthy_probe.parsers import dcgm
from nodeworthy_probe.parsers.dcgm_catalogue import DiagError

PERSISTENCE = {"error_category": 8, "error_id": 29, "error_severity": 5, "warning": "Persistence mode is disabled."}
REMAP = {"error_category": 10, "error_id": 85, "error_severity": 6, "warning": "Row remappings are pending."}


def _four(*results: dict[str, Any], summary: dict[str, Any] | None = None) -> str:
    test = {"name": "software", "results": list(results), "test_summary": summary or {"status": "Pass"}}
    return json.dumps(
        {
            "DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": [test]}]},
            "entity_groups": [{"entity_group": "GPU", "entity_group_id": 1,
                               "entities": [{"entity_id": 0}, {"entity_id": 1}]}],
            "metadata": {"version": "4.4.2", "Driver Version Detected": "570.1"},
        }
    )  # fmt: skip


def _result(gpu: int, status: str, *warnings: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status}
    return entry | ({"warnings": list(warnings)} if warnings else {})


def test_four_names_each_gpu() -> None:
    """A 4.x document: version, driver, one result per GPU."""
    report = dcgm.parse(_four(_result(0, "Pass"), _result(1, "Pass")))

    assert (report.version, report.driver_version, report.gpus, report.problems) == ("4.4.2", "570.1", (0, 1), ())
    assert report.tests_run == ("software",)


def test_a_persistence_failure_is_of_the_config_class_and_counted_once() -> None:
    """DCGM 4.5 repeats the warning in the summary; one failure stays one."""
    text = _four(
        _result(0, "Fail", PERSISTENCE), _result(1, "Pass"), summary={"status": "Fail", "warnings": [PERSISTENCE]}
    )

    failures = dcgm.parse(text).failures(0)

    assert [(result.is_config, [error.code for error in result.errors]) for result in failures] == [(True, ["dcgm/29"])]
    assert dcgm.parse(text).failures(1) == ()


def test_one_hardware_error_makes_the_failure_a_hardware_one() -> None:
    """A config warning beside it does not soften it."""
    report = dcgm.parse(_four(_result(0, "Fail", PERSISTENCE, REMAP), summary={"status": "Fail"}))

    assert [result.is_config for result in report.failures(0)] == [False]
    assert report.failures(0)[0].errors[1].severity == "RESET"


def test_a_severity_that_contradicts_the_id_is_not_config() -> None:
    """Id 85 is RESET by the catalogue; a 5 beside it does not make it a setting."""
    assert not DiagError(85, 5, "").is_config
    assert DiagError(29, 5, "").is_config
    assert not DiagError(None, None, "text alone").is_config


def test_a_summary_that_fails_alone_is_a_contradiction() -> None:
    """Known tool defect: the test fails while every GPU passes."""
    report = dcgm.parse(_four(_result(0, "Pass"), _result(1, "Pass"), summary={"status": "Fail"}))

    assert report.problems == ("software: the summary says Fail while every device passed",)


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        ("", "holds no JSON document"),
        ("Error: unable to connect to host engine", "holds no JSON document"),
        (_four(_result(0, "Pass"))[:-40], "cut or garbled"),
        (_four(_result(0, "Passed?")), "unknown status"),
        (_four(_result(0, "Fail"), summary={"status": "Pass"}), "the summary says Pass while a device failed"),
        (json.dumps({"DCGM Diagnostic": {"runtime_error": "out of memory"}}), "dcgmi reports: out of memory"),
        (json.dumps({"DCGM Diagnostic": {"test_categories": []}}), "holds no result"),
        (_four({"entity_group": "GPU", "entity_id": "x", "status": "Pass"}), "no readable device"),
    ],
)
def test_broken_documents_are_refused(text: str, objection: str) -> None:
    """Cut, empty, contradictory and unknown documents carry a problem."""
    assert any(objection in problem for problem in dcgm.parse(text).problems)


def _old(*tests: dict[str, Any], **top: Any) -> str:
    return json.dumps({"DCGM GPU Diagnostic": {"test_categories": [{"category": "x", "tests": list(tests)}]}, **top})


def test_two_prints_one_result_for_all_gpus() -> None:
    """Without ids a failure may be any GPU's, and the test's name gives the class."""
    report = dcgm.parse(_old({"name": "Persistence Mode", "results": [{"status": "FAIL"}]}))

    assert not report.names_gpus
    assert [result.is_config for result in report.failures(5)] == [True]


def test_three_lists_gpu_ids_as_text_or_number() -> None:
    """`gpu_ids` "0,2" and 1; warnings as a text or a list; nulls in arrays."""
    report = dcgm.parse(
        _old(
            {"name": "PCIe", "results": [{"gpu_ids": "0,2", "status": "PASS"}, None,
                                         {"gpu_ids": 1, "status": "Fail", "warnings": "PCIe replay"}]},
            **{"Driver Version Detected": "535.1", "version": "3.3.5"},
        )
    )  # fmt: skip

    assert report.gpus == (0, 1, 2)
    assert report.version == "3.3.5"
    assert [(result.component, result.is_config) for result in report.failures(1)] == [("gpu/1", False)]


def test_a_document_may_start_with_its_version() -> None:
    """3.3 writes the driver and device ids first in some releases, and text may come before."""
    document = json.loads(_old({"name": "Denylist", "results": [{"status": "Pass"}]}))
    text = "Successfully ran diagnostic for group.\n" + json.dumps({"Driver Version Detected": "535.1", **document})

    assert dcgm.parse(text).problems == ()


def test_a_skipped_test_did_not_run() -> None:
    """Skip is neither pass nor fail."""
    report = dcgm.parse(_four(_result(0, "Skip"), summary={"status": "Skip"}))

    assert report.tests == ("software",)
    assert report.tests_run == ()
