"""Judge a wave: one validation for all results that wait, then per node a dossier, a record and a move.

The order per node is dossier, record, move, each of which may be repeated: a crash between any two leaves evidence
without a record or a record without a move, and the next run of this procedure goes on from there. One node's refusal
never stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nodeworthy.errors import NodeworthyError, Permanent, Refused, Transient
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.rows import Transition
from nodeworthy.ports import EvidencePage, Judge, JudgingBatch, Signer, Work
from nodeworthy.procedures import attest as attestation
from nodeworthy.procedures.certify import certify
from nodeworthy.procedures.dossier import Dossier, Judged, as_asked, context_document, plan_of, write_dossier
from nodeworthy.procedures.isolate import isolate
from nodeworthy.procedures.progress import begin, record_of
from nodeworthy.procedures.segments import PLAN, home, stands_to_be_tested
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.decision import PRECEDENCE, not_attested
from nodeworthy.qualification.own_checks import said_off
from nodeworthy.qualification.own_history import History, figures_of, history_of
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import of_one_node
from nodeworthy.qualification.validation import part_of
from nodeworthy.qualification.written import Basis


@dataclass(frozen=True, slots=True)
class Judging:
    """What judging needs besides `Work`; signer and golden measurements are asked for when a platform is judged."""

    judge: Judge
    page: EvidencePage
    signer: Callable[[], Signer]
    golden: Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of one result. `sentence` is for the operator; `page` is an address to open, or empty."""

    node: str
    scope: Scope
    verdict: Verdict
    sentence: str
    milestone: str
    page: str = ""


def judge_wave(run: str, scope: Scope, work: Work, judging: Judging, *, only: str = "") -> tuple[Summary, ...]:
    """Judge what waits in this run, and finish what an interrupted judging left behind. Re-entrant.

    `only` names the one node to look at; empty for all.
    Raises Permanent when the validation itself is in doubt (nothing is judged then), or, after all others were treated,
    when the evidence of some node could not be kept.
    """
    found = work.ledger.results(run=run, scope=scope, unjudged=False)
    # What several nodes measured together is judged by who screens them.
    results = [
        result
        for result in found
        if result.node == (only or result.node) and of_one_node(work.library.suite(result.suite))
    ]
    waiting = [result for result in results if not result.judged]
    busy = {result.node for result in waiting}
    left = {result.node: result for result in results if result.judged and result.node not in busy}
    wave = Wave(
        run, scope, work, judging, {record.node.name: record.node for record in work.ledger.nodes([*busy, *left])}
    )
    summaries = [wave.finish(result) for result in left.values()]
    for suite in dict.fromkeys(result.suite for result in waiting):
        summaries += wave.judge([result for result in waiting if result.suite == suite])
    if wave.broken:
        raise Permanent(" ".join(wave.broken))
    return tuple(summary for summary in summaries if summary is not None)


@dataclass
class Wave:
    """One call of `judge_wave` or `rejudge`; `broken` collects what no operator's answer explains."""

    run: str
    scope: Scope
    work: Work
    judging: Judging
    nodes: Mapping[str, FleetNode]

    def __post_init__(self) -> None:
        self.broken: list[str] = []
        self._limits: Mapping[str, tuple[Baseline, ...]] = {}
        self._histories: Mapping[str, History] = {}

    def judge(self, newest: Sequence[StoredResult]) -> list[Summary | None]:
        """Judge results of one suite together, all segments of a soak with them, then treat them node by node."""
        whole = {stored.node: self._whole(stored) for stored in newest}
        cut_short = [self._cut_short(stored) for stored in newest if not whole[stored.node]]
        results = [result for parts in whole.values() for result in parts]
        return [*cut_short, *(self._judge(results) if results else ())]

    def _judge(self, results: Sequence[StoredResult]) -> list[Summary | None]:
        judgements, validation = self.validated(results)
        of_node: dict[str, list[tuple[StoredResult, Judgement]]] = {}
        for stored, judgement in zip(results, judgements, strict=True):
            of_node.setdefault(stored.node, []).append((stored, judgement))
        return [self._safely(parts[-1][0], partial(self._conclude, parts, validation)) for parts in of_node.values()]

    def validated(self, results: Sequence[StoredResult]) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Return a judgement per result and the validation of all. Transient when limits changed meanwhile."""
        skus = {result.node: self.work.library.sku(self.nodes[result.node].sku) for result in results}
        batch = JudgingBatch(
            scope=self.scope,
            results=tuple(results),
            skus=skus,
            firmware_sets={node: sku.firmware_set for node, sku in skus.items()},
            serials={result.node: self.nodes[result.node].serial for result in results},
            histories=self._earlier(results),
        )
        self.work.say(
            f"Judging {len(results)} results of suite {results[0].suite}, {self.scope} scope, in one validation."
        )
        self._limits = self._in_force(skus.values())
        judgements, validation = self.judging.judge.judge(batch)
        if self._in_force(skus.values()) != self._limits:
            raise Transient(
                "Baselines were put in force while this wave was judged, so nothing counts: judge it again."
            )
        return judgements, validation

    def _whole(self, newest: StoredResult) -> tuple[StoredResult, ...]:
        """Return the result as it was asked for, or all segments of its soak in order; none when some are not home."""
        segments = self.work.library.suite(newest.suite).segments
        if segments == 1:
            return (as_asked(newest, self.work.ledger),)
        plans = home(self.work.ledger.effects(newest.node, episode=newest.episode), self.scope, newest.suite)
        stored = self.work.ledger.results(run=self.run, scope=self.scope, unjudged=False, every=True)
        by_nonce = {str(one.document.get("nonce")): one for one in stored if one.node == newest.node}
        found = [
            replace(as_asked(by_nonce[effect.detail["plan"]["nonce"]], self.work.ledger), segment=number)
            for number, effect in sorted(plans.items())
            if effect.detail["plan"]["nonce"] in by_nonce
        ]
        return tuple(found) if len(found) == segments else ()

    def _cut_short(self, stored: StoredResult) -> Summary:
        sentence = (
            f"{stored.node} has not brought all segments of suite {stored.suite}, so it is not judged: run it again; "
            "it goes on behind those that are in the ledger."
        )
        self.work.say(sentence)
        milestone = record_of(self.nodes[stored.node], self.work).milestone
        return Summary(stored.node, self.scope, Verdict.INCOMPLETE, sentence, milestone)

    def finish(self, stored: StoredResult) -> Summary | None:
        """Move a node whose judgement was recorded by an earlier call that did not get to its end."""
        return self._safely(stored, partial(self._move_recorded, stored))

    def _safely(self, stored: StoredResult, treat: Callable[[Lease], Summary | None]) -> Summary | None:
        try:
            return treat(self.work.ledger.lease(stored.node, self.run))
        except Transient:
            raise
        except NodeworthyError as error:
            if not isinstance(error, Refused):
                self.broken.append(error.sentence)
            self.work.say(f"{stored.node}: {error.sentence}")
            milestone = record_of(self.nodes[stored.node], self.work).milestone
            return Summary(stored.node, self.scope, Verdict.NOT_RUN, error.sentence, milestone)

    def _conclude(
        self, parts: Sequence[tuple[StoredResult, Judgement]], validation: Mapping[str, Any], lease: Lease
    ) -> Summary:
        """Write a dossier per part, record the worst judgement for the node (the last of equals), and move it."""
        written = [self.written(stored, judgement, validation, lease) for stored, judgement in reversed(parts)]
        judged, dossier = min(written, key=lambda one: PRECEDENCE.index(one[0].judgement.verdict))
        judgement, work = judged.judgement, self.work
        if len(parts) > 1:
            passed = sum(one.judgement.verdict is Verdict.PASS for one, _ in written)
            which = f" Segment {judged.stored.segment} decided;" if passed < len(parts) else ""
            said = f"{judgement.sentence}{which} {passed} of {len(parts)} segments passed."
            judgement = replace(judgement, sentence=said)
        qualification = self._qualification(judged, dossier.manifest)
        noticed = tuple(dict.fromkeys(remark for one, _ in written for remark in one.judgement.remarks))
        recorded = replace(judgement, dossier=dossier.manifest, remarks=noticed)
        read = [figures_of(one.stored, one.validation) for one, _ in reversed(written)]
        work.ledger.record_judgement(lease, recorded, qualification, read)
        page = work.store.url(dossier.page)
        work.say(f"{judgement.sentence} Evidence: {page}")
        self._move(judgement, dossier.manifest, lease)
        return self._summary(judgement, page)

    def written(
        self, stored: StoredResult, judgement: Judgement, validation: Mapping[str, Any], lease: Lease
    ) -> tuple[Judged, Dossier]:
        """Write the dossier of one result; nothing is recorded and nobody is moved."""
        node, work = self.nodes[stored.node], self.work
        quote = None
        if self.scope is Scope.PLATFORM:
            judgement, quote = self._attested(stored, judgement, lease)
        judgement = replace(judgement, sentence=judgement.sentence + said_off(stored.switched_off))
        basis = self._basis(stored, node)
        answers = work.ledger.answers(node.name, lease.episode)
        context = context_document(node, answers, plan_of(stored, work.ledger))
        judged = Judged(stored, judgement, basis, part_of(validation, stored.node, stored.segment), quote, context)
        return judged, write_dossier(judged, work, self.judging.page)

    def _attested(
        self, stored: StoredResult, judgement: Judgement, lease: Lease
    ) -> tuple[Judgement, Mapping[str, Any]]:
        """Check the quote first: one that does not hold makes the result invalid, a missing one incomplete."""
        node = self.nodes[stored.node]
        begin(attestation.EVENT, node, self.work)
        try:
            attestation.attest(lease, node, self.work, stored.document, self.judging.golden())
        except Refused as refusal:
            verdict = Verdict.INVALID if stored.document.get("attestation") else Verdict.INCOMPLETE
            quote = {"attested": False, "verdict": verdict.value, "sentence": refusal.sentence}
            return not_attested(judgement, verdict, refusal.sentence), quote
        return judgement, {"attested": True, "nonce": str(stored.document.get("nonce"))}

    def _basis(self, stored: StoredResult, node: FleetNode) -> Basis:
        library = self.work.library
        sku: Sku = library.sku(node.sku)
        off = [row["test"] for row in stored.switched_off]
        asked = library.suite(stored.suite).on(sku.vendor).without(off)
        history = self._histories.get(stored.bundle.sha256)
        return Basis(asked, sku, self._limits[sku.name], sku.firmware_set, node.serial, history)

    def _earlier(self, results: Sequence[StoredResult]) -> Mapping[str, History]:
        """Return the earlier runs of every result whose node has any; they are frozen into its dossier."""
        rule = self.work.library.statistics().own_history
        runs = {one.bundle: self.work.ledger.earlier_figures(one, rule.drift.settle, rule.runs) for one in results}
        self._histories = {bundle.sha256: history_of(earlier, rule) for bundle, earlier in runs.items() if earlier}
        return self._histories

    def _in_force(self, skus: Iterable[Sku]) -> Mapping[str, tuple[Baseline, ...]]:
        """Return the baselines in force, by SKU: what a dossier holds must be what the judge saw."""
        return {name: tuple(self.work.library.baselines(name)) for name in sorted({sku.name for sku in skus})}

    def _qualification(self, judged: Judged, manifest: EvidenceReference) -> Qualification | None:
        if judged.judgement.verdict is not Verdict.PASS:
            return None
        now = self.work.clock.now()
        validity = self.work.library.policy(self.nodes[judged.stored.node].pool)["validity"][self.scope.value]
        return Qualification(
            node=judged.stored.node,
            scope=self.scope,
            suite=judged.judgement.suite,
            episode=judged.stored.episode,
            granted_at=now,
            expires_at=now + validity,
            dossier=manifest,
            boot_id=str(judged.stored.document.get("boot_id") or ""),
            firmware_set=judged.basis.firmware_set,
        )

    def _move(self, judgement: Judgement, dossier: EvidenceReference, lease: Lease) -> None:
        """Advance a node that passed, quarantine one that failed; every other verdict leaves it where it stands.

        One that passed where it stands beyond this scope's milestone stays there.
        """
        node, work = self.nodes[judgement.node], self.work
        if judgement.verdict is Verdict.PASS and self._in_place(judgement.node):
            work.say(f"{node.name} stays {record_of(node, work).milestone}.")
        elif judgement.verdict is Verdict.PASS:
            if self.scope is Scope.PLATFORM:
                certify(lease, node, work, self.judging.signer())
            facts = {"suite": judgement.suite, "dossier": dossier.path, "dossier_sha256": dossier.sha256}
            work.ledger.advance(lease, self._row().event, facts, dossier)
        elif judgement.verdict is Verdict.FAIL:
            isolate(lease, node, work, reason=judgement.sentence)

    def _move_recorded(self, stored: StoredResult, lease: Lease) -> Summary | None:
        judgement = self._recorded(stored)
        milestone = record_of(self.nodes[stored.node], self.work).milestone
        unmoved = self.work.library.lifecycle().transition(milestone, self._row().event) is not None
        if judgement is not None and judgement.verdict is Verdict.FAIL:
            unmoved = unmoved or self._in_place(stored.node)
        if judgement is None or not unmoved or not self._answers_newest_plan(stored):
            return None
        if judgement.verdict not in (Verdict.PASS, Verdict.FAIL):
            return None
        self.work.say(f"{stored.node} was judged before and not moved: {judgement.sentence}")
        dossier = judgement.dossier
        if dossier is None and judgement.verdict is Verdict.PASS:
            return None
        self._move(judgement, dossier or stored.bundle, lease)
        return self._summary(judgement, "")

    def _recorded(self, stored: StoredResult) -> Judgement | None:
        found = self.work.ledger.judgements(stored.node, episode=stored.episode)
        return next((one for one in found if (one.scope, one.suite) == (self.scope, stored.suite)), None)

    def _answers_newest_plan(self, stored: StoredResult) -> bool:
        """Tell whether no newer plan was handed out: a result that was measured again must not move the node."""
        plans = [
            effect.detail["plan"]["nonce"]
            for effect in self.work.ledger.effects(stored.node, episode=stored.episode)
            if effect.kind == PLAN and effect.key.startswith(f"{self.scope.value}/")
        ]
        return not plans or plans[-1] == stored.document.get("nonce")

    def _in_place(self, node: str) -> bool:
        milestone = record_of(self.nodes[node], self.work).milestone
        return stands_to_be_tested(self.work.library.lifecycle(), milestone, self._row().to)

    def _row(self) -> Transition:
        path: Iterable[Transition] = self.work.library.lifecycle().path
        return next(row for row in path if row.grants is self.scope)

    def _summary(self, judgement: Judgement, page: str) -> Summary:
        milestone = record_of(self.nodes[judgement.node], self.work).milestone
        return Summary(judgement.node, self.scope, judgement.verdict, judgement.sentence, milestone, page)
