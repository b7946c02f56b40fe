"""The port to the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.inventory import Inventory
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.lifecycle.approvals import Request
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Answer, Effect, Hold, Lease, NodeRecord, Placement
from nodeworthy.lifecycle.upkeep import Due


class Ledger(Protocol):
    """The memory. Every method is one transaction that writes its audit row too.

    Methods that take a lease raise Refused when it is not the open one of the open episode (fencing).
    """

    def import_fleet(self, nodes: Sequence[FleetNode]) -> tuple[str, ...]:
        """Insert or update manifest rows by serial. May be repeated. A sentence per change; Refused on a conflict."""

    def nodes(self, names: Sequence[str] = (), *, batch: str = "", rack: str = "") -> tuple[NodeRecord, ...]:
        """Return records by names, batch or rack (all when none is given), by name; unknown names are absent."""

    def open_episode(self, node: str, *, kind: str, run: str, lifetime: timedelta) -> Lease:
        """Open the node's episode, or take the open one's free or expired lease; the same run gets its own again.

        Raises Refused with a sentence when another run holds it or a hold forbids automation.
        """

    def lease(self, node: str, run: str) -> Lease:
        """Return the lease that `run` holds, renewed. Refused when it holds none any more."""

    def beat(self, run: str) -> int:
        """Renew every live lease of `run` by its life; return how many it renewed. An expired one stays expired."""

    def run_nodes(self, run: str) -> tuple[str, ...]:
        """Return the names of all nodes whose lease `run` ever held, ordered by name."""

    def release(self, lease: Lease, *, close: bool, reason: str) -> None:
        """Give the lease back; `close` ends the episode. May be repeated. Operators see `reason` word for word."""

    def record_inventory(self, lease: Lease, inventory: Inventory, reference: EvidenceReference) -> None:
        """Store components by serial with their place in this node."""

    def components(self, node: str) -> tuple[Placement, ...]:
        """Return every part that is, or was, in a node, with its time there."""

    def component_history(self, serial: str) -> tuple[Placement, ...]:
        """Return every place that a component, known by its serial, was seen in; empty for an unknown one."""

    def advance(
        self, lease: Lease, event: str, facts: Mapping[str, Any], evidence: EvidenceReference | None = None
    ) -> Moved:
        """Move the node by the lifecycle table: transition, evidence and audit in one transaction. Refused with reason.

        An event whose target the node has reached or passed on the path is done already: returns Moved to itself.
        """

    def due(self, node: str) -> Due | None:
        """Return what Kubernetes must show of a node; None before its first move."""

    def delivered(self, revisions: Mapping[str, int], outcome: str = "shown") -> None:
        """Write down, by node, that Kubernetes shows it up to this revision. Idempotent."""

    def intend(
        self, lease: Lease, kind: str, key: str, detail: Mapping[str, Any], absence: tuple[Action, str] | None = None
    ) -> Effect:
        """Write an effect down before it is done; a second call with (episode, kind, key) returns the first record.

        `absence` (action, why) takes a serving node out by our own will in the same transaction, or both are Refused.
        """

    def settle(self, lease: Lease, effect: Effect, status: str, proof: Mapping[str, Any]) -> Effect:
        """Write an effect's outcome and proof: proven, failed or unknown."""

    def effects(self, node: str, *, episode: int | None = None) -> tuple[Effect, ...]:
        """Return the effects of a node in order."""

    def nonce(self, lease: Lease, purpose: str) -> str:
        """Return the 256-bit hex nonce of (episode, purpose), minted once."""

    def renew_nonce(self, lease: Lease, purpose: str) -> str:
        """Mint a new nonce for (episode, purpose): the old one is void."""

    def record_result(self, lease: Lease, result: StoredResult) -> None:
        """Store a probe result that waits for judgement. The pod may be deleted only after this. Idempotent by hash."""

    def results(
        self, *, run: str, scope: Scope, unjudged: bool = True, every: bool = False
    ) -> tuple[StoredResult, ...]:
        """Return the newest result per suite of the nodes that `run` holds leases of; with `every`, the older too."""

    def record_judgement(
        self,
        lease: Lease,
        judgement: Judgement,
        qualification: Qualification | None,
        figures: Sequence[Figures] = (),
    ) -> None:
        """Store a judgement, its reasons and, for a pass, the qualification.

        `figures`, one per result that it is made from, join the node's history.
        """

    def earlier_figures(self, stored: StoredResult, first: int, latest: int) -> tuple[tuple[Figure, ...], ...]:
        """Return the history of a result's node before it, oldest first: the first runs and the latest ones.

        Only runs of the same scope and driver on the same kind of fleet. The same result has the same history for ever.
        """

    def judgements(self, node: str, *, episode: int | None = None) -> tuple[Judgement, ...]:
        """Return judgements of a node, newest first."""

    def qualifications(self, node: str) -> tuple[Qualification, ...]:
        """Return the unvoided qualifications of a node."""

    def void_qualifications(self, lease: Lease, scope: Scope, why: str) -> None:
        """Void the node's qualifications of one scope."""

    def record_certificate(self, lease: Lease, reference: EvidenceReference, expires_at: datetime) -> None:
        """Store the node's certificate reference."""

    def certificate(self, node: str) -> tuple[EvidenceReference, datetime] | None:
        """Return the newest unrevoked certificate and its expiry."""

    def ask(self, lease: Lease, request: Request) -> Request:
        """Write a request for an approval down, or return the open one for this very plan, or this run's refused one.

        Another open request of the episode ends: expired when its time is over, otherwise replaced.
        """

    def settle_request(self, lease: Lease) -> None:
        """End what of the episode still waits for an answer, since its run goes on without one. Idempotent."""

    def open_request(self, lease: Lease) -> Request | None:
        """Return the request of the episode that waits for an answer."""

    def expire_request(self, node: str, run: str) -> str:
        """End what `run` asked about a node and nobody answered in time; return the sentence that says so. Idempotent.

        The run's lease ends with that reason, and the episode where the request says so.
        """

    def record_approval(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Store who answered a plan's approval request (`approve` or `refuse`), and end the request if that decides."""

    def refuse_answer(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Write down an answer that does not count, and why it does not. Asks for no live lease: it does nothing.

        Without a plan it is about what the lease's run asked last.
        """

    def answers(self, node: str, episode: int, plan_sha256: str = "") -> tuple[Answer, ...]:
        """Return the answers to exactly this plan, or of the whole episode, oldest first.

        Without those voided, and without approvals that are too old for the lease of now: one serves the lease under
        which it was given to its end, and later ones for the policy's `validity.approval`.
        """

    def observe(self, lease: Lease, action: Action, what: str) -> None:
        """Write down what would be done to the node if its policy did not only observe. Once per episode and words."""

    def room(self, node: str) -> Mapping[str, int]:
        """Return how many more nodes may leave voluntarily, by each group of a node that has a budget."""

    def hold(self, hold: Hold) -> None:
        """Put a hold on a node."""

    def release_hold(self, node: str, *, who: str) -> None:
        """End all holds of a node; moves nothing."""

    def holds(self, node: str) -> tuple[Hold, ...]:
        """Return the holds in force."""
