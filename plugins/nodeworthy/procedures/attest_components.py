"""Attest components: each root of trust that the SKU names signs, over our nonce, which firmware it runs.

Comes right after the versions are as they should be, before anything is booted: a version is what a component says, a
signed measurement is what it is. The policy is the reference measurements `spdm/<firmware id>/<version>/<index>`; one
that is missing refuses, and so does a BMC that does not offer a component.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from hashlib import sha256

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.ports import Bmc
from nodeworthy.procedures.effect import PROVEN, Case
from nodeworthy.procedures.inventory import READING
from nodeworthy.procedures.outcome import Waiting
from nodeworthy.procedures.reset import until
from nodeworthy.qualification.sku import FirmwareSet

STEP = "components"
PURPOSE = "spdm"
ANSWER_WITHIN = timedelta(minutes=5)
"""A component signs within seconds; a BMC asks them one after the other."""


def attest_components(case: Case, bmc: Bmc, wanted: FirmwareSet) -> Waiting | None:
    """Prove what every component that the SKU names runs; Waiting while the BMC asks. Refused with what is wrong.

    Without such components in the SKU nothing is asked and nothing is claimed.
    """
    if not case.sku.attested:
        return None
    references = {one.id: component_references(case, wanted, one.firmware) for one in case.sku.attested}
    answers, nonce = _answers(case, bmc, list(references))
    pending = {one.component: one.task for one in answers if one.task}
    if pending:
        return _wait(case, nonce, answers)
    _keep(case, answers)
    _refuse(case, [f"{one.component}: {one.lack}" for one in answers if one.lack])
    wrong: list[str] = []
    for one in answers:
        try:
            case.work.attestation.verify_measurements(
                one, node=case.node.name, nonce=nonce_of(nonce, one.component), references=references[one.component]
            )
        except Refused as refusal:
            case.work.say(refusal.sentence)
            wrong.append(refusal.sentence)
    if wrong:
        more = f" And {len(wrong) - 1} more, see the log." if len(wrong) > 1 else ""
        raise Refused(f"{wrong[0]}{more}")
    case.work.say(
        f"{len(answers)} components of {case.node.name} are attested: each signed over our nonce that it runs firmware "
        f"set {wanted.name} ({', '.join(references)})."
    )
    return None


def component_references(case: Case, wanted: FirmwareSet, firmware: str) -> Sequence[Mapping[int, str]]:
    """Return the measurements of each allowed version of a firmware item. Raises Refused when none has any."""
    golden = case.work.attestation.references()
    allowed = next((entry.allowed for entry in wanted.entries if entry.id == firmware), ())
    found = []
    for version in allowed:
        prefix = f"spdm/{firmware}/{version}/"
        values = {int(name.removeprefix(prefix)): value for name, value in golden.items() if name.startswith(prefix)}
        if values:
            found.append(values)
    if not found:
        raise Refused(
            f"The golden measurements lack spdm/{firmware}/{' or '.join(allowed) or 'any version'}: add the reference "
            "values of that release, since what has no reference cannot be attested."
        )
    return found


def nonce_of(nonce: str, component: str) -> str:
    """Return the nonce that one component signs: ours, bound to its name, so that no answer serves twice."""
    return sha256(bytes.fromhex(nonce) + component.encode()).hexdigest()


def _answers(case: Case, bmc: Bmc, components: Sequence[str]) -> tuple[tuple[SignedMeasurements, ...], str]:
    """Ask anew, or read the tasks of a moment ago."""
    newest = case.newest(READING, STEP)
    tasks = newest.detail.get("tasks") if newest is not None else None
    if newest is not None and tasks and case.work.clock.now() < newest.intended_at + ANSWER_WITHIN:
        have = tuple(SignedMeasurements(**row) for row in newest.detail["answers"])
        return (*have, *bmc.signed_measurements(tasks)), str(newest.detail["nonce"])
    nonce = case.work.ledger.renew_nonce(case.lease, PURPOSE)
    case.work.say(f"Asking {len(components)} components of {case.node.name} to sign what they run.")
    return bmc.sign_measurements({name: nonce_of(nonce, name) for name in components}), nonce


def _wait(case: Case, nonce: str, answers: Sequence[SignedMeasurements]) -> Waiting:
    """Keep what came and whose task still runs. Permanent when that takes too long."""
    newest = case.newest(READING, STEP)
    now = case.work.clock.now()
    going_on = newest is not None and newest.detail.get("nonce") == nonce
    if not going_on:
        detail = {
            "nonce": nonce,
            "tasks": {one.component: one.task for one in answers if one.task},
            "answers": [asdict(one) for one in answers if not one.task],
        }
        _read(case, detail)
    elif newest is not None and now + case.bmc_poll >= newest.intended_at + ANSWER_WITHIN:
        slow = ", ".join(one.component for one in answers if one.task)
        _read(case, {})
        raise Permanent(
            f"{slow} of {case.node.name} did not sign within {ANSWER_WITHIN}: restart the BMC, then clear this task."
        )
    return until(now + case.bmc_poll, f"the components of {case.node.name} to sign what they run", case)


def _keep(case: Case, answers: Sequence[SignedMeasurements]) -> None:
    """Store what was signed as evidence, whatever comes of it; tasks that were read are done with."""
    content = json.dumps([asdict(one) for one in answers], sort_keys=True, separators=(",", ":")).encode()
    digest = sha256(content).hexdigest()
    case.work.store.put(f"nodes/{case.node.serial}/{case.lease.episode}/components-{digest[:12]}.json", content)
    newest = case.newest(READING, STEP)
    if newest is not None and newest.detail.get("tasks"):
        _read(case, {})


def _read(case: Case, detail: Mapping[str, object]) -> None:
    newest = case.newest(READING, STEP)
    number = int(newest.key.rsplit("/", 1)[1]) + 1 if newest is not None else 1
    case.settle(case.intend(READING, f"{STEP}/{number}", detail), PROVEN, {})


def _refuse(case: Case, lacks: Sequence[str]) -> None:
    if lacks:
        raise Refused(
            f"SKU {case.sku.name} demands signed measurements that {case.node.name} does not give: {'; '.join(lacks)}; "
            "update the BMC, or take the component out of the SKU."
        )
