"""The port to what people wrote in `include/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from nodeworthy.evidence.bmc_log import LogRules
from nodeworthy.evidence.findings import Catalogue, OldXids
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.roles import Roles
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.bmc_health import HealthRules
from nodeworthy.qualification.bmc_security import SecurityRules
from nodeworthy.qualification.sku import FirmwareSet, Sku
from nodeworthy.qualification.statistical_rules import StatisticalRules
from nodeworthy.qualification.suites import Suite


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

    def statistics(self) -> StatisticalRules:
        """Return the statistical rules: a node's own history, lemons, the shape of stalls."""

    def old_xids(self, pool: str) -> OldXids:
        """Return what the codes of Xids from before the tests mean, as the pool has it."""

    def catalogue(self, pool: str) -> Catalogue:
        """Return the fault catalogues, as the pool has them."""

    def log_rules(self) -> LogRules:
        """Return how the event log of a BMC is read and judged."""

    def health_rules(self) -> HealthRules:
        """Return how leaks, fans, power supplies and temperatures are read from a BMC and judged."""

    def security_rules(self) -> SecurityRules:
        """Return how the safety of a BMC is judged."""

    def policy(self, pool: str) -> Mapping[str, Any]:
        """Return a pool's policy."""

    def roles(self) -> Roles:
        """Return who may do what, by Airflow's users. Permanent with file and line when the file is broken."""

    def fleet(self, path: str) -> tuple[FleetNode, ...]:
        """Read a fleet manifest (YAML or CSV). Permanent with file and line when it is broken."""
