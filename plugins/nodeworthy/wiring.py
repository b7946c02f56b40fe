"""The one place that turns configuration into adapters.

Settings come from the environment (`NODEWORTHY_*`), secrets from Airflow connections. Every adapter is made once per
process and only when something asks for it, because a task process lives for a second and most tasks need few.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nodeworthy.errors import Permanent
from nodeworthy.ports import (
    Attestation,
    BmcDirectory,
    Clock,
    Cluster,
    EvidenceStore,
    GroupPods,
    Judge,
    Ledger,
    Library,
    Signer,
    Work,
)
from nodeworthy.ports.pods import TEST_NAMESPACE

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from nodeworthy.adapters.ledger_sql import SqlLedger
    from nodeworthy.adapters.library_yaml import YamlLibrary
    from nodeworthy.adapters.signer_ed25519 import Ed25519Keys
    from nodeworthy.ports.absences import AbsenceBook
    from nodeworthy.procedures.baseline_book import BaselineBook
    from nodeworthy.procedures.checkpoint import AuditTrail
    from nodeworthy.procedures.judge_wave import Judging
    from nodeworthy.procedures.learn import Teaching
    from nodeworthy.procedures.reidentify import SwapBook
    from nodeworthy.procedures.upkeep import House
    from nodeworthy.procedures.watch import BrakeKeeper

REPOSITORY = Path(__file__).resolve().parents[2]
BMC_CONNECTION = "nodeworthy_bmc"
SIGNING_CONNECTION = "nodeworthy_signing"
CLUSTER_CONNECTION = "kubernetes_default"


def setting(name: str, default: str | None = None) -> str:
    """Return the setting `NODEWORTHY_<name>`. Permanent when it is not set and has no default."""
    value = os.environ.get(f"NODEWORTHY_{name}", default)
    if value is None:
        raise Permanent(f"The setting NODEWORTHY_{name} is read but not set: set it in Airflow's environment.")
    return value


def connection(name: str) -> Connection:
    """Return an Airflow connection. Permanent with the name when there is none."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return Connection.get(name)
    except AirflowNotFoundException as error:
        raise Permanent(f"The Airflow connection {name} does not exist: add it under Admin, Connections.") from error


@dataclass(frozen=True)
class Wiring:
    """The adapters of one process, each made when first asked for."""

    clock: Clock

    @cached_property
    def files(self) -> YamlLibrary:
        """The files in `include/`, as people wrote them."""
        from nodeworthy.adapters.library_yaml import YamlLibrary

        return YamlLibrary(Path(setting("INCLUDE", str(REPOSITORY / "include"))))

    @cached_property
    def library(self) -> Library:
        """The files in `include/`, and over them the baselines that were learnt."""
        from nodeworthy.adapters.library_in_force import LibraryInForce

        return LibraryInForce(self.files, lambda sku: self.book.baseline_versions(sku))

    @cached_property
    def _sql(self) -> SqlLedger:
        from nodeworthy.adapters.ledger_sql import SqlLedger

        return SqlLedger(setting("LEDGER_URL"), self.clock, self.files.lifecycle(), self.files.pool_policy)

    @property
    def ledger(self) -> Ledger:
        """Our own database."""
        return self._sql

    @property
    def book(self) -> BaselineBook:
        """The same database, as the memory of learnt baselines."""
        return self._sql

    @property
    def brake(self) -> BrakeKeeper:
        """The same database, as the memory of incidents."""
        return self._sql

    @property
    def absences(self) -> AbsenceBook:
        """The same database, as the memory of who is out."""
        return self._sql

    @property
    def swaps(self) -> SwapBook:
        """The same database, as the memory of chassis swaps."""
        return self._sql

    @property
    def trail(self) -> AuditTrail:
        """The same database, as the memory's proof of itself."""
        return self._sql

    @cached_property
    def bmcs(self) -> BmcDirectory:
        """The BMCs of the fleet."""
        from nodeworthy.adapters.bmc_redfish import RedfishDirectory

        return RedfishDirectory(_bmc_credentials, self.clock)

    @cached_property
    def cluster(self) -> Cluster:
        """The Kubernetes API."""
        from nodeworthy.adapters.cluster_kubernetes import ClusterKubernetes

        extra = connection(CLUSTER_CONNECTION).extra_dejson
        return ClusterKubernetes(kubeconfig=extra.get("kube_config_path"), namespace=TEST_NAMESPACE)

    @property
    def probe_image(self) -> str:
        """The container image in which the probe runs, as the nodes' registry knows it."""
        return setting("PROBE_IMAGE", "nodeworthy/probe:1")

    def probe_image_of(self, vendor: str) -> str:
        """The probe's image for nodes of a vendor: one of its own (`PROBE_IMAGE_AMD`), or the one for all."""
        return setting(f"PROBE_IMAGE_{vendor.upper()}", self.probe_image)

    @cached_property
    def pods(self) -> GroupPods:
        """The same API, for the pods of tests over several nodes."""
        from nodeworthy.adapters.cluster_kubernetes import Door
        from nodeworthy.adapters.cluster_kubernetes_pods import PodsKubernetes

        extra = connection(CLUSTER_CONNECTION).extra_dejson
        return PodsKubernetes(
            Door(extra.get("kube_config_path")), namespace=TEST_NAMESPACE, image_of=self.probe_image_of
        )

    @cached_property
    def store(self) -> EvidenceStore:
        """Where evidence lies."""
        from nodeworthy.adapters.evidence_objectstore import ObjectStore

        return ObjectStore(setting("EVIDENCE"), _airflow_url)

    @cached_property
    def attestation(self) -> Attestation:
        """The verifier of quotes and signed measurements."""
        from nodeworthy.adapters.attestation import Attestations

        def roots(name: str) -> Callable[[], bytes]:
            return lambda: Path(setting(name)).read_bytes()

        return Attestations(roots("TPM_ROOTS"), roots("SPDM_ROOTS"), self.golden, self.clock)

    @cached_property
    def judge(self) -> Judge:
        """The judge; importing Great Expectations costs seconds of CPU, so only judging tasks ask for it."""
        from nodeworthy.adapters.judge_gx import JudgeGx

        return JudgeGx(self.library)

    @cached_property
    def signer(self) -> Signer:
        """The signer of certificates."""
        from nodeworthy.adapters.signer_ed25519 import Ed25519Signer

        key = connection(SIGNING_CONNECTION)
        return Ed25519Signer(key.login or "", base64.b64decode(key.password or ""))

    def trusted_keys(self, *, new_file: bool = False) -> Ed25519Keys | None:
        """Return the public keys of the file, which may be new, and the present signing key; None where is neither."""
        from nodeworthy.adapters.signer_ed25519 import Ed25519Keys, Ed25519Signer, read_keys

        path = setting("KEYS", "")
        begins = not path or (new_file and not Path(path).exists())
        known = Ed25519Keys({}) if begins else read_keys(Path(path))
        try:
            signer = self.signer
        except (ImportError, Permanent):
            return known if known.document()["keys"] else None
        assert isinstance(signer, Ed25519Signer)
        return known.joined(signer.key_id, signer.public_key())

    def judging(self) -> Judging:
        """Return what judging a wave needs beside the ports of `work`."""
        from nodeworthy.adapters.page_jinja import JinjaPage
        from nodeworthy.procedures.judge_wave import Judging

        return Judging(self.judge, JinjaPage(), lambda: self.signer, self.golden)

    def house(self, say: Callable[[str], None], run: str) -> House:
        """Return what housekeeping works with."""
        from nodeworthy.adapters.evidence_objectstore import ObjectStore
        from nodeworthy.adapters.housekeeping_yaml import read_rules
        from nodeworthy.procedures.upkeep import House

        rules = read_rules(Path(setting("INCLUDE", str(REPOSITORY / "include"))))
        return House(self.work(say), self._sql, ObjectStore(setting("EVIDENCE")), rules, run)

    def teaching(self) -> Teaching:
        """Return what learning baselines needs beside the ports of `work`."""
        from nodeworthy.adapters.page_learning import LearningPage
        from nodeworthy.procedures.learn import Teaching

        return Teaching(self.book, self.files.learning_rule(), LearningPage())

    def golden(self) -> Mapping[str, str]:
        """Return the reference measurements: digest by what was measured."""
        return dict(json.loads(Path(setting("GOLDEN")).read_text()))

    def work(self, say: Callable[[str], None]) -> Work:
        """Return the ports for one procedure, with the voice in which it writes its log."""
        return _LazyWork(self, say)


class _LazyWork:
    """`ports.Work` whose adapters are made when they are first used."""

    def __init__(self, wiring: Wiring, say: Callable[[str], None]) -> None:
        self._wiring = wiring
        self.say = say

    @property
    def clock(self) -> Clock:
        return self._wiring.clock

    @property
    def ledger(self) -> Ledger:
        return self._wiring.ledger

    @property
    def bmcs(self) -> BmcDirectory:
        return self._wiring.bmcs

    @property
    def cluster(self) -> Cluster:
        return self._wiring.cluster

    @property
    def library(self) -> Library:
        return self._wiring.library

    @property
    def store(self) -> EvidenceStore:
        return self._wiring.store

    @property
    def attestation(self) -> Attestation:
        return self._wiring.attestation


def _airflow_url() -> str:
    """Return the address of the Airflow UI as people reach it; empty where nobody told."""
    from airflow.sdk.configuration import conf

    return setting("AIRFLOW_URL", conf.get("api", "base_url", fallback="") or "")


def _bmc_credentials() -> tuple[str, str]:
    bmc = connection(BMC_CONNECTION)
    return (bmc.login or "", bmc.password or "")


@cache
def wiring() -> Wiring:
    """Return this process's adapters."""
    return _wired()


@cache
def read_ahead() -> None:
    """Read and check the files of `include/`, so that processes forked from this one read only what changed since.

    Once in a process and all that are forked from it: Airflow loads plugins anew in each.
    """
    # Adapters of its own: those of `wiring()` would be inherited too, and with them what they made of the files.
    _wired().files.read_all()


def compile_statements() -> None:
    """Compile what tasks say to the ledger, so that processes forked from this one need not. Connects to nothing."""
    from nodeworthy.adapters.ledger_sql.ahead import compile_ahead

    url = setting("LEDGER_URL", "")
    if url:
        compile_ahead(url, _wired().files.lifecycle())


def _wired() -> Wiring:
    from nodeworthy.adapters.clock_system import SystemClock

    return Wiring(SystemClock())
