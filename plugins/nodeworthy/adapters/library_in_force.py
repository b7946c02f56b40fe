"""The library with what was learnt laid over it: the files of `include/`, and the version of baselines in force.

Files are read once per process, the version at each question: it may be approved while a worker lives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nodeworthy.evidence.bmc_log import LogRules
from nodeworthy.evidence.findings import Catalogue, OldXids
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.roles import Roles
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.ports import Library
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.bmc_health import HealthRules
from nodeworthy.qualification.bmc_security import SecurityRules
from nodeworthy.qualification.sku import FirmwareSet, Sku
from nodeworthy.qualification.statistical_rules import StatisticalRules
from nodeworthy.qualification.suites import Suite
from nodeworthy.qualification.versions import BaselineVersion, in_force, laid_over, learnt


class LibraryInForce:
    """Implements `ports.Library` over another one; `versions` returns all versions of one SKU."""

    def __init__(self, files: Library, versions: Callable[[str], tuple[BaselineVersion, ...]]) -> None:
        self._files = files
        self._versions = versions

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return the baselines in force: the files', and over them those of the newest version that stands."""
        below = self._files.baselines(sku)
        version = in_force(self._versions(sku))
        if version is None:
            return below
        return laid_over(below, learnt(version.document, f"version {version.number} of the baselines of {sku}"))

    def lifecycle(self) -> Lifecycle:
        """Return the lifecycle table."""
        return self._files.lifecycle()

    def sku(self, name: str) -> Sku:
        """Return a SKU definition."""
        return self._files.sku(name)

    def firmware_set(self, name: str) -> FirmwareSet:
        """Return a firmware baseline set."""
        return self._files.firmware_set(name)

    def suite(self, name: str) -> Suite:
        """Return a suite with its test plan and expectations."""
        return self._files.suite(name)

    def statistics(self) -> StatisticalRules:
        """Return the statistical rules."""
        return self._files.statistics()

    def old_xids(self, pool: str) -> OldXids:
        """Return what the codes of Xids from before the tests mean."""
        return self._files.old_xids(pool)

    def catalogue(self, pool: str) -> Catalogue:
        """Return the fault catalogues, as the pool has them."""
        return self._files.catalogue(pool)

    def log_rules(self) -> LogRules:
        """Return how the event log of a BMC is read and judged."""
        return self._files.log_rules()

    def health_rules(self) -> HealthRules:
        """Return how leaks, fans, power supplies and temperatures are read from a BMC and judged."""
        return self._files.health_rules()

    def security_rules(self) -> SecurityRules:
        """Return how the safety of a BMC is judged."""
        return self._files.security_rules()

    def policy(self, pool: str) -> Mapping[str, Any]:
        """Return a pool's policy."""
        return self._files.policy(pool)

    def roles(self) -> Roles:
        """Return who may do what."""
        return self._files.roles()

    def fleet(self, path: str) -> tuple[FleetNode, ...]:
        """Read a fleet manifest."""
        return self._files.fleet(path)
