"""The plan that a test pod gets: a suite, written out for one node, one episode and one nonce.

It is a pure function of its inputs, so the plan in a dossier can be made again and compared with the hash that the
result carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from nodeworthy.evidence.findings import OldXids
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.near_miss import Limits
from nodeworthy.qualification.own_checks import SwitchedOff
from nodeworthy.qualification.sku import Sku, Vendor
from nodeworthy.qualification.suites import LONGEST_SEGMENT, Suite, TestSpec, of_one_node

PLAN_SCHEMA = "nodeworthy.plan/1"
TOLERATED_XIDS, RESET_XIDS = "{tolerated_xids}", "{reset_xids}"
"""In a suite's arguments: which Xids from before the tests decide nothing, and which of the others end with a reset of
their GPU, by the catalogue and the node's pool."""
MEMBER = "group.member"
"""The test of a node that takes part in a group and does not lead it."""
_WORDS = {
    "nic": "{nics}",
    "gpu_nic": "{gpu_nics}",
    "roce": "{roce_nics}",
    "drive": "{drives}",
    "scratch": "{scratch_drives}",
}
"""How a suite writes what the SKU names of these kinds; of every other kind it writes the kind's own name."""
JOIN_SECONDS = 180
"""How long pods of one group may start after one another; the probe's own patience lies below it."""


class Addressee(TypedDict):
    """Whom a plan is for: node, chassis serial, episode, and the nonce that ties the result to this plan."""

    node: str
    serial: str
    episode: int
    nonce: str


def plan_document(
    suite: Suite,
    sku: Sku,
    scope: Scope,
    off: Sequence[SwitchedOff] = (),
    segment: int = 1,
    limits: Limits | None = None,
    **addressee: Unpack[Addressee],
) -> dict[str, Any]:
    """Return a `nodeworthy.plan/1` document. `{gpus}` (how many), `{each_gpu}` (their numbers), `{nics}`, `{gpu_nics}`,
    `{roce_nics}`, `{drives}`, `{scratch_drives}` and the other kinds (`{services}` ...) become what the SKU names.

    A suite of several segments gets one plan for each; `segment` counts from 1. `limits` are what the probe is told of
    them.
    """
    tests = [
        _test(test, sku, (limits or {}).get(test.test, ()))
        for test in suite.without([one.test for one in off]).for_scope(scope, sku)
    ]
    return {
        "schema": PLAN_SCHEMA,
        **addressee,
        "suite": suite.name,
        "sku": sku.name,
        **({"switched_off": [one.document() for one in off]} if off else {}),
        **({"segment": {"number": segment, "of": suite.segments}} if suite.segments > 1 else {}),
        "expect": {"gpus": sku.gpus, "nvlinks_per_gpu": sku.nvlinks_per_gpu, **_vendor(sku)},
        **_bound(suite, tests),
        "tests": tests,
    }


def _bound(suite: Suite, tests: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the time that one node's pod has when its second tries would make it too long; first tries always fit."""
    if not of_one_node(suite) or longest(tests) <= LONGEST_SEGMENT:
        return {}
    once = sum(test["timeout_seconds"] * test.get("repeats", 1) for test in tests)
    return {"within_seconds": max(once, int(LONGEST_SEGMENT.total_seconds()))}


def _vendor(sku: Sku) -> dict[str, str]:
    return {} if sku.vendor is Vendor.NVIDIA else {"vendor": sku.vendor.value}


def _test(test: TestSpec, sku: Sku, limits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    words = {"{gpus}": str(sku.gpus), "{each_gpu}": ",".join(map(str, range(sku.gpus)))}
    words |= {_WORDS.get(kind, f"{{{kind}}}"): ",".join(names) for kind, names in sku.devices.items()}
    extra = {"repeats": test.repeats if test.repeats > 1 else 0, "retry": list(test.retry), "image": test.image}
    extra |= {"needs": list(test.needs), "limits": [dict(row) for row in limits]}
    return {
        **{key: value for key, value in extra.items() if value},
        "test": test.test,
        "tool": test.tool,
        "arguments": [_filled(argument, words) for argument in test.arguments],
        "timeout_seconds": int(test.timeout.total_seconds()),
        "parameters": {
            name: _filled(value, words) if isinstance(value, str) else value for name, value in test.parameters.items()
        },
        "environment": dict(test.environment),
    }


def longest(tests: Iterable[Mapping[str, Any]]) -> timedelta:
    """Return how long the probe may work on a plan's tests: `TestSpec.longest`, read from what the plan says.

    A test of whose limits the plan tells none is not tried again after a near miss, whatever the suite allows.
    """
    return sum((_longest(test) for test in tests), timedelta(0))


def pod_limit(plan: Mapping[str, Any]) -> timedelta:
    """Return how long the pod of a plan may take: all tries of its tests, or what the plan bounds them to."""
    most = longest(plan["tests"])
    return min(most, timedelta(seconds=plan["within_seconds"])) if "within_seconds" in plan else most


def _longest(test: Mapping[str, Any]) -> timedelta:
    may_miss = any("beyond" in limit for limit in test.get("limits", ()))
    tries = (2 if test.get("retry") else 1) * (2 if may_miss else 1)
    return timedelta(seconds=test["timeout_seconds"] * test.get("repeats", 1) * tries)


def with_old_xids(suite: Suite, old: OldXids) -> Suite:
    """Return the suite with what its tests are told of Xids from before them, as ranges of codes."""
    told = {TOLERATED_XIDS: old.tolerated, RESET_XIDS: old.ended_by_reset}
    words = {word: _ranges([int(code) for code in codes]) for word, codes in told.items()}
    tests = (
        replace(test, arguments=tuple(words.get(argument, argument) for argument in test.arguments))
        if TOLERATED_XIDS in test.arguments
        else test
        for test in suite.tests
    )
    return replace(suite, tests=tuple(tests))


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, runs of them joined: 1-3,7."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _filled(argument: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        argument = argument.replace(word, value)
    return argument


def group_plan(
    plan: Mapping[str, Any], members: Sequence[tuple[str, str]], port: int, leads_for: timedelta
) -> dict[str, Any]:
    """Return a node's plan as its part in a group of (node, address), the first of which leads and measures.

    The others serve for as long as the leader may take (`leads_for`), before whatever their own plan tests.
    """
    rank = next(place for place, (node, _) in enumerate(members) if node == plan["node"])
    limit = int(leads_for.total_seconds()) + JOIN_SECONDS
    serve = {"test": MEMBER, "tool": "serve", "timeout_seconds": limit}
    return {
        **plan,
        **({"tests": [serve, *plan["tests"]]} if rank else {}),
        "group": {
            "rank": rank,
            "members": [{"node": node, "address": address} for node, address in members],
            "port": port,
        },
    }


def group_limit(suite: Suite) -> timedelta:
    """Return how long a group may take from its first pod to its last result."""
    return leading_time(suite) + timedelta(seconds=2 * JOIN_SECONDS)


def leading_time(suite: Suite) -> timedelta:
    """Return how long the tests of the node that leads may take."""
    return sum((test.longest for test in suite.tests), timedelta(0))
