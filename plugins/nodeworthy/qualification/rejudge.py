"""Judging again from a dossier alone: the reference implementation, without library, ledger or today's files.

It answers two questions. Does this dossier's verdict follow from its evidence, byte for byte? And what would other
baselines have decided, without running a test again?
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.baselines import baselines_from_document
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.decision import Case, decide, not_attested
from nodeworthy.qualification.frame import Context, build_rows
from nodeworthy.qualification.own_checks import said_off
from nodeworthy.qualification.own_history import history_from_document
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.sku import BmcProfile, Sku
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.written import Basis, verdict_document


def rejudge(files: Mapping[str, bytes]) -> bytes:
    """Return the canonical verdict document that follows from a dossier's files, by name."""
    recorded = json.loads(files["verdict.json"])
    stored = StoredResult(
        node=recorded["node"],
        episode=recorded["episode"],
        scope=Scope(recorded["scope"]),
        suite=recorded["suite"],
        bundle=EvidenceReference("", recorded["made_from"]["bundle.tar.gz"], 0),
        document=json.loads(files["result.json"]),
        judged=True,
        switched_off=tuple(json.loads(files["plan.json"]).get("switched_off", ())),
    )
    basis = _basis(files, recorded)
    rows = build_rows([Context(stored, basis.suite, basis.sku, basis.baselines, basis.firmware_set, basis.serial)])
    failed = failed_checks(rows, basis.suite.checks())
    judgement = _with_quote(decide(Case(stored, basis.suite, rows, failed, history=basis.history)), files)
    judgement = replace(judgement, sentence=judgement.sentence + said_off(stored.switched_off))
    return canonical_json(verdict_document(stored, judgement, basis, recorded["made_from"]))


def _basis(files: Mapping[str, bytes], recorded: Mapping[str, Any]) -> Basis:
    baselines = json.loads(files["baselines.json"])
    references = baselines["references"]
    return Basis(
        suite=suite_from_document(json.loads(files["suite.json"])),
        sku=_sku(recorded),
        baselines=baselines_from_document(
            baselines["baselines"], references_from_document(references) if references else ()
        ),
        firmware_set=recorded["firmware_set"],
        serial=recorded["serial"],
        history=history_from_document(json.loads(files["history.json"])) if "history.json" in files else None,
    )


def _sku(recorded: Mapping[str, Any]) -> Sku:
    devices = {kind: tuple(names) for kind, names in recorded.get("devices", {}).items()}
    return Sku(
        *(recorded["sku"], 1, (), (), BmcProfile(""), recorded["firmware_set"], recorded["gpus"], 0),
        devices=devices,
        offers=tuple(recorded.get("offers", ())),
        transports=recorded.get("transports", {}),
    )


def _with_quote(judgement: Judgement, files: Mapping[str, bytes]) -> Judgement:
    if "attestation.json" not in files:
        return judgement
    quote: Mapping[str, Any] = json.loads(files["attestation.json"])
    if quote["attested"]:
        return judgement
    return not_attested(judgement, Verdict(quote["verdict"]), quote["sentence"])
