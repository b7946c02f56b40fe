"""Trial: one group of nodes tested together, from the plans of its members to one answer.

The leader's result is judged as any other; the members' results prove which chassis took part, under which boot, and
are judged by what each saw on itself meanwhile: a group in which one counted a new error does not pass. A trial that
did not test what it claims (a member that did not come, too few ranks, a transport that NCCL does not name) has no
answer, and counts against nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from math import inf
from typing import Any

from nodeworthy.errors import NodeworthyError, Refused, Transient
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Reason, Scope, Verdict
from nodeworthy.lifecycle.records import Effect, Lease, NodeRecord
from nodeworthy.ports import GroupMember, GroupPods, Work
from nodeworthy.procedures.dossier import Dossier, Judged, as_asked
from nodeworthy.procedures.effect import INTENDED, PROVEN, Case
from nodeworthy.procedures.own_look import OwnLook, look_from_document, look_of, named_in, parted, worst_of
from nodeworthy.procedures.receive import take_in
from nodeworthy.procedures.segments import PLAN
from nodeworthy.qualification.own_checks import switched_off
from nodeworthy.qualification.own_history import NO_BASELINE
from nodeworthy.qualification.plans import group_limit, group_plan, leading_time, plan_document, with_old_xids
from nodeworthy.qualification.suites import Suite

TRIAL = "group-trial"
PORT = 28517
"""Where members listen on their node's address; one test pod at a time holds a node's GPUs, so one port will do."""
SCOPE = Scope.HARDWARE
BANDWIDTH = "bus_bandwidth"
OF_RAILS = ("sent_bandwidth", "received_bandwidth", "tcp_sent", "tcp_received")
"""What a pair moves adapter by adapter, or over TCP; the slowest speaks for its test."""


@dataclass(frozen=True, slots=True)
class Court:
    """What all trials of a run share: the run, its suite, its nodes by name with their leases, and the ports."""

    run: str
    suite: Suite
    records: Mapping[str, NodeRecord]
    leases: Mapping[str, Lease]
    work: Work
    pods: GroupPods

    @property
    def short(self) -> str:
        """A short name of this run and suite, for pods and records."""
        return f"{self.suite.name}-{sha256(self.run.encode()).hexdigest()[:8]}"

    @property
    def each(self) -> Suite | None:
        """The suite that every node runs on itself; None where the suite names none."""
        return self.work.library.suite(self.suite.each) if self.suite.each else None

    @property
    def poll(self) -> timedelta:
        """How long to wait between two looks at the pods: the longest that a pool of these nodes names."""
        pools = {record.node.pool for record in self.records.values()}
        poll: timedelta = max(self.work.library.policy(pool)["waits"]["cluster_poll"] for pool in pools)
        return poll

    def case(self, node: str) -> Case:
        """Return one node's case."""
        known = self.records[node].node
        return Case(self.leases[node], known, self.work, self.work.library.sku(known.sku))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a trial said of its group: passed, failed, or None for "was not tested"; figures by test."""

    nodes: tuple[str, ...]
    passed: bool | None
    sentence: str
    figures: Mapping[str, float]
    failed_test: str
    simulated: bool
    dossier: Mapping[str, Any] | None
    waits: bool = False
    """Whether it was measured as asked, and nothing but a baseline is missing."""
    across: bool = False
    """Whether its nodes stood for their domains."""
    looks: tuple[OwnLook, ...] = ()
    """Of its nodes, those that did not pass by what they saw on themselves."""
    told: Mapping[str, str] = field(default_factory=dict)
    """How a figure is said where it is not GB/s of a whole collective: with its adapter and unit."""

    @property
    def faulty(self) -> tuple[str, ...]:
        """The nodes that showed a fault of their own."""
        return tuple(look.node for look in self.looks if look.verdict is Verdict.FAIL)

    def look(self, node: str) -> OwnLook | None:
        """Return what is wrong with one node on its own, None when nothing is."""
        return next((look for look in self.looks if look.node == node), None)

    def said(self, test: str) -> str:
        """Return a test's figure with its unit; of a test adapter by adapter the slowest, which it names."""
        return self.told.get(test) or f"{self.figures.get(test, 0.0):.0f} GB/s"

    def document(self) -> dict[str, Any]:
        """Return it as it is kept in the ledger."""
        return {
            **{name: getattr(self, name) for name in self.__slots__},
            "looks": [one.document() for one in self.looks],
        }


@dataclass(frozen=True)
class Trial:
    """One group in one round; its first node leads."""

    court: Court
    nodes: tuple[str, ...]
    round: int
    across: bool = False

    @property
    def _about(self) -> str:
        """Which nodes in which run: another plan of rounds meets no record of this one."""
        return f"{self.court.short}-{sha256(' '.join(self.nodes).encode()).hexdigest()[:6]}"

    @property
    def group(self) -> str:
        """The group's name in Kubernetes."""
        return f"{self._about}-{self.round}"

    @property
    def key(self) -> str:
        """The key of the trial's record and of its members' plans."""
        return f"{self._about}/{self.round}"

    @property
    def limit(self) -> timedelta:
        """How long the group may take from its first pod to its last result."""
        return group_limit(self.court.suite)

    def record(self) -> Effect:
        """Return the trial's record in the ledger, which it writes down when it begins."""
        detail = {"suite": self.court.suite.name, "nodes": list(self.nodes)}
        return self.court.work.ledger.intend(self.court.leases[self.nodes[0]], TRIAL, self.key, detail)

    def answer(self) -> Answer | None:
        """Return what the trial said, None while it is under way. One that housekeeping ended has no answer."""
        kept = self.record()
        if kept.status == INTENDED:
            return None
        return answer_of(kept) if kept.status == PROVEN else self.untested("its run ended before its answer came")

    def settle(self, answer: Answer) -> Answer:
        """Write the answer down, and say it."""
        self.court.case(self.nodes[0]).settle(self.record(), PROVEN, answer.document())
        self.court.work.say(f"{', '.join(self.nodes)}: {answer.sentence}")
        return answer

    def untested(self, why: str) -> Answer:
        """Return the answer of a trial that tested nothing."""
        return Answer(self.nodes, None, why, {}, "", False, None, across=self.across)

    def begin(self) -> None:
        """Hand out the plans and start the pods. May be repeated. Raises what keeps the group from being tested."""
        addresses = [(node, self.court.pods.address(node)) for node in self.nodes]
        members = [
            GroupMember(
                f"nodeworthy-{self.group}-{rank}", node, self._plan(node, addresses), self._gpus(node), self.limit
            )
            for rank, node in enumerate(self.nodes)
        ]
        self.court.pods.start(self.group, members)

    def is_home(self) -> bool:
        """Tell whether every member's result was taken in, or refused: its pods need not run again."""
        asked = [self._asked(node) for node in self.nodes]
        return all(one is not None and one.status != INTENDED for one in asked)

    def is_over(self) -> bool:
        """Tell whether all pods have ended, any is in trouble, or the time is up."""
        states = self.court.pods.look(self.group).values()
        return self._is_late() or all(state.ended for state in states) or any(state.trouble for state in states)

    def _is_late(self) -> bool:
        return self.court.work.clock.now() > self.record().intended_at + self.limit

    def collect(self) -> tuple[StoredResult, ...] | Answer:
        """Bring all results home, the leader's first; or say why the trial tested nothing. Pods are gone after it."""
        try:
            for rank, node in enumerate(self.nodes):
                self._bring_home(rank, node)
            stored = self._results()
        except NodeworthyError as error:
            if isinstance(error, Transient) and not self._is_late():
                raise
            self.court.pods.remove(self.group)
            return self.untested(f"it tested nothing: {error.sentence}")
        self.court.pods.remove(self.group)
        return stored

    def judged(self, parts: Sequence[tuple[Judged, Dossier]]) -> Answer:
        """Return the answer of the results that were judged, the leader's first."""
        (judged, dossier), *members = parts
        judgement, document = judged.judgement, judged.stored.document
        figures, told = _figures(document)
        manifest = dossier.manifest
        kept = {"path": manifest.path, "sha256": manifest.sha256, "size_bytes": manifest.size_bytes}
        own, together = parted(judgement.reasons, self.court.each)
        during = f"while {self.court.suite.name} ran over {', '.join(self.nodes)}"
        named = named_in(together, document)
        seen = [look_of(self.nodes[0], dossier, (*own, *named.get(self.nodes[0], ())), during=during)]
        for one, its in members:
            of_group = named.get(one.stored.node, ())
            reasons = (*one.judgement.reasons, *of_group)
            seen.append(look_of(one.stored.node, dossier if of_group else its, reasons, during=during))
        looks = tuple(one for one in seen if one)
        answer = Answer(
            self.nodes, None, "", figures, "", judgement.simulated, kept, across=self.across, looks=looks, told=told
        )
        wrong = _too_few(document, sum(self._gpus(node) for node in self.nodes))
        if wrong:
            return replace(answer, sentence=f"it tested another thing: {wrong}")
        if not together:
            sentence = judgement.sentence if not own else "its collectives are within their limits."
            return replace(answer, passed=True, sentence=sentence)
        verdict, sentence = worst_of(self.nodes[0], together)
        waits = all(reason.code == NO_BASELINE for reason in together)
        passed = False if verdict is Verdict.FAIL else None
        failed = _failed_test(together, document, figures)
        return replace(answer, passed=passed, sentence=sentence, failed_test=failed, waits=waits)

    def _gpus(self, node: str) -> int:
        return self.court.case(node).sku.gpus

    def _asked(self, node: str) -> Effect | None:
        effects = self.court.case(node).effects()
        return next((one for one in effects if (one.kind, one.key) == (PLAN, self.key)), None)

    def _plan(self, node: str, addresses: Sequence[tuple[str, str]]) -> dict[str, Any]:
        case, work = self.court.case(node), self.court.work
        seen = work.cluster.node(node)
        if seen is None or not seen.ready:
            raise Refused(f"{node} has no Ready Node, so nobody can be tested with it: look at its kubelet.")
        suite = self.court.suite if node == self.nodes[0] else self.court.each or replace(self.court.suite, tests=())
        suite = suite.on(case.sku.vendor)
        off = switched_off(work.library.policy(case.node.pool), suite, work.clock.now(), case.sku)
        plan = plan_document(
            with_old_xids(suite, work.library.old_xids(case.node.pool)),
            case.sku,
            SCOPE,
            off,
            node=node,
            serial=case.node.serial,
            episode=case.lease.episode,
            nonce=work.ledger.nonce(case.lease, self.key),
        )
        part = group_plan(plan, addresses, PORT, leading_time(self.court.suite))
        detail = {"plan": part, "boot_id": seen.boot_id}
        kept: dict[str, Any] = case.intend(PLAN, self.key, detail).detail["plan"]
        return kept

    def _bring_home(self, rank: int, node: str) -> None:
        asked = self._asked(node)
        if asked is None or asked.status == INTENDED:
            take_in(self.court.case(node), asked, SCOPE, f"nodeworthy-{self.group}-{rank}", judged_later=rank == 0)
        elif asked.status != PROVEN:
            raise Refused(f"{node} brought no result that answers its plan ({asked.proof.get('wrong', 'no reason')}).")

    def _results(self) -> tuple[StoredResult, ...]:
        """Return the results of all nodes that are to be judged: of a suite without own looks, the leader's alone."""
        found = self.court.work.ledger.results(run=self.court.run, scope=SCOPE, unjudged=False, every=True)
        by_nonce = {one.document.get("nonce"): one for one in found}
        asked = [self._asked(node) for node in (self.nodes if self.court.each else self.nodes[:1])]
        ledger = self.court.work.ledger
        return tuple(as_asked(by_nonce[one.detail["plan"]["nonce"]], ledger) for one in asked if one is not None)


def answer_of(effect: Effect) -> Answer:
    """Return the answer that a trial's record keeps."""
    kept = effect.proof
    looks = tuple(look_from_document(row) for row in kept.get("looks", ()))
    return Answer(**{**kept, "nodes": tuple(kept["nodes"]), "looks": looks})


def _too_few(document: Mapping[str, Any], ranks: int) -> str:
    seen = {row.get("value") for row in document.get("measurements", ()) if row.get("metric") == "ranks"}
    return "" if seen <= {float(ranks), None} else f"its collectives ran on {seen} ranks, the group has {ranks} GPUs"


def _figures(document: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Return each test's bandwidth, and how it is said: the collectives' in GB/s, of single adapters the slowest."""
    found: dict[str, float] = {}
    told: dict[str, str] = {}
    for row in _measured(document):
        test, value = str(row["test"]), float(row["value"])
        if row["metric"] == BANDWIDTH:
            found[test] = value
        elif row["metric"] in OF_RAILS and value < found.get(test, inf):
            found[test], told[test] = value, f"{row['component']} {value:.0f} {row['unit']}".removeprefix("node ")
    return found, told


def _measured(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = document.get("measurements", ())
    return [
        row for row in rows if row.get("metric") in (BANDWIDTH, *OF_RAILS) and isinstance(row.get("value"), int | float)
    ]


def _failed_test(reasons: Sequence[Reason], document: Mapping[str, Any], figures: Mapping[str, float]) -> str:
    """Return the test whose figure the group failed by: one adapter's names the place, a collective's does not."""
    rails = {(reason.component, reason.metric) for reason in reasons if reason.metric in OF_RAILS}
    for row in _measured(document):
        if (row["component"], row["metric"]) in rails and row["value"] == figures.get(str(row["test"])):
            return str(row["test"])
    return next((_test_of(reason.sentence, figures) for reason in reasons), "")


def _test_of(sentence: str, figures: Mapping[str, float]) -> str:
    return next((test for test in figures if test in sentence), next(iter(figures), ""))
