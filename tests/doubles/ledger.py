"""The Ledger port in memory, with real fencing and the real lifecycle: what procedures are tried against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.inventory import Inventory
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.lifecycle.approvals import End, Request, decide
from nodeworthy.lifecycle.budget import Absence
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.machine import Facts, Moved, Refusal, advance
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Answer, Effect, Hold, Lease, NodeRecord, Placement
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.lifecycle.upkeep import Due
from nodeworthy.ports import Clock


class MemoryLedger:
    """One fleet's memory. Written for tests of procedures: no audit, one lease a node."""

    def __init__(self, lifecycle: Lifecycle, clock: Clock) -> None:
        self._lifecycle = lifecycle
        self._clock = clock
        self._records: dict[str, NodeRecord] = {}
        self._leases: dict[str, Lease] = {}
        self._effects: list[Effect] = []
        self._absences: dict[str, Absence] = {}
        self._nonces: dict[tuple[str, int, str], tuple[int, str]] = {}
        self._results: list[tuple[str, StoredResult]] = []
        self._judgements: list[tuple[int, Judgement]] = []
        self._qualifications: list[Qualification] = []
        self._certificates: dict[str, tuple[EvidenceReference, datetime]] = {}
        self._approvals: list[tuple[str, int, Answer]] = []
        self._requests: dict[int, Request] = {}
        self._holds: list[Hold] = []
        self.refused_answers: list[tuple[str, str, str]] = []
        self.observed: list[tuple[str, str]] = []
        self.inventories: list[tuple[str, EvidenceReference]] = []
        self.moves: list[tuple[str, Mapping[str, Any]]] = []
        self.shown: dict[str, int] = {}
        self.places: dict[str, list[Placement]] = {}
        self.histories: dict[str, dict[str, Figures]] = {}

    # -- nodes and episodes

    def import_fleet(self, nodes: Sequence[FleetNode]) -> tuple[str, ...]:
        """Declare nodes."""
        for node in nodes:
            self._records[node.name] = NodeRecord(node, self._lifecycle.initial, 1, None, "")
        return tuple(f"{node.name} is declared." for node in nodes)

    def nodes(self, names: Sequence[str] = (), *, batch: str = "", rack: str = "") -> tuple[NodeRecord, ...]:
        """Return the named records."""
        return tuple(self._records[name] for name in sorted(names or self._records) if name in self._records)

    def open_episode(self, node: str, *, kind: str, run: str, lifetime: timedelta) -> Lease:
        """Open an episode, or hand the same run its lease again."""
        held = self._leases.get(node)
        if held is not None and held.run == run:
            return held
        if held is not None:
            raise Refused(f"{node} is held by {held.run}.")
        episode = (self._records[node].episode or 0) + 1
        self._records[node] = replace(self._records[node], episode=episode, run=run)
        self._leases[node] = Lease(node, episode, f"token-{node}-{episode}", run, self._clock.now() + lifetime)
        return self._leases[node]

    def lease(self, node: str, run: str) -> Lease:
        """Return the run's lease."""
        held = self._leases.get(node)
        if held is None or held.run != run:
            raise Refused(f"{run} holds no lease on {node}.")
        return held

    def beat(self, run: str) -> int:
        """Return how many leases the run holds; in memory they do not expire."""
        return sum(lease.run == run for lease in self._leases.values())

    def run_nodes(self, run: str) -> tuple[str, ...]:
        """Return the nodes of a run."""
        return tuple(sorted(name for name, lease in self._leases.items() if lease.run == run))

    def release(self, lease: Lease, *, close: bool, reason: str) -> None:
        """Give the lease back."""
        self._leases.pop(lease.node, None)
        self._records[lease.node] = replace(self._records[lease.node], reason=reason, run="")

    def put(self, node: str, milestone: str) -> None:
        """Place a node for a test."""
        self._records[node] = replace(self._records[node], milestone=milestone)

    def _fence(self, lease: Lease) -> None:
        if self._leases.get(lease.node) != lease:
            raise Refused(f"The lease of {lease.run} on {lease.node} is not the open one.")

    # -- moves

    def record_inventory(self, lease: Lease, inventory: Inventory, reference: EvidenceReference) -> None:
        """Remember that an inventory was recorded; what is gone or seen otherwise has left its place."""
        self._fence(lease)
        self.inventories.append((lease.node, reference))
        now, before = self._clock.now(), self.places.get(lease.node, [])
        seen = set(inventory.components)
        stays = {one.component for one in before if one.until is None} & seen
        self.places[lease.node] = [
            *(one if one.until or one.component in stays else replace(one, until=now) for one in before),
            *(Placement(lease.node, part, now, None) for part in inventory.components if part not in stays),
        ]

    def components(self, node: str) -> tuple[Placement, ...]:
        """Return the parts of every inventory with their time."""
        return tuple(self.places.get(node, ()))

    def component_history(self, serial: str) -> tuple[Placement, ...]:
        """Return every place of a part, of all nodes."""
        return tuple(one for places in self.places.values() for one in places if one.component.serial == serial)

    def advance(
        self, lease: Lease, event: str, facts: Mapping[str, Any], evidence: EvidenceReference | None = None
    ) -> Moved:
        """Move by the real lifecycle and guards."""
        self._fence(lease)
        record = self._records[lease.node]
        certificate = self._certificates.get(lease.node)
        known = Facts(
            now=self._clock.now(),
            given=facts,
            qualifications=self.qualifications(lease.node),
            certificate_expires=certificate[1] if certificate else None,
            holds=self.holds(lease.node),
            answers=tuple(a for node, episode, a in self._approvals if (node, episode) == (lease.node, lease.episode)),
            absence=self._absence(lease),
        )
        moved = advance(self._lifecycle, record.milestone, event, known)
        if isinstance(moved, Refusal):
            raise Refused(moved.reason)
        if moved.changed:
            self._records[lease.node] = replace(record, milestone=moved.to, row_version=record.row_version + 1)
            self.moves.append((event, dict(facts)))
            if self._lifecycle.milestone(moved.to).schedulable:
                self._absences.pop(lease.node, None)
        return moved

    def _absence(self, lease: Lease) -> Absence | None:
        """Return the absence that was taken, or that of a node which stands in trouble. No budget limits it here."""
        fault = Absence(lease.node, lease.episode, False, "fault", self._clock.now())
        in_trouble = self._lifecycle.milestone(self._records[lease.node].milestone).phase in ("trouble", "repair")
        return self._absences.get(lease.node) or (fault if in_trouble else None)

    def due(self, node: str) -> Due | None:
        """Return the milestone under the number of its row."""
        record = self._records[node]
        return Due(record.milestone, record.episode or 0, record.row_version)

    def delivered(self, revisions: Mapping[str, int], outcome: str = "shown") -> None:
        """Remember up to which move Kubernetes was told."""
        self.shown.update(revisions)

    # -- effects and nonces

    def intend(
        self, lease: Lease, kind: str, key: str, detail: Mapping[str, Any], absence: tuple[Action, str] | None = None
    ) -> Effect:
        """Write an effect down, or return the one of that name."""
        self._fence(lease)
        for effect in self._effects:
            if (effect.node, effect.episode, effect.kind, effect.key) == (lease.node, lease.episode, kind, key):
                return effect
        if absence is not None and self._lifecycle.milestone(self._records[lease.node].milestone).schedulable:
            taken = Absence(lease.node, lease.episode, True, absence[1], self._clock.now())
            self._absences.setdefault(lease.node, taken)
        number = len(self._effects) + 1
        effect = Effect(
            f"effect-{number}", lease.node, lease.episode, kind, key, "intended", self._clock.now(), dict(detail), {}
        )
        self._effects.append(effect)
        return replace(effect, fresh=True)

    def settle(self, lease: Lease, effect: Effect, status: str, proof: Mapping[str, Any]) -> Effect:
        """Write an effect's end down."""
        self._fence(lease)
        at = next(i for i, one in enumerate(self._effects) if one.id == effect.id)
        self._effects[at] = replace(self._effects[at], status=status, proof=dict(proof))
        return self._effects[at]

    def effects(self, node: str, *, episode: int | None = None) -> tuple[Effect, ...]:
        """Return a node's effects in order."""
        return tuple(e for e in self._effects if e.node == node and episode in (None, e.episode))

    def nonce(self, lease: Lease, purpose: str) -> str:
        """Return the nonce of a purpose."""
        number = self._nonces.setdefault((lease.node, lease.episode, purpose), (1, ""))[0]
        return sha256(f"{lease.node} {lease.episode} {purpose} {number}".encode()).hexdigest()

    def renew_nonce(self, lease: Lease, purpose: str) -> str:
        """Void the nonce and return the next."""
        key = (lease.node, lease.episode, purpose)
        self._nonces[key] = (self._nonces.get(key, (1, ""))[0] + 1, "")
        return self.nonce(lease, purpose)

    # -- results, judgements, certificates

    def record_result(self, lease: Lease, result: StoredResult) -> None:
        """Store a result once."""
        self._fence(lease)
        if all(one.bundle != result.bundle for _, one in self._results):
            self._results.append((lease.run, result))

    def results(
        self, *, run: str, scope: Scope, unjudged: bool = True, every: bool = False
    ) -> tuple[StoredResult, ...]:
        """Return the run's results, the newest of each suite or all."""
        rows = [one for of, one in self._results if of == run and one.scope is scope]
        found = rows if every else {(one.node, one.suite): one for one in rows}.values()
        return tuple(one for one in found if not (unjudged and one.judged))

    def record_judgement(
        self,
        lease: Lease,
        judgement: Judgement,
        qualification: Qualification | None,
        figures: Sequence[Figures] = (),
    ) -> None:
        """Store a judgement; the node's results of its scope are judged."""
        for read in figures:
            self.histories.setdefault(lease.node, {}).setdefault(read.result_sha256, read)
        self._judgements.insert(0, (lease.episode, judgement))
        self._results = [
            (run, replace(one, judged=True) if (one.node, one.scope) == (lease.node, judgement.scope) else one)
            for run, one in self._results
        ]
        if qualification is not None:
            self._qualifications.append(qualification)

    def earlier_figures(self, stored: StoredResult, first: int, latest: int) -> tuple[tuple[Figure, ...], ...]:
        """Return the figures of the runs before this one, whatever their driver."""
        known = self.histories.get(stored.node, {})
        before = list(known)
        before = before[: before.index(stored.bundle.sha256)] if stored.bundle.sha256 in known else before
        return tuple(known[name].figures for name in before)

    def judgements(self, node: str, *, episode: int | None = None) -> tuple[Judgement, ...]:
        """Return judgements, newest first."""
        return tuple(one for of, one in self._judgements if one.node == node and episode in (None, of))

    def qualifications(self, node: str) -> tuple[Qualification, ...]:
        """Return what is not void."""
        return tuple(one for one in self._qualifications if one.node == node and not one.voided_by)

    def void_qualifications(self, lease: Lease, scope: Scope, why: str) -> None:
        """Void one scope."""
        self._qualifications = [
            replace(one, voided_by=why) if (one.node, one.scope) == (lease.node, scope) else one
            for one in self._qualifications
        ]

    def record_certificate(self, lease: Lease, reference: EvidenceReference, expires_at: datetime) -> None:
        """Store a certificate."""
        self._certificates[lease.node] = (reference, expires_at)

    def certificate(self, node: str) -> tuple[EvidenceReference, datetime] | None:
        """Return the certificate."""
        return self._certificates.get(node)

    # -- approvals and holds

    def ask(self, lease: Lease, request: Request) -> Request:
        """Keep a request, or return the one that lives or that this run was refused."""
        self._fence(lease)
        newest = self._requests.get(lease.episode)
        if newest is not None and newest.plan_sha256 == request.plan_sha256:
            lives = newest.end is End.OPEN and newest.expires_at > self._clock.now()
            if lives or (newest.end is End.REFUSED and newest.run == lease.run):
                return newest
        self._requests[lease.episode] = request
        return request

    def settle_request(self, lease: Lease) -> None:
        """End it."""
        if (request := self.open_request(lease)) is not None:
            self._requests[lease.episode] = replace(request, end=End.REPLACED)

    def open_request(self, lease: Lease) -> Request | None:
        """Return the request that waits."""
        newest = self._requests.get(lease.episode)
        return newest if newest is not None and newest.end is End.OPEN else None

    def expire_request(self, node: str, run: str) -> str:
        """End it, and the run's lease."""
        request = next(one for one in reversed(self._requests.values()) if (one.node, one.run) == (node, run))
        if request.end is End.OPEN:
            self._requests[request.episode] = replace(request, end=End.EXPIRED)
        held = self._leases.get(node)
        if held is not None and held.run == run:
            self.release(held, close=request.closes, reason=request.unanswered)
        return request.unanswered

    def record_approval(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Store an answer, and end the request that it decides."""
        self._approvals.append((lease.node, lease.episode, Answer(plan_sha256, who, answer, why)))
        request = self.open_request(lease)
        if request is not None and request.plan_sha256 == plan_sha256:
            made = decide(self.answers(lease.node, lease.episode, plan_sha256), request.answers)
            if made is not None:
                end = End.APPROVED if made.approved else End.REFUSED
                self._requests[lease.episode] = replace(request, end=end)

    def refuse_answer(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Remember an answer that does not count."""
        self.refused_answers.append((who, answer, why))

    def answers(self, node: str, episode: int, plan_sha256: str = "") -> tuple[Answer, ...]:
        """Return the answers to exactly this plan, or all of the episode."""
        return tuple(
            answer
            for of, number, answer in self._approvals
            if (of, number) == (node, episode) and plan_sha256 in ("", answer.plan_sha256)
        )

    def observe(self, lease: Lease, action: Action, what: str) -> None:
        """Remember what would be done, once."""
        self._fence(lease)
        if (action.value, what) not in self.observed:
            self.observed.append((action.value, what))

    def room(self, node: str) -> Mapping[str, int]:
        """No budget limits anything here."""
        return {}

    def hold(self, hold: Hold) -> None:
        """Hold a node."""
        self._holds.append(hold)

    def release_hold(self, node: str, *, who: str) -> None:
        """End its holds."""
        self._holds = [one for one in self._holds if one.node != node]

    def holds(self, node: str) -> tuple[Hold, ...]:
        """Return its holds."""
        return tuple(one for one in self._holds if one.node == node)
