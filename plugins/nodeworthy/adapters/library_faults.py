"""The fault catalogues and the rules for content of `include/faults/`, checked against their schemas."""

from __future__ import annotations

from pathlib import Path

from nodeworthy.adapters.library_yaml_files import line_in, read
from nodeworthy.errors import Permanent
from nodeworthy.evidence.bmc_log import LogRules, log_rules_from_document
from nodeworthy.evidence.findings import Catalogue, catalogue_from_documents
from nodeworthy.qualification.bmc_health import HealthRules, health_rules_from_document
from nodeworthy.qualification.bmc_security import SecurityRules, security_rules_from_document
from nodeworthy.qualification.content_rules import ContentRules, rules_from_documents

_TABLES = ("xid", "sxid", "dcgm", "redfish")


class FaultLibrary:
    """What people wrote below `include/faults`. Raises Permanent with file and line when a file is broken."""

    def __init__(self, include: Path) -> None:
        self._folder = include / "faults"
        self._schemas = include / "schemas"

    def catalogue(self, pool: str | None = None) -> Catalogue:
        """All tables of faults and the policy over them, with what `pools/<pool>.yaml` overrides, if it exists."""
        tables = [read(self._folder / f"{name}.json", self._schemas, "faults-1") for name in _TABLES]
        policy = read(self._folder / "policy.yaml", self._schemas, "fault-policy-1")
        nvlink = read(self._folder / "nvlink5.json", self._schemas, "nvlink5-1")
        catalogue = catalogue_from_documents(tables, policy, nvlink)
        own = self._folder / "pools" / f"{pool}.yaml"
        return self._overridden(catalogue, own) if pool and own.exists() else catalogue

    def _overridden(self, catalogue: Catalogue, path: Path) -> Catalogue:
        document = read(path, self._schemas, "fault-override-1")
        if document["pool"] != path.stem:
            line = line_in(path, ("pool",))
            raise Permanent(f"{path}, line {line}: the pool is {document['pool']}; name it as the file, {path.stem}.")
        try:
            return catalogue.overridden(path.stem, document["overrides"])
        except ValueError as error:
            place, what = error.args
            line = line_in(path, ("overrides", place))
            raise Permanent(f"{path}, line {line}: {what}; correct or remove the override.") from error

    def rules(self) -> ContentRules:
        """The rules for verdicts by content."""
        content = read(self._folder / "content.yaml", self._schemas, "content-rules-1")
        return rules_from_documents(content, read(self._folder / "physics.yaml", self._schemas, "physics-1"))

    def log_rules(self) -> LogRules:
        """The rules for reading and judging the event log of a BMC."""
        return log_rules_from_document(read(self._folder / "bmc_log.yaml", self._schemas, "bmc-log-1"))

    def health_rules(self) -> HealthRules:
        """The rules for reading and judging the machinery that a BMC watches."""
        return health_rules_from_document(read(self._folder / "bmc_health.yaml", self._schemas, "bmc-health-1"))

    def security_rules(self) -> SecurityRules:
        """The rules for judging the safety of a BMC."""
        return security_rules_from_document(read(self._folder / "bmc_security.yaml", self._schemas, "bmc-security-1"))
