"""What Nodeworthy asks of the outside world, as Protocols in domain types.

Adapters implement them, procedures use them, `wiring` brings the two together; no library's type crosses.
Each method says whether it may be repeated. Errors are those of `nodeworthy.errors`: `Transient` for what may
pass, `Permanent` for what will not, `OutcomeUnknown` for an effect whose result cannot be proven.
"""

from nodeworthy.lifecycle.rows import Taint
from nodeworthy.ports.clock import Clock
from nodeworthy.ports.cluster import Agent, Cluster, ClusterNode, Device
from nodeworthy.ports.hardware import Bmc, BmcDirectory, Power, SystemState, UpdateState
from nodeworthy.ports.judgement import Attestation, EvidencePage, EvidenceStore, Judge, JudgingBatch, Signer
from nodeworthy.ports.ledger import Ledger
from nodeworthy.ports.library import Library
from nodeworthy.ports.pods import GroupMember, GroupPods, PodState
from nodeworthy.ports.work import Work

__all__ = [
    "Agent",
    "Attestation",
    "Bmc",
    "BmcDirectory",
    "Clock",
    "Cluster",
    "ClusterNode",
    "Device",
    "EvidencePage",
    "EvidenceStore",
    "GroupMember",
    "GroupPods",
    "Judge",
    "JudgingBatch",
    "Ledger",
    "Library",
    "PodState",
    "Power",
    "Signer",
    "SystemState",
    "Taint",
    "UpdateState",
    "Work",
]
