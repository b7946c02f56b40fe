"""ComponentIntegrity by task: accepted, running, completed in each of the two ways that BMCs have, or ended badly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from nodeworthy.adapters.bmc_redfish_integrity import IntegrityReader
from nodeworthy.adapters.bmc_redfish_soft import SoftReader
from nodeworthy.errors import Permanent

ROOT = {"ComponentIntegrity": {"@odata.id": "/ci"}}
TARGET, TASK, DATA, CERTIFICATE = "/ci/GPU_0/sign", "/tasks/95", "/ci/GPU_0/data", "/certificate"
STATEMENT = {"SignedMeasurements": "EeAB", "SigningAlgorithm": "a", "HashingAlgorithm": "h"}
GPU = {
    "@odata.id": "/ci/GPU_0",
    "Id": "GPU_0",
    "Actions": {"#ComponentIntegrity.SPDMGetSignedMeasurements": {"target": TARGET}},
    "SPDM": {
        "IdentityAuthentication": {"ResponderAuthentication": {"ComponentCertificate": {"@odata.id": CERTIFICATE}}}
    },
}


class Bmc:
    """Answers by path; what is not there is 404. `posted` is what the action was sent."""

    def __init__(self, answers: Mapping[str, tuple[int, Mapping[str, Any]]], post: Any = None) -> None:
        self.answers: dict[str, tuple[int, Mapping[str, Any]]] = {
            "/ci": (200, {"Members": [GPU]}),
            CERTIFICATE: (200, {"CertificateString": "PEM"}),
            **answers,
        }
        self.answer = post
        self.posted: list[tuple[str, Mapping[str, object]]] = []

    def ask(self, path: str) -> tuple[int, Mapping[str, Any]]:
        """Read."""
        return self.answers.get(path, (404, {}))

    def post(self, path: str, body: Mapping[str, object]) -> tuple[int, Mapping[str, Any], Mapping[str, str]]:
        """Act."""
        self.posted.append((path, body))
        return self.answer

    def reader(self) -> IntegrityReader:
        """A session's reader."""
        return IntegrityReader(SoftReader(self.ask, expands=False), self.ask, self.post, "n1")


def test_an_accepted_request_is_a_task() -> None:
    """The Location is where it is read on."""
    bmc = Bmc({}, (202, {"@odata.id": "/other"}, {"Location": TASK}))
    (one,) = bmc.reader().begin(ROOT, {"GPU_0": "ab" * 32})
    assert (one.component, one.task, one.statement) == ("GPU_0", TASK, "")
    assert bmc.posted == [(TARGET, {"Nonce": "ab" * 32, "SlotId": 0})]


@pytest.mark.parametrize("answer", [(202, {}), (200, {"TaskState": "Running"}), (200, {"TaskState": "New"})])
def test_a_task_that_runs_keeps_its_task(answer: tuple[int, Mapping[str, Any]]) -> None:
    """A monitor says 202, a Task its state."""
    (one,) = Bmc({TASK: answer}).reader().finish(ROOT, {"GPU_0": TASK})
    assert one.task == TASK


@pytest.mark.parametrize(
    "answers",
    [
        {TASK: (200, STATEMENT)},
        {
            TASK: (200, {"TaskState": "Completed", "Payload": {"HttpHeaders": ["Host: x", f"Location: {DATA}"]}}),
            DATA: (200, STATEMENT),
        },
    ],
)
def test_a_completed_task_leads_to_the_statement(answers: Any) -> None:
    """A monitor answers with it; OpenBMC's task says where it lies. The certificate is the component's."""
    (one,) = Bmc(answers).reader().finish(ROOT, {"GPU_0": TASK})
    assert (one.task, one.statement, one.certificates_pem) == ("", "EeAB", "PEM")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((200, {"TaskState": "Exception", "Messages": [{"Message": "Timed out."}]}), r"with Exception \(Timed out\)"),
        ((404, {}), "with HTTP 404"),
        ((200, {"TaskState": "Completed"}), "gave no SignedMeasurements"),
    ],
)
def test_a_task_that_ends_badly_proves_nothing(answer: Any, why: str) -> None:
    """The tool's trouble, with the component's name."""
    with pytest.raises(Permanent, match=rf"Component GPU_0 of n1 .*{why}.* proves nothing"):
        Bmc({TASK: answer}).reader().finish(ROOT, {"GPU_0": TASK})


def test_a_component_without_the_action_is_a_lack() -> None:
    """As DMTF's own mock-up has them."""
    bmc = Bmc({"/ci": (200, {"Members": [{"@odata.id": "/ci/GPU_0", "Id": "GPU_0"}]})})
    (one,) = bmc.reader().begin(ROOT, {"GPU_0": "ab" * 32})
    assert one.lack == "its BMC offers no signed measurements of it"
    assert bmc.posted == []


def test_a_bmc_without_component_integrity_lists_nothing() -> None:
    """No link in its root."""
    (one,) = Bmc({}).reader().begin({}, {"GPU_0": "ab" * 32})
    assert one.lack.startswith("its BMC lists no such component")
