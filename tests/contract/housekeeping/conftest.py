"""A house whose ledger is a real one, on SQLite, with the lab's Kubernetes where a test needs it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.evidence_folder import FolderStore
from nodeworthy.adapters.housekeeping_yaml import read_rules
from nodeworthy.adapters.ledger_sql import upgrade
from nodeworthy.errors import Transient
from nodeworthy.lifecycle.upkeep import Rules
from nodeworthy.ports import BmcDirectory, Cluster, Library
from nodeworthy.procedures.upkeep import House
from nodeworthy.procedures.verify import Proofs

from tests.contract.kubernetes.conftest import client, core, kubeconfig, lab_server
from tests.contract.ledger.support import Bench
from tests.doubles.bench import INCLUDE, TrustingAttestation, library
from tests.doubles.ports import Ports

__all__ = ["client", "core", "kubeconfig", "lab_server"]


class Silent:
    """A port that nobody may need in a test, or whose far side is away."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def away(*_: Any, **__: Any) -> Any:
            raise Transient(f"{name} got no answer.")

        return away


@dataclass
class Keeper:
    """Makes houses on one ledger and keeps what they said."""

    bench: Bench
    store: FolderStore
    said: list[str] = field(default_factory=list)
    rules: Rules = field(default_factory=lambda: read_rules(INCLUDE))
    library: Library = field(default_factory=library)
    bmcs: BmcDirectory | Silent = field(default_factory=Silent)
    proofs: Proofs = field(init=False)

    def __post_init__(self) -> None:
        self.proofs = Proofs(self.bench.ledger, lambda: None)

    def house(self, cluster: Cluster | Silent | None = None, run: str = "housekeeping/1") -> House:
        """Return a house; without a cluster none answers, and the BMCs are those of the keeper."""
        cluster = cluster or Silent()
        ports: Sequence[Any] = (self.bench.clock, self.bench.ledger, self.bmcs, cluster, self.library, self.store)
        work = Ports(*ports, TrustingAttestation(), self.said.append)
        return House(work, self.bench.ledger, self.store, self.rules, run)

    def notices(self, kind: str) -> list[str]:
        """Return the sentences of open notices."""
        return [one.sentence for one in self.bench.ledger.notices() if one.kind == kind]

    def pass_(self, **time: float) -> None:
        """Let time pass."""
        self.bench.clock.pass_(timedelta(**time))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrate one SQLite file, the template of all others."""
    path = tmp_path_factory.mktemp("ledger") / "template.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def keeper(template: Path, tmp_path: Path) -> Iterator[Keeper]:
    """A keeper of an empty fleet."""
    path = tmp_path / "ledger.db"
    shutil.copy(template, path)
    made = Keeper(Bench(f"sqlite:///{path}"), FolderStore(tmp_path / "evidence"))
    yield made
    made.bench.ledger.close()
