"""Receive: bring a test's evidence home from its finished pod, and take it in only if it answers what was asked.

The bundle is read by exec, checked against the receipt's hash, opened in memory, and compared with the plan that was
handed out: node, serial, boot id, episode, nonce, plan hash. Then it is stored and written into the ledger; only after
that may the pod be deleted. A result that does not match is no evidence about the node and is refused.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Effect, Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.effect import FAILED, PROVEN, Case
from nodeworthy.procedures.segments import PLAN
from nodeworthy.procedures.test_plan import plan_sha256

SIDECAR = "airflow-xcom-sidecar"
FOLDER = "/airflow/xcom"
RECEIPT_LIMIT_BYTES = 64 * 1024
BUNDLE_LIMIT_BYTES = 4 * 1024 * 1024
OPENED_LIMIT_BYTES = 32 * 1024 * 1024
"""A bundle that grows beyond this when it is opened is not ours."""


def receive(lease: Lease, node: FleetNode, work: Work, *, scope: Scope, pod: str) -> str:
    """Store the result of the pod's plan; return one line about it. Re-entrant. Refused when it does not match."""
    case = Case(lease, node, work, work.library.sku(node.sku))
    return take_in(case, case.newest(PLAN, scope.value), scope, pod)


def take_in(case: Case, asked: Effect | None, scope: Scope, pod: str, *, judged_later: bool = True) -> str:
    """As `receive`, for the plan `asked`; who judges a result on the spot lets it not wait for `judge_wave`."""
    node, lease, work = case.node, case.lease, case.work
    if asked is None:
        raise Refused(f"Pod {pod} brings a result of {node.name} and no plan was handed out in this episode: ignored.")
    receipt = _receipt(case, pod)
    bundle = work.cluster.read_file(pod, SIDECAR, f"{FOLDER}/bundle.tar.gz", limit_bytes=BUNDLE_LIMIT_BYTES)
    document, wrong = _opened(bundle, receipt)
    wrong = wrong or _mismatch(case, asked, document)
    if wrong:
        case.settle(asked, FAILED, {"pod": pod, "wrong": wrong})
        raise Refused(f"The result that pod {pod} left for {node.name} is not taken in: {wrong}; run this task again.")
    digest = sha256(bundle).hexdigest()
    suite = str(document["suite"])
    path = f"nodes/{node.serial}/{lease.episode}/{scope}-{suite}-{digest[:12]}/bundle.tar.gz"
    reference = work.store.put(path, bundle)
    result = StoredResult(node.name, lease.episode, scope, suite, reference, document, judged=not judged_later)
    work.ledger.record_result(lease, result)
    case.settle(asked, PROVEN, {"pod": pod, "bundle": digest, "images": dict(work.cluster.images(pod))})
    return _summary(case, document, reference.path, digest)


def _receipt(case: Case, pod: str) -> Mapping[str, Any]:
    text = case.work.cluster.read_file(pod, SIDECAR, f"{FOLDER}/return.json", limit_bytes=RECEIPT_LIMIT_BYTES)
    try:
        receipt = json.loads(text)
    except ValueError as error:
        raise Permanent(
            f"Pod {pod} left a receipt that is no JSON: the probe was cut off; run this task again."
        ) from error
    if not isinstance(receipt, dict) or receipt.get("schema") != "nodeworthy.receipt/1":
        raise Permanent(f"Pod {pod} left no nodeworthy.receipt/1: its image holds another probe; correct the image.")
    return receipt


def _opened(bundle: bytes, receipt: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the result document and, when something is wrong with the bundle, what."""
    digest = sha256(bundle).hexdigest()
    if digest != receipt.get("bundle_sha256"):
        return (
            {},
            f"the bundle's SHA-256 is {digest[:12]} and its receipt says {str(receipt.get('bundle_sha256'))[:12]}",
        )
    try:
        content = _member(bundle, "result.json")
    except (tarfile.TarError, OSError, EOFError, KeyError) as error:
        return {}, f"the bundle cannot be opened ({type(error).__name__})"
    if sha256(content).hexdigest() != receipt.get("result_sha256"):
        return {}, "result.json has another SHA-256 than its receipt says"
    try:
        document = json.loads(content)
    except ValueError:
        return {}, "result.json is no JSON"
    if not isinstance(document, dict):
        return {}, "result.json is no object"
    return document, ""


def _member(bundle: bytes, name: str) -> bytes:
    """Read one regular file of the bundle in memory; nothing is unpacked to disk."""
    with tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as archive:
        total = 0
        for member in archive:
            total += member.size
            if total > OPENED_LIMIT_BYTES:
                raise OSError("too large")
            if member.isreg() and member.name == name:
                stream = archive.extractfile(member)
                assert stream is not None
                return stream.read()
    raise KeyError(name)


def _mismatch(case: Case, asked: Effect, document: Mapping[str, Any]) -> str:
    """Return the first field in which the result is not the answer to what was asked; empty when all match."""
    plan = asked.detail["plan"]
    expected = {
        "schema": "nodeworthy.result/1",
        "node": case.node.name,
        "serial": case.node.serial,
        "episode": case.lease.episode,
        "nonce": plan["nonce"],
        "suite": plan["suite"],
        "plan_sha256": plan_sha256(plan),
        "boot_id": asked.detail["boot_id"],
    }
    for field, value in expected.items():
        if document.get(field) != value:
            return f"its {field} is {_short(document.get(field))} where {_short(value)} was asked for"
    return ""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."


def _summary(case: Case, document: Mapping[str, Any], path: str, digest: str) -> str:
    ended = [str(test.get("execution")) for test in document.get("tests", ())]
    completed = ended.count("completed")
    summary = (
        f"{case.node.name} brought {len(document.get('measurements', ()))} measurements of suite {document['suite']}: "
        f"{completed} of {len(ended)} tests completed; stored as {path} (SHA-256 {digest[:12]})."
    )
    for test in document.get("tests", ()):
        if test.get("execution") != "completed":
            case.work.say(f"{test.get('test')}: {test.get('execution')}, {test.get('reason') or 'no reason given'}.")
    case.work.say(summary)
    return summary
