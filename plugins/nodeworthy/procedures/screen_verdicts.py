"""What a screening says of each node, with the measurements that it stands on: with whom, and how much without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.verdicts import Judgement, Reason, Verdict
from nodeworthy.procedures.own_look import OwnLook
from nodeworthy.procedures.trial import SCOPE, Answer, Court
from nodeworthy.qualification.screening import Outcome
from nodeworthy.qualification.spine import Stages

NO_GROUP_BASELINE = "no_group_baseline"
"""Code of the reason of a node whose group was measured and has no baseline yet."""
NAMED = 6
"""How many partners a sentence names before it counts the rest."""


def judgements_of(screening: Stages, answers: Sequence[Answer], court: Court) -> Iterator[Judgement]:
    """Yield the judgement of every node that was to be screened, by name."""
    told = _Told(screening.outcome(), answers, court)
    simulated = any(answer.simulated for answer in answers)
    for node in sorted(node for group in screening.groups for node in group):
        yield replace(told.judgement(node), simulated=simulated)


@dataclass(frozen=True)
class _Said:
    """A verdict, its code, the sentence behind node and verdict, and the answer whose dossier proves it."""

    verdict: Verdict
    code: str
    sentence: str
    proof: Answer | None


@dataclass(frozen=True)
class _Told:
    outcome: Outcome
    answers: Sequence[Answer]
    court: Court

    def judgement(self, node: str) -> Judgement:
        """Return what a node saw on itself where that fails it, or where its groups have nothing worse to say."""
        own = self._of_look(_own_look(node, self.answers))
        if own is not None and own.verdict is Verdict.FAIL:
            return own
        said = self._said(node)
        if own is not None and said.verdict is not Verdict.FAIL:
            return own
        kept = said.proof.dossier if said.proof is not None else None
        dossier = EvidenceReference(**kept) if kept else None
        sentence = f"{node} {said.verdict}: {said.sentence}"
        reasons = () if said.verdict is Verdict.PASS else (_reason(said.verdict, said.code, sentence),)
        suite = self.court.suite.name
        return Judgement(node, SCOPE, suite, said.verdict, reasons, sentence, False, dossier=dossier)

    def _of_look(self, look: OwnLook | None) -> Judgement | None:
        if look is None:
            return None
        name, reasons = self.court.suite.name, look.reasons
        return Judgement(look.node, SCOPE, name, look.verdict, reasons, look.sentence, False, dossier=look.dossier)

    def _said(self, node: str) -> _Said:
        if node in self.outcome.culprits:
            return self._culprit(node)
        unclear = self._between(node) or self._unclear(node)
        if unclear is not None:
            return unclear
        passed = next((one for one in reversed(self.answers) if node in one.nodes and one.passed), None)
        if passed is None:
            return self._untested(node)
        stands = self.outcome.stands_for.get(node, "")
        if not self.court.suite.within:
            return _Said(Verdict.PASS, "", f"{_figure(passed, self.court)} with {_others(node, passed)}.", passed)
        return self._over_the_spine(node, stands, passed)

    def _culprit(self, node: str) -> _Said:
        failed = [answer for answer in self.answers if node in answer.nodes and answer.passed is False]
        test = failed[-1].failed_test
        own = " and ".join(_with_partners(node, answer, test) for answer in failed if test in answer.figures)
        sentence = (
            f"{test} {own or 'fails'}, where {_peers(node, self.answers, test)}: look at its adapters, their cables "
            "and leaf ports."
        )
        return _Said(Verdict.FAIL, "group_culprit", sentence, failed[-1])

    def _between(self, node: str) -> _Said | None:
        """Tell of a group that fails as a whole, and of a domain that is slow to all others."""
        stands = self.outcome.stands_for.get(node, node)
        for group in self.outcome.apart:
            if node in group:
                failed = next(one for one in reversed(self.answers) if one.across and set(group) & set(one.nodes))
                sentence = (
                    f"{', '.join(_named(group))} are well among themselves and slow to nodes of other racks "
                    f"({failed.failed_test} {failed.said(failed.failed_test)} over "
                    f"{', '.join(_named(failed.nodes))}): look at the uplinks of their leaf; no node is to blame."
                )
                return _Said(Verdict.INCOMPLETE, "domain_apart", sentence, failed)
        for group in reversed(self.outcome.between):
            if node in group or stands in group:
                sentence = (
                    f"the group {', '.join(_named(group))} fails and its halves pass, so the fault lies between them: "
                    "look at the switches and cables that join them; no node is to blame."
                )
                return _Said(Verdict.INCOMPLETE, "between_nodes", sentence, self._newest(set(group)))
        return None

    def _unclear(self, node: str) -> _Said | None:
        """Tell of a node, or of the one that stands for it, for whom no good partner was left."""
        if not {node, self.outcome.stands_for.get(node, node)} & set(self.outcome.unconfirmed):
            return None
        sentence = "no partner that is known to be good was left in its rack to test it with: test it with others."
        return _Said(Verdict.INCOMPLETE, "no_good_partner", sentence, self._newest({node}))

    def _untested(self, node: str) -> _Said:
        last = self._newest({node})
        if last is not None and last.waits and last.figures:
            return _Said(Verdict.INCOMPLETE, NO_GROUP_BASELINE, _waiting(last), last)
        why = last.sentence if last is not None else "it had no partner"
        return _Said(Verdict.INCOMPLETE, "not_tested", f"its group was not tested: {why}", last)

    def _over_the_spine(self, node: str, stands: str, passed: Answer) -> _Said:
        """Tell what the node that stands for a domain reaches across domains."""
        over = [answer for answer in self.answers if answer.across and stands in answer.nodes]
        spine = next((answer for answer in reversed(over) if answer.passed), None)
        if not over:
            sentence = (
                "no second rack had a node that passed, so what lies between racks was not tested: test more of them."
            )
            return _Said(Verdict.INCOMPLETE, "no_other_domain", sentence, passed)
        if spine is None:
            return self._untested(stands)
        alone = f"{_figure(passed, self.court)} with {_others(node, passed)}, and "
        who = "" if stands == node else f"{stands} of its rack reaches "
        said = f"{'' if passed is spine else alone}{who}{_figure(spine, self.court)} with {_others(stands, spine)}."
        return _Said(Verdict.PASS, "", said, passed)

    def _newest(self, nodes: set[str]) -> Answer | None:
        return next((one for one in reversed(self.answers) if nodes <= set(one.nodes)), None)


def _own_look(node: str, answers: Sequence[Answer]) -> OwnLook | None:
    """Return why a node did not pass on its own: a fault for good, anything else until a later look is a good one."""
    looks = [answer.look(node) for answer in answers if node in answer.nodes and answer.dossier]
    faults = [look for look in looks if look is not None and look.verdict is Verdict.FAIL]
    return faults[0] if faults else next(reversed(looks), None)


def _reason(verdict: Verdict, code: str, sentence: str) -> Reason:
    return Reason(verdict, code, "node", "bus_bandwidth", "that of its peers", "see the sentence", "GB/s", sentence)


def _waiting(answer: Answer) -> str:
    """Tell what a group measured for which there is no baseline yet."""
    seen = ", ".join(f"{test} {answer.said(test)}" for test in answer.figures)
    return (
        f"its group {', '.join(answer.nodes)} measured {seen}, and not all of that has a baseline for groups of its "
        "size: run learn_baselines when enough groups were measured; after the approval it is judged again."
    )


def _figure(answer: Answer, court: Court) -> str:
    test = next(iter(answer.figures), court.suite.name)
    return f"{test} {answer.said(test)}"


def _others(node: str, answer: Answer) -> str:
    return ", ".join(_named([name for name in answer.nodes if name != node]))


def _named(nodes: Sequence[str]) -> list[str]:
    rest = len(nodes) - NAMED
    return list(nodes) if rest <= 1 else [*nodes[:NAMED], f"{rest} more"]


def _with_partners(node: str, answer: Answer, test: str) -> str:
    return f"{answer.said(test)} with {_others(node, answer)}"


def _peers(node: str, answers: Sequence[Answer], test: str) -> str:
    """Tell what the partners reach without the node in the same test."""
    good = {
        name: answer
        for answer in answers
        if answer.passed and test in answer.figures and node not in answer.nodes
        for name in answer.nodes
    }
    met = [name for answer in answers if node in answer.nodes for name in answer.nodes if name in good]
    if not met:
        return "no partner was measured without it"
    partner = met[-1]
    return f"{partner} reaches {good[partner].said(test)} with {_others(partner, good[partner])}"
