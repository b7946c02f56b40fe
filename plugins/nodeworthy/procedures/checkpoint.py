"""Checkpoint: sign the heads of all audit chains and put them where nobody can overwrite them; and check against them.

The audit's own chains show a change by hand. Whoever may rewrite a chain, its head and everything behind it is found by
the last checkpoint: it lies in the write-once store under its number, is signed, and names the checkpoint before it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.certificate import CheckSignature, signed
from nodeworthy.evidence.checkpoint import FIRST, Checkpoint, Head
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
    """Store the next checkpoint. Re-entrant: one that was begun and never stored is stored first, byte for byte.

    Raises Refused when another checkpoint of its number lies there: then this ledger was rolled back.
    """
    begun = trail.begin_checkpoint(signer.key_id)
    reference = store.put(f"audit/checkpoint-{begun.number:08}.json", canonical_json(signed(begun.body, signer.sign)))
    trail.store_checkpoint(begun.number, reference)
    heads = begun.body["heads"]
    rows = sum(sequence for sequence, _ in heads.values())
    summary = f"Checkpoint {begun.number} of {len(heads)} audit chains with {rows} rows: {reference.path}."
    say(summary)
    return Done(summary, {"number": begun.number, "sha256": reference.sha256})


def verify(trail: AuditTrail, store: EvidenceStore, check: CheckSignature | None) -> tuple[str, ...]:
    """Return one sentence per thing that is wrong with the audit; empty when all of it holds.

    Looks at every chain, at the row of checkpoints, and at all chains against the last checkpoint. `check` tells
    whether (key id, content, signature) fits; without it the signature is not looked at, which the caller must say.
    """
    problems = list(trail.verify_audit())
    known = trail.checkpoints()
    numbers = [one.number for one in known]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append(f"the checkpoints are numbered {numbers}: some were removed.")
    if not known:
        return tuple(problems)
    last, reference = known[-1], known[-1].reference
    assert reference is not None
    try:
        document = json.loads(store.get(reference))
    except (Permanent, ValueError) as error:
        return (*problems, f"checkpoint {last.number} cannot be read: {error}")
    before = known[-2].reference if len(known) > 1 else None
    problems.extend(against(trail, document, check))
    if document.get("number") != last.number:
        problems.append(f"checkpoint {last.number} calls itself {document.get('number')}: it was exchanged.")
    if document.get("previous") != (before.sha256 if before else FIRST):
        problems.append(f"checkpoint {last.number} does not follow the one before it: one of the two was exchanged.")
    return tuple(problems)


def against(trail: AuditTrail, document: Mapping[str, Any], check: CheckSignature | None) -> Sequence[str]:
    """Return what is wrong with a checkpoint's document, or with the audit when it is held against it."""
    if check is not None and not _signature_fits(document, check):
        return [f"the signature of checkpoint {document.get('number')} does not fit: it was changed or forged."]
    heads = document.get("heads")
    if not isinstance(heads, dict):
        return [f"checkpoint {document.get('number')} names no heads: it proves nothing."]
    return trail.broken_heads({str(serial): (int(head[0]), str(head[1])) for serial, head in heads.items()})


def _signature_fits(document: Mapping[str, Any], check: CheckSignature) -> bool:
    body = {key: value for key, value in document.items() if key != "signature"}
    try:
        signature = base64.b64decode(str(document.get("signature", "")), validate=True)
    except binascii.Error:
        return False
    return check(str(document.get("key_id")), canonical_json(body), signature)
