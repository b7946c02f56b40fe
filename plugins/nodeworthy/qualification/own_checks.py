"""Own checks: what an operator adds to the suites with a file and a container image, without a line of Python.

A check becomes a test of the suites that it names, and its limits become baselines, so that it is planned, logged,
judged and kept like every other test. `SwitchedOff` is the opposite: a test that a pool's policy leaves out until a
date, or that a SKU does without, by name and with a reason, which stands in plan, log and verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.baselines import Baseline, baseline_from_document
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import MetricSpec, Per, Suite, TestSpec

TOOL = "own-check"
EVERY_SKU = "*"
_SINGLE = "single"


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """One check: its test, the suites that gain it, and its limits by SKU name (`*` for all others)."""

    test: TestSpec
    version: int
    description: str
    suites: tuple[str, ...]
    limits: Mapping[str, tuple[Baseline, ...]]

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return the limits for one SKU: its own rows, and the general ones of keys that it has no row for."""
        own = self.limits.get(sku, ())
        keys = {(row.metric, row.statistic) for row in own}
        general = self.limits.get(EVERY_SKU, ())
        return (*own, *(row for row in general if (row.metric, row.statistic) not in keys))


def check_from_document(document: Mapping[str, Any], where: str) -> OwnCheck:
    """Read one check; its form was checked by its schema. Permanent when a limit could never fail or lacks a source."""
    version, name = int(document["version"]), str(document["name"])
    limits: dict[str, list[Baseline]] = {}
    for metric in document["metrics"]:
        for row in metric.get("limits", ()):
            limits.setdefault(row["sku"], []).append(_limit(row, metric, name, version, where))
    return OwnCheck(
        test=_test(document, name),
        version=version,
        description=document["description"],
        suites=tuple(document["suites"]),
        limits={sku: tuple(rows) for sku, rows in limits.items()},
    )


def _test(document: Mapping[str, Any], name: str) -> TestSpec:
    return TestSpec(
        test=name,
        tool=TOOL,
        arguments=tuple(document["command"]),
        timeout=timedelta(seconds=document["timeout_seconds"]),
        metrics=tuple(_metric(row) for row in document["metrics"]),
        scopes=tuple(Scope(word) for word in document.get("scopes", list(Scope))),
        usual=timedelta(seconds=document.get("usual_seconds", 0)),
        retry=tuple(document.get("retry", ())),
        image=document["image"],
    )


def _metric(row: Mapping[str, Any]) -> MetricSpec:
    return MetricSpec(
        metric=row["metric"],
        per=Per(row["per"]),
        unit=row["unit"],
        statistic=row.get("statistic", _SINGLE),
        judged=row.get("judged", True),
        headline=row.get("headline", False),
        action=row["action"],
    )


def _limit(row: Mapping[str, Any], metric: Mapping[str, Any], name: str, version: int, where: str) -> Baseline:
    key = {"test": name, "metric": metric["metric"], "unit": metric["unit"]}
    figures = {word: value for word, value in row.items() if word != "sku"}
    whole = {**key, "statistic": metric.get("statistic", _SINGLE), **figures}
    return baseline_from_document(whole, row["sku"], version, where)


def with_checks(suite: Suite, checks: Iterable[OwnCheck]) -> Suite:
    """Return a suite with the checks that name it. Permanent when a test of that name stands there already."""
    added = [check.test for check in checks if suite.name in check.suites]
    names = {test.test for test in suite.tests}
    twice = [test.test for test in added if test.test in names]
    if twice:
        raise Permanent(f"Suite {suite.name} has a test {twice[0]} already: give your own check another name.")
    return suite.with_tests(added)


def container_name(test: str) -> str:
    """Return the name of a check's container in the test pod: a DNS label, as Kubernetes demands."""
    return f"check-{test.replace('.', '-').replace('_', '-')}"


def refuse_lost_checks(checks: Iterable[OwnCheck], suites: Collection[str], where: str) -> None:
    """Refuse a check that would never run: no suite has the name that it gives, or another has its container's."""
    taken: dict[str, str] = {}
    for check in checks:
        name = check.test.test
        unknown = [suite for suite in check.suites if suite not in suites]
        if unknown:
            raise Permanent(
                f"{where}, {name}: there is no suite {unknown[0]}, so it would not run there: use "
                f"{', '.join(sorted(suites))}."
            )
        other = taken.setdefault(container_name(name), name)
        if other != name:
            raise Permanent(f"{where}: {name} and {other} would share one container: give one another name.")


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """One test that is left out: why, on whose word (a pool's policy or a SKU), and until when; a SKU's has no end."""

    test: str
    why: str
    who: str
    until: datetime | None = None

    def document(self) -> dict[str, str]:
        """Return it as it stands in plan and verdict."""
        own = {"test": self.test, "why": self.why, "who": self.who}
        return own if self.until is None else {**own, "until": self.until.isoformat()}


def switched_off(policy: Mapping[str, Any], suite: Suite, now: datetime, sku: Sku) -> tuple[SwitchedOff, ...]:
    """Return the tests of a suite that a pool's policy leaves out at `now`, then those that the SKU does without.

    An expired entry of a policy switches nothing off.
    """
    names = {test.test for test in suite.on(sku.vendor).tests}
    entries = (SwitchedOff(**row) for row in policy.get("checks_off", ()))
    off = [entry for entry in entries if entry.test in names and entry.until is not None and now < entry.until]
    twice = {entry.test for entry in off}
    waived = (SwitchedOff(one.test, one.why, f"SKU {sku.name}") for one in sku.waives)
    return (*off, *(entry for entry in waived if entry.test in names - twice))


def said_off(rows: Iterable[Mapping[str, str]]) -> str:
    """Return the words about tests that were left out for a sentence; empty where there are none."""
    found = list(rows)
    words = [f"{row['test']} until {row['until'][:16]} ({row['why']}, {row['who']})" for row in found if "until" in row]
    waived = [row["test"] for row in found if "until" not in row]
    said = f" Switched off: {', '.join(words)}." if words else ""
    return said + (f" Its SKU does without {', '.join(waived)}." if waived else "")
