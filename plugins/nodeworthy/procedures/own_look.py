"""What each node of a group saw on itself while the collectives ran: kernel log, counters, whether its GPUs are there.

The first node's result holds these rows beside the collectives', the others' hold nothing else. What is wrong with one
node alone is told apart from what the group measured together, because only the latter is a matter of halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.verdicts import Reason, Verdict
from nodeworthy.procedures.dossier import Dossier
from nodeworthy.qualification.decision import PRECEDENCE
from nodeworthy.qualification.sentences import OF_WHOLE_DOCUMENT, judged_sentence
from nodeworthy.qualification.suites import Suite

SLOWEST_NODE, SLOWEST_GPU = "slowest_node", "slowest_gpu"
"""Parameters of a figure of a whole group that say which of its ranks it is of."""


@dataclass(frozen=True, slots=True)
class OwnLook:
    """Why one node of a group did not pass by what it saw on itself, whatever the group measured."""

    node: str
    verdict: Verdict
    sentence: str
    reasons: tuple[Reason, ...]
    dossier: EvidenceReference

    def document(self) -> dict[str, Any]:
        """Return it as it is kept in the ledger."""
        return {**asdict(self), "verdict": self.verdict.value}


def look_from_document(kept: Mapping[str, Any]) -> OwnLook:
    """Read what `document` wrote."""
    reasons = tuple(Reason(**{**row, "verdict": Verdict(row["verdict"])}) for row in kept["reasons"])
    dossier = EvidenceReference(**kept["dossier"])
    return OwnLook(kept["node"], Verdict(kept["verdict"]), kept["sentence"], reasons, dossier)


def parted(reasons: Sequence[Reason], each: Suite | None) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Return the reasons of the node that leads by itself, and those of the group."""
    metrics = {spec.metric for test in (each.tests if each is not None else ()) for spec in test.metrics}
    own = tuple(one for one in reasons if one.metric in metrics and one.code not in OF_WHOLE_DOCUMENT)
    return own, tuple(one for one in reasons if one not in own)


def look_of(node: str, dossier: Dossier, reasons: Sequence[Reason], *, during: str) -> OwnLook | None:
    """Return why a node did not pass on its own, None when nothing is wrong with it. `during` says what ran."""
    if not reasons:
        return None
    verdict, sentence = worst_of(node, reasons)
    return OwnLook(node, verdict, f"{sentence.rstrip('.')} ({during}).", tuple(reasons), dossier.manifest)


def named_in(reasons: Sequence[Reason], document: Mapping[str, Any]) -> dict[str, tuple[Reason, ...]]:
    """Return, by node, the reasons of a group whose figure itself says whose it is: node and GPU of the slowest rank.

    Such a figure was taken before any rank waited for another, so no halves are needed to find who it is.
    """
    found: dict[str, tuple[Reason, ...]] = {}
    rows = [row for row in document.get("measurements", ()) if SLOWEST_NODE in (row.get("parameters") or {})]
    for reason in reasons:
        row = max((one for one in rows if one["metric"] == reason.metric), key=_value, default=None)
        if row is not None and reason.verdict is Verdict.FAIL:
            node, gpu = row["parameters"][SLOWEST_NODE], f"gpu/{row['parameters'][SLOWEST_GPU]}"
            told = replace(reason, component=gpu, sentence=f"{gpu} {reason.sentence.removeprefix('node ')}")
            found[node] = (*found.get(node, ()), told)
    return found


def _value(row: Mapping[str, Any]) -> float:
    return float(row["value"] or 0.0)


def worst_of(node: str, reasons: Sequence[Reason]) -> tuple[Verdict, str]:
    """Return the worst verdict of some reasons, and the sentence of those that have it."""
    worst = min((one.verdict for one in reasons), key=PRECEDENCE.index)
    return worst, judged_sentence(node, [one for one in reasons if one.verdict is worst])
