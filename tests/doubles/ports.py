"""The ports of a test, given one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodeworthy.ports import Attestation, BmcDirectory, Clock, Cluster, EvidenceStore, Ledger, Library


@dataclass(frozen=True, slots=True)
class Ports:
    """Implements `ports.Work` with what it was given."""

    clock: Clock
    ledger: Ledger
    bmcs: BmcDirectory
    cluster: Cluster
    library: Library
    store: EvidenceStore
    attestation: Attestation
    say: Callable[[str], None]
