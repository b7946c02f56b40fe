"""Asks components for signed measurements through Redfish ComponentIntegrity, at once or by a task.

BMCs answer the action with the statement, or with 202 and a task; when that is completed, its monitor answers with the
statement, or the task's Payload.HttpHeaders say by a Location where it lies (OpenBMC's SPDM service, AMI). A component
that cannot be asked is the tool's trouble, not the node's. Sources: DMTF DSP0268 (ComponentIntegrity 1.2, Certificate
1.8 CertificateString, Task 1.7), DSP0266 (asynchronous operations).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nodeworthy.adapters.bmc_redfish_soft import OK, SoftReader
from nodeworthy.adapters.bmc_redfish_tree import Resource, identity, link, part, rows, text
from nodeworthy.errors import Permanent
from nodeworthy.evidence.spdm import SignedMeasurements

ACTION = "#ComponentIntegrity.SPDMGetSignedMeasurements"
ACCEPTED = 202
RUNNING = {"New", "Starting", "Running", "Pending", "Service"}
MOST = {"most_single_reads": 64, "most_pages": 4}

Post = Callable[[str, Mapping[str, object]], tuple[int, Resource, Mapping[str, str]]]
"""Post an action that changes nothing: status, body, headers. Raises only when the BMC is silent or busy."""


@dataclass(slots=True)
class IntegrityReader:
    """One session's dealings with the components of one BMC."""

    soft: SoftReader
    ask: Callable[[str], tuple[int, Resource]]
    post: Post
    node: str

    def begin(self, root: Resource, nonces: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Ask each named component to sign its nonce (hex). Permanent when one could not be asked."""
        gaps: list[str] = []
        known = self._known(root, gaps)
        return tuple(self._begun(name, known.get(name), nonce, gaps) for name, nonce in nonces.items())

    def finish(self, root: Resource, tasks: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Read the tasks of these components; one that still runs keeps its task."""
        known = self._known(root, [])
        return tuple(self._finished(name, known.get(name, {}), task) for name, task in tasks.items())

    def _known(self, root: Resource, gaps: list[str]) -> Mapping[str, Resource]:
        members = self.soft.members(link(root, "ComponentIntegrity"), gaps, **MOST)
        return {text(row, "Id") or identity(row).rsplit("/", 1)[-1]: row for row in members}

    def _begun(self, name: str, row: Resource | None, nonce: str, gaps: list[str]) -> SignedMeasurements:
        target = text(part(row, "Actions", ACTION), "target")
        if row is None:
            why = f" ({gaps[0]})" if gaps else ""
            return SignedMeasurements(name, lack=f"its BMC lists no such component in ComponentIntegrity{why}")
        if part(row, "ComponentIntegrityEnabled") is False or not target:
            return SignedMeasurements(name, lack="its BMC offers no signed measurements of it")
        status, body, headers = self.post(target, {"Nonce": nonce, "SlotId": 0})
        if status == ACCEPTED:
            task = headers.get("Location") or identity(body)
            return SignedMeasurements(name, task=task) if task else self._failed(name, "gave no task")
        if status != OK:
            raise self._trouble(name, f"answered HTTP {status}{_message(body)}")
        return self._signed(name, row, body)

    def _finished(self, name: str, row: Resource, task: str) -> SignedMeasurements:
        status, body = self.ask(task)
        state = text(body, "TaskState")
        if status == ACCEPTED or state in RUNNING:
            return SignedMeasurements(name, task=task)
        if status != OK or state not in ("", "Completed"):
            raise self._trouble(name, f"ended its task with {state or f'HTTP {status}'}{_message(body)}")
        if "SignedMeasurements" not in body:
            status, body = self.ask(_location(body)) if _location(body) else (404, {})
        return self._signed(name, row, body)

    def _signed(self, name: str, row: Resource, body: Resource) -> SignedMeasurements:
        if not text(body, "SignedMeasurements"):
            return self._failed(name, "gave no SignedMeasurements")
        path = link(body, "Certificate") or link(
            row, "SPDM", "IdentityAuthentication", "ResponderAuthentication", "ComponentCertificate"
        )
        certificate = self.soft.resource(path, [])
        return SignedMeasurements(
            component=name,
            statement=text(body, "SignedMeasurements"),
            signing_algorithm=text(body, "SigningAlgorithm"),
            hashing_algorithm=text(body, "HashingAlgorithm"),
            certificates_pem=text(certificate, "CertificateString"),
        )

    def _failed(self, name: str, what: str) -> SignedMeasurements:
        raise self._trouble(name, what)

    def _trouble(self, name: str, what: str) -> Permanent:
        return Permanent(
            f"Component {name} of {self.node} was asked for signed measurements and its BMC {what}: that proves "
            "nothing about its firmware; restart the BMC, then clear this task."
        )


def _location(task: Resource) -> str:
    """Return where a completed task says that its result lies."""
    for header in rows(task, "Payload", "HttpHeaders"):
        name, _, value = str(header).partition(":")
        if name.strip().lower() == "location":
            return value.strip()
    return ""


def _message(body: Resource) -> str:
    said = text(body, "error", "message") or text(body, "Messages", "Message")
    return f" ({said.rstrip('.')})" if said else ""
