"""Learn: propose baselines of one SKU from its stored measurements, with what they would have decided on past results.

A proposal is evidence: document and page lie in the evidence store before anybody is asked, the ledger keeps the
version and who answered it. Nothing is in force before that answer, and a version in force can be withdrawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.ports import EvidencePage, Work
from nodeworthy.procedures.baseline_book import BaselineBook
from nodeworthy.procedures.dossier import as_asked
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.columns import RANKS, ranks_of
from nodeworthy.qualification.learning import Change, LearningRule, Lesson, Past, changes, lessons, populations
from nodeworthy.qualification.learning_shapes import shape_lessons
from nodeworthy.qualification.suites import of_one_node
from nodeworthy.qualification.versions import BaselineVersion, NewVersion, in_force, laid_over, learnt
from nodeworthy.qualification.written import baselines_to_document, references_to_document

PROPOSAL_SCHEMA = "nodeworthy.baseline-proposal/1"


@dataclass(frozen=True, slots=True)
class Teaching:
    """What learning needs besides `Work`."""

    book: BaselineBook
    rule: LearningRule
    page: EvidencePage


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal that waits for its answer; `page` is an address to open, `sentence` says what it holds."""

    version: BaselineVersion
    page: str
    sentence: str


def learn(run: str, sku: str, work: Work, teaching: Teaching, *, again: bool = False) -> Proposed:
    """Propose baselines for the keys of a SKU that have none (all keys when `again`). Re-entrant.

    Refused with the reason when no key has a population that is large enough.
    """
    past = past_of(sku, work, teaching.book)
    known = tuple(work.library.baselines(sku))
    taught = lessons(populations(past), known, teaching.rule, sku=sku, again=again)
    allowed = work.library.statistics().shape
    taught += shape_lessons(past, known, teaching.rule, allowed, again=again)
    for lesson in taught:
        work.say(said(lesson))
    new = tuple(lesson.new for lesson in taught if lesson.new is not None)
    if not new:
        raise Refused(_nothing(sku, len(past), taught))
    learned = _with_earlier(sku, new, teaching.book)
    moved = changes(past, known, laid_over(known, new))
    document: dict[str, Any] = {
        "schema": PROPOSAL_SCHEMA,
        "sku": sku,
        "results": len(past),
        "rule": {**asdict(teaching.rule), "low_is_good": sorted(teaching.rule.low_is_good)},
        "shape": asdict(allowed),
        "lessons": [_lesson(lesson) for lesson in taught],
        "changes": [_change(change) for change in moved],
        "version": {"baselines": baselines_to_document(learned), "references": references_to_document(learned)},
    }
    reference, page = _stored(sku, document, work, teaching.page)
    version = teaching.book.propose_baselines(
        NewVersion(sku, document["version"], reference.sha256, reference, run),
    )
    sentence = (
        f"Version {version.number} of the baselines of {sku}: {len(new)} keys from {len(past)} results; "
        f"{len(moved)} past verdicts would have been another."
    )
    address = work.store.url(page)
    work.say(f"{sentence} Old against new: {address}")
    return Proposed(version, address, sentence)


def past_of(sku: str, work: Work, book: BaselineBook) -> tuple[Past, ...]:
    """Return the stored results of a SKU with what they are judged by: of groups, every one that was measured."""
    newest = book.past_results(sku)
    together = {one.suite for one in newest if not of_one_node(work.library.suite(one.suite))}
    of_groups = [one for suite in sorted(together) for one in book.past_results(sku, suite, every=True)]
    found = [one for one in newest if one.suite not in together]
    found += [one for one in of_groups if ranks_of(one.document) is not None]
    nodes: dict[str, FleetNode] = {
        record.node.name: record.node for record in work.ledger.nodes([one.node for one in found])
    }
    return tuple(_past(as_asked(one, work.ledger), nodes[one.node], work) for one in found)


def _past(stored: StoredResult, node: FleetNode, work: Work) -> Past:
    """Return a result with the suite that its plan asked for, without what was left out of it."""
    sku = work.library.sku(node.sku)
    asked = work.library.suite(stored.suite).on(sku.vendor).without([row["test"] for row in stored.switched_off])
    return Past(stored, asked, sku, node.serial)


def said(lesson: Lesson) -> str:
    """Return one key's lesson in words."""
    test, metric, statistic, unit = lesson.population.key
    population = lesson.population
    ranks = f" on {population.parameters[RANKS]} ranks" if RANKS in population.parameters else ""
    name = f"{test} {metric}" + ("" if statistic == "single" else f" ({statistic})") + ranks
    values = population.values
    seen = f"{min(values):.4g} to {max(values):.4g} {unit} on {population.nodes} {population.of}"
    if lesson.new is None:
        return f"{name}: {seen}; {lesson.why_not}, so nothing is proposed."
    return f"{name}: {seen}; {limits_in_words(lesson.new)}, before: {limits_in_words(lesson.old)}."


def limits_in_words(baseline: Baseline | None) -> str:
    """Return the limits of a baseline with their unit."""
    if baseline is None:
        return "no baseline"
    low, high = (baseline.floor, baseline.ceiling) if baseline.floor is not None else (baseline.least, baseline.most)
    if low is None or high is None:
        return f"exactly {baseline.equals}"
    return f"{low:.4g} to {high:.4g} {baseline.unit}"


def _nothing(sku: str, results: int, taught: Sequence[Lesson]) -> str:
    if not taught:
        return (
            f"{sku}: its {results} stored results have no key without a baseline, so there is nothing to learn; "
            "ask for all keys to propose them anew."
        )
    few = max(lesson.population.nodes for lesson in taught)
    return (
        f"{sku}: no key was measured on enough nodes ({few} at most; {taught[0].why_not}): bring up more nodes first."
    )


def _with_earlier(sku: str, new: tuple[Baseline, ...], book: BaselineBook) -> tuple[Baseline, ...]:
    """Return everything that was ever learnt for the SKU, the new rows in the place of older ones."""
    version = in_force(book.baseline_versions(sku))
    earlier = learnt(version.document, f"version {version.number} of {sku}") if version is not None else ()
    return laid_over(earlier, new)


def _stored(
    sku: str, document: dict[str, Any], work: Work, page: EvidencePage
) -> tuple[EvidenceReference, EvidenceReference]:
    content = canonical_json(document)
    folder = f"baselines/{sku}/proposal-{sha256_hex(content)[:12]}"
    shown = work.store.put(f"{folder}/page.html", page.render(document))
    return work.store.put(f"{folder}/proposal.json", content), shown


def _lesson(lesson: Lesson) -> dict[str, Any]:
    test, metric, statistic, unit = lesson.population.key
    return {
        "test": test,
        "metric": metric,
        "statistic": statistic,
        "unit": unit,
        "parameters": dict(lesson.population.parameters),
        "nodes": lesson.population.nodes,
        "simulated": lesson.population.simulated,
        "values": list(lesson.population.values),
        "old": _limits(lesson.old),
        "new": _limits(lesson.new),
        "why_not": lesson.why_not,
    }


def _limits(baseline: Baseline | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    names = ("floor", "ceiling", "most", "least", "reached", "spread_percent", "source", "version")
    reference = baseline.reference
    told = ("median", "sigma", "n", "spread", "run")
    frozen = None if reference is None else {name: getattr(reference, name) for name in told}
    return {**{name: getattr(baseline, name) for name in names}, "reference": frozen}


def _change(change: Change) -> dict[str, Any]:
    return {
        "node": change.node,
        "scope": change.scope,
        "suite": change.suite,
        "before": {"verdict": change.before.verdict.value, "sentence": change.before.sentence},
        "after": {"verdict": change.after.verdict.value, "sentence": change.after.sentence},
    }
