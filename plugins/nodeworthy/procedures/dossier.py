"""Writes the dossier of one judgement: what was asked, what came, by what it was judged, and what was decided.

Every file is a function of the result and of what was in force when it was judged, so writing a dossier again after a
crash meets the same bytes in the write-once store. The manifest comes last: it exists only when everything else does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nodeworthy.evidence.canonical import canonical_json, sha256_hex, without_nan
from nodeworthy.evidence.dossier import MANIFEST, PAGE, folder_of, manifest_document
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Answer, Effect
from nodeworthy.ports import EvidencePage, Ledger, Work
from nodeworthy.procedures.segments import PLAN
from nodeworthy.qualification.near_miss import told_limits
from nodeworthy.qualification.plans import plan_document, with_old_xids
from nodeworthy.qualification.written import (
    Basis,
    baselines_to_document,
    references_to_document,
    suite_to_document,
    verdict_document,
)

CONTEXT_SCHEMA = "nodeworthy.context/1"


@dataclass(frozen=True, slots=True)
class Judged:
    """One result with its judgement, what that stands on, and the node's part of the validation."""

    stored: StoredResult
    judgement: Judgement
    basis: Basis
    validation: Mapping[str, Any]
    attestation: Mapping[str, Any] | None = None
    context: Mapping[str, Any] | None = None
    """Where the node stands and who approved what was done to it (`nodeworthy.context/1`)."""


@dataclass(frozen=True, slots=True)
class Dossier:
    """Where a dossier lies: its manifest and the page that an operator opens."""

    manifest: EvidenceReference
    page: EvidenceReference


def plan_of(stored: StoredResult, ledger: Ledger) -> Effect | None:
    """Return the plan that a result answers, as it was handed out; None without a record of it."""
    nonce = stored.document.get("nonce")
    plans = (one for one in ledger.effects(stored.node, episode=stored.episode) if one.kind == PLAN)
    return next((one for one in plans if one.detail.get("plan", {}).get("nonce") == nonce), None)


def as_asked(stored: StoredResult, ledger: Ledger) -> StoredResult:
    """Return a result with what its plan left out by the pool's policy: that is not missing."""
    asked = plan_of(stored, ledger)
    return (
        stored if asked is None else replace(stored, switched_off=tuple(asked.detail["plan"].get("switched_off", ())))
    )


def context_document(node: FleetNode, answers: Sequence[Answer], asked: Effect | None) -> dict[str, Any]:
    """Return where a node stands, what its pod ran, and who answered for what was done to it, as it is judged."""
    places = ("pool", "rack", "position", "batch", "tenant", "fabric_domain")
    return {
        "schema": CONTEXT_SCHEMA,
        "placement": {name: getattr(node, name) for name in places},
        "images": {} if asked is None else dict(asked.proof.get("images", {})),
        "approvals": [asdict(answer) for answer in answers],
    }


def write_dossier(judged: Judged, work: Work, page: EvidencePage) -> Dossier:
    """Store all files of a dossier and return their manifest. Re-entrant: the same judgement gives the same bytes."""
    contents = _contents(judged, work)
    hashes = {name: sha256_hex(content) for name, content in sorted(contents.items())}
    hashes["bundle.tar.gz"] = judged.stored.bundle.sha256
    verdict = verdict_document(judged.stored, judged.judgement, judged.basis, hashes)
    contents["verdict.json"] = canonical_json(verdict)
    folder = f"{folder_of(judged.stored.bundle)}/judgement-{sha256_hex(contents['verdict.json'])[:12]}"
    shown = {
        "verdict": verdict,
        "result": without_nan(dict(judged.stored.document)),
        "validation": judged.validation,
        "attestation": judged.attestation,
        "context": judged.context,
        "history": None if judged.basis.history is None else judged.basis.history.document(),
        "files": {**hashes, "verdict.json": sha256_hex(contents["verdict.json"])},
    }
    contents[PAGE] = page.render(shown)
    files = {name: work.store.put(f"{folder}/{name}", content) for name, content in contents.items()}
    files["bundle.tar.gz"] = judged.stored.bundle
    manifest = work.store.put(f"{folder}/{MANIFEST}", canonical_json(manifest_document(verdict, files)))
    return Dossier(manifest, files[PAGE])


def _contents(judged: Judged, work: Work) -> dict[str, bytes]:
    basis = judged.basis
    contents = {
        "plan.json": _plan(judged, work),
        "result.json": canonical_json(without_nan(dict(judged.stored.document))),
        "validation.json": canonical_json(dict(judged.validation)),
        "suite.json": canonical_json(suite_to_document(basis.suite)),
        "baselines.json": canonical_json(
            {"baselines": baselines_to_document(basis.baselines), "references": references_to_document(basis.baselines)}
        ),
    }
    if judged.context is not None:
        contents["context.json"] = canonical_json(dict(judged.context))
    if basis.history is not None:
        contents["history.json"] = canonical_json(basis.history.document())
    if judged.attestation is not None:
        contents["attestation.json"] = canonical_json(dict(judged.attestation))
    return contents


def _plan(judged: Judged, work: Work) -> bytes:
    """Return the plan as it was handed out, byte for byte; without a record of it, as it must have been."""
    asked = plan_of(judged.stored, work.ledger)
    if asked is not None:
        return json.dumps(asked.detail["plan"]).encode()
    (record,) = work.ledger.nodes([judged.stored.node])
    plan = plan_document(
        with_old_xids(judged.basis.suite, work.library.old_xids(record.node.pool)),
        judged.basis.sku,
        judged.judgement.scope,
        limits=told_limits(judged.basis.suite, judged.basis.sku, judged.judgement.scope, judged.basis.baselines),
        node=judged.stored.node,
        serial=judged.basis.serial,
        episode=judged.stored.episode,
        nonce=str(judged.stored.document.get("nonce")),
    )
    return json.dumps(plan).encode()
