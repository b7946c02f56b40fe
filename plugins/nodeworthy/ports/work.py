"""What a procedure gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nodeworthy.ports.clock import Clock
from nodeworthy.ports.cluster import Cluster
from nodeworthy.ports.hardware import BmcDirectory
from nodeworthy.ports.judgement import Attestation, EvidenceStore
from nodeworthy.ports.ledger import Ledger
from nodeworthy.ports.library import Library


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
