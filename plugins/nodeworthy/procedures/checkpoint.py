"""Checkpoint: sign the heads of all audit chains and put them where nobody can overwrite them; and check against them.

The audit's own chains show a change by hand. Whoever may rewrite a chain, its head and everything behind it is found by
the last checkpoint: it lies in the write-once store under its number, is signed, and names the checkpoint before it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.evidence.certificate import signed
from nodeworthy.evidence.checkpoint import FIRST, Checkpoint, Head, KeyRing
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.ports import EvidenceStore, Signer
from nodeworthy.procedures.outcome import Done


class AuditTrail(Protocol):
    """The memory's proof of itself; kept by the same ledger."""

    def begin_checkpoint(self, key_id: str) -> Checkpoint:
        """Write down all heads as the next checkpoint, or return the one that was begun and never stored."""

    def store_checkpoint(self, number: int, reference: EvidenceReference) -> None:
        """Write down where a checkpoint lies. Idempotent."""

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return all stored checkpoints in order."""

    def verify_audit(self, node: str | None = None) -> tuple[str, ...]:
        """Return one sentence per broken place of one chain, or of all."""

    def broken_heads(self, heads: Mapping[str, Head]) -> tuple[str, ...]:
        """Return one sentence per chain that does not run through its head."""


def checkpoint(trail: AuditTrail, store: EvidenceStore, signer: Signer, say: Callable[[str], None]) -> Done:
    """Store the next checkpoint. Re-entrant: one that was begun and never recorded is recorded first.

    It is signed by the present key, also when it was begun under the one before. When it lies in the store already,
    signed by that one, it stays as it is. Raises Refused when another checkpoint of its number lies there: then this
    ledger was rolled back.
    """
    begun = trail.begin_checkpoint(signer.key_id)
    reference = _stored(store, begun, signer)
    trail.store_checkpoint(begun.number, reference)
    heads = begun.body["heads"]
    rows = sum(sequence for sequence, _ in heads.values())
    summary = f"Checkpoint {begun.number} of {len(heads)} audit chains with {rows} rows: {reference.path}."
    say(summary)
    return Done(summary, {"number": begun.number, "sha256": reference.sha256})


def verify(
    trail: AuditTrail, store: EvidenceStore, keys: KeyRing | None, *, since: datetime | None = None
) -> tuple[str, ...]:
    """Return one sentence per thing that is wrong with the audit; empty when all of it holds.

    Looks at every chain, at the row of checkpoints, and at all chains against the last checkpoint; with `since` (aware)
    also at signature and place in the row of every checkpoint from that time on. Without `keys` no signature is looked
    at, which the caller says.
    """
    problems = list(trail.verify_audit())
    known = trail.checkpoints()
    numbers = [one.number for one in known]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append(f"the checkpoints are numbered {numbers}: some were removed.")
    befores = [FIRST, *(one.reference.sha256 for one in known if one.reference is not None)]
    looked = list(zip(known, befores, strict=False))
    chosen = [pair for pair in looked[:-1] if since is not None and pair[0].at >= since] + looked[-1:]
    for one, before in chosen:
        document, wrong = _read(store, one, before)
        problems.extend(wrong)
        if document is None:
            continue
        problems.extend(against(trail, document, keys) if one is known[-1] else _unsigned(document, keys))
    return tuple(problems)


def against(trail: AuditTrail, document: Mapping[str, Any], keys: KeyRing | None) -> Sequence[str]:
    """Return what is wrong with a checkpoint's document, or with the audit when it is held against it."""
    if wrong := _unsigned(document, keys):
        return wrong
    heads = document.get("heads")
    if not isinstance(heads, dict):
        return [f"checkpoint {document.get('number')} names no heads: it proves nothing."]
    return trail.broken_heads({str(serial): (int(head[0]), str(head[1])) for serial, head in heads.items()})


def _stored(store: EvidenceStore, begun: Checkpoint, signer: Signer) -> EvidenceReference:
    """Put a checkpoint into the store, or find it there, signed by an earlier key before a crash."""
    path = f"audit/checkpoint-{begun.number:08}.json"
    body = {**begun.body, "key_id": signer.key_id}
    try:
        return store.put(path, canonical_json(signed(body, signer.sign)))
    except Refused:
        there = store.read(path)
        if _said(there) != _said(canonical_json(body)):
            raise
        return EvidenceReference(path, sha256_hex(there), len(there))


def _said(content: bytes) -> Mapping[str, Any] | None:
    """Return what a checkpoint says, whoever signed it; None for what is none."""
    try:
        document = json.loads(content)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    return {key: value for key, value in document.items() if key not in ("key_id", "signature")}


def _read(store: EvidenceStore, one: Checkpoint, before: str) -> tuple[Mapping[str, Any] | None, list[str]]:
    """Return a recorded checkpoint's document, and what is wrong with its place in the row."""
    assert one.reference is not None
    try:
        document = json.loads(store.get(one.reference))
    except (Permanent, ValueError) as error:
        return None, [f"checkpoint {one.number} cannot be read: {error}"]
    problems = []
    if document.get("number") != one.number:
        problems.append(f"checkpoint {one.number} calls itself {document.get('number')}: it was exchanged.")
    if document.get("previous") != before:
        problems.append(f"checkpoint {one.number} does not follow the one before it: one of the two was exchanged.")
    return document, problems


def _unsigned(document: Mapping[str, Any], keys: KeyRing | None) -> list[str]:
    """Return why a checkpoint's signature proves nothing; empty when it fits, or when there are no keys to ask."""
    if keys is None:
        return []
    body = {key: value for key, value in document.items() if key != "signature"}
    named = f"checkpoint {document.get('number')}"
    try:
        signature = base64.b64decode(str(document.get("signature", "")), validate=True)
        at = datetime.fromisoformat(str(document.get("at")))
        problem = keys.problem(str(document.get("key_id")), canonical_json(body), signature, at)
    except (binascii.Error, ValueError, TypeError):
        problem = "its time or its signature is none, so that it does not fit, it was changed or forged"
    return [f"{named} proves nothing: {problem}."] if problem else []
