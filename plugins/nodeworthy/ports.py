"""What Nodeworthy asks of the outside world, as Protocols in domain types.

Adapters implement them, procedures use them, `wiring` brings the two together; no library's type crosses.
Each method says whether it may be repeated. Errors are those of `nodeworthy.errors`: `Transient` for what may
pass, `Permanent` for what will not, `OutcomeUnknown` for an effect whose result cannot be proven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from nodeworthy.evidence.inventory import FirmwareItem, Inventory
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Effect, Hold, Lease, NodeRecord, Placement
from nodeworthy.lifecycle.rows import Projection
from nodeworthy.lifecycle.rows import Taint as Taint
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.lifecycle.upkeep import Due
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.sku import FirmwareSet, Sku
from nodeworthy.qualification.suites import Suite


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """Return the present as aware UTC."""


# -- BMC ---------------------------------------------------------------------------------------------------------


class Power(StrEnum):
    """Redfish ComputerSystem.PowerState (DSP2046), lower case."""

    ON = "on"
    OFF = "off"
    POWERING_ON = "powering-on"
    POWERING_OFF = "powering-off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SystemState:
    """What a BMC says about its host now. `last_reset` is Redfish LastResetTime, None where the BMC has none."""

    power: Power
    boot_progress: str
    last_reset: datetime | None
    boot_override_enabled: str
    boot_override_uri: str


@dataclass(frozen=True, slots=True)
class UpdateState:
    """State of one firmware update task."""

    task: str
    running: bool
    succeeded: bool
    message: str
    started: datetime | None = None
    unclear: bool = False
    """It ended without an outcome to rely on (vanished, or Completed with a bad status): only the version tells."""


class Bmc(Protocol):
    """One session with one BMC, on the system whose id is pinned by the SKU. Reads may be repeated; effects may not."""

    def inventory(self) -> Inventory:
        """Read components, firmware and neighbours. Raises Permanent when the pinned system is not there."""

    def firmware(self) -> tuple[FirmwareItem, ...]:
        """Read the firmware inventory."""

    def state(self) -> SystemState:
        """Read power, boot progress and boot override."""

    def set_boot(self, image_uri: str, *, effect_id: str) -> None:
        """Boot `image_uri` over HTTP at the next start. Idempotent: may be repeated."""

    def reset(self, kind: str, *, effect_id: str) -> None:
        """Send one reset of a Redfish ResetType the BMC allows. Sent once; raises OutcomeUnknown after a time-out."""

    def start_update(self, item: FirmwareItem, image_uri: str, *, effect_id: str) -> str:
        """Send one SimpleUpdate and return the task's URI. Sent once; raises OutcomeUnknown after a time-out."""

    def update_state(self, task: str) -> UpdateState:
        """Read an update task, tolerating a task that vanished after it ended (quirk 13)."""

    def updates(self) -> tuple[UpdateState, ...]:
        """Read all update tasks that the BMC still knows, so that an unproven start can be settled."""


class BmcDirectory(Protocol):
    """Opens sessions; at most one per BMC at a time, closed whatever happens."""

    def open(self, node: FleetNode, sku: Sku) -> AbstractContextManager[Bmc]:
        """Log in to the node's BMC. Raises Transient when it is silent, Permanent when it refuses the login."""


# -- Cluster -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """The Kubernetes view of a node."""

    name: str
    uid: str
    ready: bool
    schedulable: bool
    boot_id: str
    machine_id: str
    system_uuid: str
    image: str
    kernel: str
    taints: tuple[Taint, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    resource_version: str
    milestone: str = ""
    """What its condition `NodeworthyMilestone` tells."""


class Cluster(Protocol):
    """The Kubernetes API, as far as a node's life needs it."""

    def node(self, name: str) -> ClusterNode | None:
        """Read a node; None when there is no such Node object."""

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Read all nodes by one paged LIST, consistent as of its first page."""

    def project(self, name: str, *, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int) -> None:
        """Make the node carry exactly these of *our* taints and labels; other actors' stay. May be repeated."""

    def follow(self, name: str, projection: Projection, due: Due) -> None:
        """As `project`, and cordon as its owner; somebody else's cordon stays. Refused after a later move."""

    def tell_milestone(self, name: str, milestone: str, message: str) -> None:
        """Set the node condition `NodeworthyMilestone`. May be repeated; a Node that is gone is success."""

    def delete_node(self, name: str, *, uid: str) -> None:
        """Delete the Node object with this uid; absent already is success. Idempotent."""

    def read_file(self, pod: str, container: str, path: str, *, limit_bytes: int) -> bytes:
        """Read one file of a running container by exec. Raises Permanent beyond the limit."""


# -- Ledger ------------------------------------------------------------------------------------------------------


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

    def run_nodes(self, run: str) -> tuple[str, ...]:
        """Return the names of all nodes whose lease `run` ever held, ordered by name."""

    def release(self, lease: Lease, *, close: bool, reason: str) -> None:
        """Give the lease back; `close` ends the episode. May be repeated. Operators see `reason` word for word."""

    def record_inventory(self, lease: Lease, inventory: Inventory, reference: EvidenceReference) -> None:
        """Store components by serial with their place in this node."""

    def components(self, node: str) -> tuple[Placement, ...]:
        """Return every part that is, or was, in a node, with its time there."""

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

    def results(self, *, run: str, scope: Scope, unjudged: bool = True) -> tuple[StoredResult, ...]:
        """Return the results of the nodes that `run` holds leases of."""

    def record_judgement(self, lease: Lease, judgement: Judgement, qualification: Qualification | None) -> None:
        """Store a judgement, its reasons and, for a pass, the qualification."""

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

    def record_approval(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Store who answered a plan's approval request (`approve` or `refuse`)."""

    def approval(self, node: str, episode: int, plan_sha256: str) -> tuple[str, str, str] | None:
        """Return (who, answer, why) for exactly this plan; None when nobody answered."""

    def hold(self, hold: Hold) -> None:
        """Put a hold on a node."""

    def release_hold(self, node: str, *, who: str) -> None:
        """End all holds of a node; moves nothing."""

    def holds(self, node: str) -> tuple[Hold, ...]:
        """Return the holds in force."""


# -- Judge, evidence, library ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgingBatch:
    """All results of one suite and scope that are judged together, in one validation."""

    scope: Scope
    results: tuple[StoredResult, ...]
    skus: Mapping[str, Sku]
    """SKU by node name."""
    firmware_sets: Mapping[str, str]
    serials: Mapping[str, str] = field(default_factory=dict)
    """Chassis serial by node name; a result that names another is not this node's."""


class Judge(Protocol):
    """Turns results into judgements: one validation per judging batch."""

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Return one judgement per result and the validation document (evidence for the dossiers)."""


class EvidenceStore(Protocol):
    """Write-once storage of evidence, by path and hash."""

    def put(self, path: str, content: bytes) -> EvidenceReference:
        """Store bytes; the same bytes again are success, other bytes at the same path are Refused."""

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back. Permanent when they are missing or their hash differs."""

    def url(self, reference: EvidenceReference) -> str:
        """Return an address that an operator can open."""


class EvidencePage(Protocol):
    """Draws one judgement for a person."""

    def render(self, content: Mapping[str, Any]) -> bytes:
        """Return a self-contained HTML page without outside links; the same content gives the same bytes."""


class Signer(Protocol):
    """Signs certificates; the key never leaves the adapter."""

    key_id: str

    def sign(self, content: bytes) -> bytes:
        """Return the Ed25519 signature (RFC 8032), 64 bytes."""


class Attestation(Protocol):
    """Verifies a node's quote."""

    def verify(
        self, document: Mapping[str, Any], *, nonce: str, serial: str, golden: Mapping[int, Sequence[str]]
    ) -> None:
        """Check signature, certificates, nonce, log replay and PCR policy. Refused with the one thing that is wrong."""


class Library(Protocol):
    """What people wrote in `include/`: read, checked against its schema, frozen."""

    def lifecycle(self) -> Lifecycle:
        """Return the lifecycle table."""

    def sku(self, name: str) -> Sku:
        """Return a SKU definition. Permanent with file and line when it is missing or broken."""

    def firmware_set(self, name: str) -> FirmwareSet:
        """Return a firmware baseline set."""

    def suite(self, name: str) -> Suite:
        """Return a suite with its test plan and expectations."""

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return the baselines in force for a SKU."""

    def policy(self, pool: str) -> Mapping[str, Any]:
        """Return a pool's policy."""

    def fleet(self, path: str) -> tuple[FleetNode, ...]:
        """Read a fleet manifest (YAML or CSV). Permanent with file and line when it is broken."""


class Work(Protocol):
    """The ports that a procedure gets, and the voice in which it writes its evidence log."""

    @property
    def clock(self) -> Clock:
        """Time."""

    @property
    def ledger(self) -> Ledger:
        """Memory."""

    @property
    def bmcs(self) -> BmcDirectory:
        """The hardware's hands."""

    @property
    def cluster(self) -> Cluster:
        """The cluster's hands."""

    @property
    def library(self) -> Library:
        """What people wrote."""

    @property
    def store(self) -> EvidenceStore:
        """Where evidence lies."""

    @property
    def attestation(self) -> Attestation:
        """The verifier of quotes."""

    @property
    def say(self) -> Callable[[str], None]:
        """Write one line of the log."""
