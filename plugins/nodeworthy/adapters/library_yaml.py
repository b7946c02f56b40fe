"""The Library port over the files in `include/`: read once per process, checked against their schemas, frozen.

What people write by hand is YAML; suites and baselines are JSON. A name is a file's name, so a name that is a path
is refused. The door to yaml and jsonschema is `library_yaml_files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from nodeworthy.adapters import library_yaml_values as values
from nodeworthy.adapters.library_faults import FaultLibrary
from nodeworthy.adapters.library_yaml_files import line_in, read
from nodeworthy.adapters.library_yaml_fleet import read_fleet
from nodeworthy.errors import Permanent
from nodeworthy.evidence.findings import OldXids
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.policy import INHERITED, Policy
from nodeworthy.lifecycle.policy_error import PolicyError
from nodeworthy.lifecycle.roles import Roles
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.qualification.baselines import Baseline, baselines_from_document, refuse_two_of_one_key
from nodeworthy.qualification.learning import LearningRule
from nodeworthy.qualification.own_checks import OwnCheck, check_from_document, refuse_lost_checks, with_checks
from nodeworthy.qualification.references import Reference, references_from_document
from nodeworthy.qualification.selection import SelectionModel, selection_model
from nodeworthy.qualification.sku import FirmwareSet, Sku
from nodeworthy.qualification.statistical_rules import StatisticalRules, rules_from_document
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.suites import Suite

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_checked: dict[Path, tuple[Any, Lifecycle]] = {}
"""Lifecycle tables by file, with the document they were made of: checking the graph takes longer than reading it."""


class YamlLibrary:
    """What people wrote below one folder. Every reader raises Permanent with file and line when a file is broken."""

    def __init__(self, folder: Path, *, lifecycle: str = "default") -> None:
        self._folder = folder
        self._schemas = folder / "schemas"
        self._lifecycle = lifecycle
        self._faults = FaultLibrary(folder)
        # One cache per library and reader: what a process has made of a file stays the same for its life.
        self.lifecycle = cache(self._read_lifecycle)
        self.sku = cache(self._read_sku)
        self.firmware_set = cache(self._read_firmware_set)
        self.suite = cache(self._read_suite)
        self.baselines = cache(self._read_baselines)
        self.policy = cache(self._read_policy)
        self.checks = cache(self._read_checks)
        self.pool_policy = cache(self._read_pool_policy)
        self.statistics = cache(self._read_statistics)
        self.roles = cache(self._read_roles)
        self.old_xids = cache(self._read_old_xids)
        self.catalogue = cache(self._faults.catalogue)
        self.log_rules = cache(self._faults.log_rules)
        self.health_rules = cache(self._faults.health_rules)
        self.security_rules = cache(self._faults.security_rules)

    def fleet(self, path: str) -> tuple[FleetNode, ...]:
        """Read a fleet manifest (YAML or CSV), anew each time: operators edit it."""
        return read_fleet(Path(path), self._schemas)

    def suite_names(self) -> tuple[str, ...]:
        """Return the names of all suites, in order."""
        return tuple(sorted(path.stem for path in (self._folder / "suites").glob("*.json")))

    def read_all(self) -> None:
        """Read every file once; what is broken is left to whoever needs it and gets its sentence."""
        for single in (self.lifecycle, self.log_rules, self.health_rules, self.security_rules):
            with suppress(Permanent):
                single()
        readers: tuple[tuple[Callable[[str], object], str, str], ...] = (
            (self.sku, "skus", ".yaml"),
            (self.baselines, "skus", ".yaml"),
            (self.firmware_set, "skus/firmware", ".yaml"),
            (self.suite, "suites", ".json"),
            (self.policy, "policies", ".yaml"),
        )
        for reader, kind, suffix in readers:
            for file in sorted((self._folder / kind).glob(f"*{suffix}")):
                with suppress(Permanent):
                    reader(file.stem)

    def _read_lifecycle(self) -> Lifecycle:
        path = self._path("lifecycle", self._lifecycle, ".yaml")
        document = read(path, self._schemas, "lifecycle-1")
        known = _checked.get(path)
        if known is None or known[0] is not document:
            try:
                known = _checked[path] = (document, Lifecycle.from_document(document))
            except Permanent as error:
                raise Permanent(f"{path}: {error.sentence}") from error
        return known[1]

    def _read_sku(self, name: str) -> Sku:
        path = self._path("skus", name, ".yaml")
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in (self._folder / "skus").glob("*.yaml"))) or "none"
            raise Permanent(
                f"SKU {name} has no definition {path}: known are {known}; correct the manifest or write the definition."
            )
        sku = values.sku(self._named(path, name, "sku-1"))
        if sku.gpus != sum(rule.count for rule in sku.parts if rule.kind.value == "gpu"):
            raise Permanent(f"{path}: gpus is {sku.gpus} and the parts name another number of GPUs: make them agree.")
        return sku

    def _read_firmware_set(self, name: str) -> FirmwareSet:
        path = self._path("skus/firmware", name, ".yaml")
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml"))) or "none"
            raise Permanent(
                f"Firmware set {name} has no definition {path}, and none is public: write down there which versions "
                f"you qualified together, as the others do ({known}), or name another set in the SKU."
            )
        return values.firmware_set(self._named(path, name, "firmware-set-1"))

    def _read_suite(self, name: str) -> Suite:
        path = self._path("suites", name, ".json")
        return with_checks(
            suite_from_document(read(path, self._schemas, "suite-1"), self.suite, str(path)), self.checks()
        )

    def _read_checks(self) -> tuple[OwnCheck, ...]:
        paths = sorted((self._folder / "checks").glob("*.yaml"))
        found = tuple(check_from_document(self._named(path, path.stem, "check-1"), str(path)) for path in paths)
        refuse_lost_checks(found, self.suite_names(), str(self._folder / "checks"))
        return found

    def _read_baselines(self, sku: str) -> tuple[Baseline, ...]:
        path = self._path("baselines", sku, ".json")
        population = self._path("baselines", f"{sku}-reference", ".json")
        references: tuple[Reference, ...] = ()
        if population.is_file():
            document = read(population, self._schemas, "reference-1")
            references = references_from_document(document, str(population))
        found: tuple[Baseline, ...] = ()
        if path.is_file():
            found = baselines_from_document(read(path, self._schemas, "baseline-1"), references, str(path))
        own = (row for check in self.checks() for row in check.baselines(sku))
        return (*found, *self._read_simulated(sku, found), *own)

    def _read_simulated(self, sku: str, real: tuple[Baseline, ...]) -> tuple[Baseline, ...]:
        """Return what was measured on the virtual fleet; a key that has a real figure is not also simulated."""
        path = self._path("baselines", f"{sku}-simulated", ".json")
        if not path.is_file():
            return ()
        found = baselines_from_document(read(path, self._schemas, "baseline-1"), (), str(path))
        refuse_two_of_one_key((*real, *found), str(path))
        unmarked = [row.metric for row in found if not row.simulated]
        if unmarked:
            raise Permanent(f"{path}: {unmarked[0]} does not say `simulated`: a file of the virtual fleet must.")
        return found

    def learning_rule(self) -> LearningRule:
        """Return how baselines are learnt from the fleet's own measurements."""
        path = self._path("baselines", "learning", ".yaml")
        return values.learning_rule(read(path, self._schemas, "learning-1"), self.statistics().fault_model)

    def _read_old_xids(self, pool: str) -> OldXids:
        return self.catalogue(pool).old_xids()

    def _read_statistics(self) -> StatisticalRules:
        path = self._path("statistics", "combined", ".yaml")
        return rules_from_document(read(path, self._schemas, "statistics-1"), str(path))

    def selection(self) -> SelectionModel:
        """Return the model by which nodes are chosen for suites."""
        path = self._path("statistics", "selection", ".yaml")
        return selection_model(read(path, self._schemas, "selection-1"), str(path))

    def _read_policy(self, pool: str) -> Mapping[str, Any]:
        path = self._path("policies", pool, ".yaml")
        if not path.is_file():
            path, pool = self._path("policies", "default", ".yaml"), "default"
        document = read(path, self._schemas, "policy-1")
        if document["pool"] != pool:
            raise Permanent(f"{path}: pool is {document['pool']} and the file's name says {pool}: make them agree.")
        try:
            policy = Policy.from_document(document)
            self._refuse_deadlines(policy)
            self._refuse_unknown_roles(policy)
        except PolicyError as error:
            raise Permanent(f"{path}, line {line_in(path, error.place)}: {error.sentence}.") from error
        shared = self._shared_sections(pool)
        # A pool names the milestones in which it differs: the others, and the lease, stay as they are for all.
        deadlines = {**shared.get("deadlines", {}), **document.get("deadlines", {})}
        return values.policy({**shared, **document, "deadlines": deadlines})

    def _refuse_deadlines(self, policy: Policy) -> None:
        """Refuse a deadline of a milestone that the lifecycle lacks or nothing leads on from, or of an unknown SKU."""
        known = {row.name for row in self.lifecycle().milestones if not row.final}
        for name, deadline in policy.deadlines.items():
            if name not in known:
                why = f"there is no milestone `{name}` to have a deadline: use one of {', '.join(sorted(known))}"
                raise PolicyError(why, ("deadlines", name))
            for sku in deadline.per_sku:
                if not self._path("skus", sku, ".yaml").is_file():
                    raise PolicyError(f"there is no SKU `{sku}`: correct it", ("deadlines", name, "skus", sku))

    def _read_roles(self) -> Roles:
        path = self._folder / "roles.yaml"
        document = read(path, self._schemas, "roles-1")
        try:
            return Roles.from_document(document)
        except PolicyError as error:
            raise Permanent(f"{path}, line {line_in(path, error.place)}: {error.sentence}.") from error

    def _refuse_unknown_roles(self, policy: Policy) -> None:
        """A rule that names a role which nobody can have would leave its requests without an answer."""
        for name, rule in policy.approvals.items():
            unknown = sorted(set(rule.roles) - set(self.roles().permissions))
            if unknown:
                raise PolicyError(f"the role {unknown[0]} stands in no row of roles.yaml", ("approvals", name, "roles"))

    def _read_pool_policy(self, pool: str) -> Policy:
        return Policy.from_document(self.policy(pool))

    def _shared_sections(self, pool: str) -> Mapping[str, Any]:
        """Return the sections of `default.yaml` that stand in for those that a pool's file leaves out."""
        default = self._path("policies", "default", ".yaml")
        if pool == "default" or not default.is_file():
            return {}
        return {name: section for name, section in self.policy("default").items() if name in INHERITED}

    def _named(self, path: Path, name: str, schema: str) -> Any:
        document = read(path, self._schemas, schema)
        if document["name"] != name:
            raise Permanent(f"{path}: name is {document['name']} and the file's name says {name}: make them agree.")
        return document

    def _path(self, kind: str, name: str, suffix: str) -> Path:
        if not _NAME.fullmatch(name):
            raise Permanent(f"The name {name!r} of a file in {kind} is no plain name: use letters, digits, . _ and -.")
        return self._folder / kind / f"{name}{suffix}"
