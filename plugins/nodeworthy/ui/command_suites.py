"""Commands on suites: what each runs and costs on a SKU, and what a pool has switched off, before a run starts."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.qualification.own_checks import SwitchedOff, switched_off
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import Suite, TestSpec, of_one_node
from nodeworthy.wiring import wiring


def add_commands(commands: Any) -> None:
    """Add the commands of this file to the command line."""
    suite = commands.add_parser("suite", help="what a suite runs, expects and costs")
    suite.add_argument("name")
    suite.add_argument("--sku", default="h100-sxm-8")
    suite.add_argument("--pool", help="say as well what this pool's policy has switched off")
    suite.set_defaults(act=_suite)
    suites = commands.add_parser("suites", help="what all suites cost, one line each")
    suites.add_argument("--sku", default="h100-sxm-8")
    suites.set_defaults(act=_suites)


def _suite(given: argparse.Namespace) -> None:
    library = wiring().files
    sku = library.sku(given.sku)
    suite = library.suite(given.name).on(sku.vendor)
    off = _off(library, suite, given.pool, sku)
    nodes = "one node" if of_one_node(suite) else f"{suite.nodes[0]} to {suite.nodes[1]} nodes"
    segments = "" if suite.segments == 1 else f", {suite.segments} segments one after the other"
    print(f"{suite.name} ({suite.level}, version {suite.version}) for {nodes}{segments}: {suite.description}\n")
    for test in suite.tests:
        print(_line(test, sku, off))
    alien = [test.test for test in suite.tests if test.only_with and test.only_with not in sku.declares]
    cost = suite.without([*alien, *(one.test for one in off)]).cost(sku.gpus)
    print(
        f"\nCost on {sku.name}: usually {cost.usual} and {cost.usual_gpu_hours:.2f} GPU-hours, "
        f"at most {cost.most} and {cost.most_gpu_hours:.2f} GPU-hours."
    )


def _line(test: TestSpec, sku: Sku, off: tuple[SwitchedOff, ...]) -> str:
    said = [f"{sum(1 for spec in test.metrics if spec.judged)} metrics"]
    if test.retry:
        said.append(f"again after {', '.join(test.retry)}")
    if test.near_miss_percent is not None:
        said.append(f"once more within {test.near_miss_percent:g} % of a limit")
    if test.needs:
        said.append(f"needs {', '.join(test.needs)}")
    if test.image:
        said.append(f"image {test.image}")
    if test.only_with and test.only_with not in sku.declares:
        said.append(f"left out: {sku.name} declares no {test.only_with}")
    said += [_said(one) for one in off if one.test == test.test]
    often = f" x {test.repeats}" if test.repeats > 1 else ""
    times = f"{test.usual.total_seconds():6.0f} s{often}, at most {test.timeout.total_seconds():.0f} s"
    return f"  {test.test:32} {test.tool:20} {times}; {', '.join(said)}"


def _said(one: SwitchedOff) -> str:
    if one.until is None:
        return f"WAIVED by {one.who}: {one.why}"
    return f"OFF until {one.until:%Y-%m-%d %H:%M} UTC ({one.why}, {one.who})"


def _off(library: Any, suite: Suite, pool: str | None, sku: Sku) -> tuple[SwitchedOff, ...]:
    """What is left out now. Raises Permanent for a name that no suite knows: it would switch nothing off."""
    policy = library.policy(pool) if pool else {}
    asked, waived = {row["test"] for row in policy.get("checks_off", ())}, {one.test for one in sku.waives}
    names = library.suite_names() if asked | waived else ()
    known = {test.test for name in names for test in library.suite(name).tests}
    strange = sorted(asked - known)
    if strange:
        raise Permanent(
            f"The policy of pool {pool} switches off {', '.join(strange)}, and no suite has a test of that name: "
            "correct checks_off in include/policies."
        )
    lost = sorted(waived - known)
    if lost:
        raise Permanent(
            f"SKU {sku.name} waives {', '.join(lost)}, and no suite has a test of that name: correct `waives`."
        )
    return switched_off(policy, suite, datetime.now(UTC), sku)


def _suites(given: argparse.Namespace) -> None:
    library = wiring().files
    sku = library.sku(given.sku)
    print(
        f"{'SUITE':8}{'TESTS':>6}{'PODS':>6}{'NODES':>7}{'USUAL':>12}{'AT MOST':>12}   GPU-hours a node on {sku.name}"
    )
    for name in library.suite_names():
        suite = library.suite(name).on(sku.vendor)
        cost, nodes = suite.cost(sku.gpus), "1" if of_one_node(suite) else f"{suite.nodes[0]}-{suite.nodes[1]}"
        print(
            f"{name:8}{len(suite.tests):6}{suite.segments:6}{nodes:>7}"
            f"{_minutes(cost.usual):>12}{_minutes(cost.most):>12}"
            f"   {cost.usual_gpu_hours / suite.nodes[0]:.2f}, at most {cost.most_gpu_hours / suite.nodes[0]:.2f}"
        )


def _minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:.1f} min"
