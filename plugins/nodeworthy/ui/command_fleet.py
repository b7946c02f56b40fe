"""Questions over the whole fleet: which parts fail too often, and which nodes are worth testing next.

lemons [--json]                          parts and places with more faults than chance allows, by serial
select --gpu-hours N [--pool P] [--json] which node gets which suite for so many GPU-hours, and why
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from nodeworthy.errors import Refused
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger
    from nodeworthy.qualification.selection import Choice, Weighed

SELECTED_SCHEMA = "nodeworthy.selection-result/1"
LEMONS_SCHEMA = "nodeworthy.lemons/1"


def add_commands(commands: Any) -> None:
    """Add the commands of this file to the command line."""
    lemons = commands.add_parser("lemons", help="parts and places with more faults than chance allows, by serial")
    lemons.add_argument("--json", action="store_true", help="the same for a program")
    lemons.set_defaults(act=_lemons)
    select = commands.add_parser("select", help="which node gets which suite for so many GPU-hours, and why")
    select.add_argument("--gpu-hours", type=float, required=True, metavar="N")
    select.add_argument("--pool", default="", help="one pool; all when left out")
    select.add_argument("--json", action="store_true", help="the same for a program")
    select.set_defaults(act=_select)


def _lemons(given: argparse.Namespace) -> None:
    from nodeworthy.procedures.lemons import notice_of
    from nodeworthy.qualification.lemons import lemons

    rules = wiring().library.statistics()
    record = _ledger().part_record(timedelta(days=rules.lemon_window_days))
    found = lemons(record.faults, record.days, rules.lemons)
    notices = [notice_of(one, record) for one in found]
    if given.json:
        rows = [
            {**asdict(one), "node": told.node, "sentence": told.sentence}
            for one, told in zip(found, notices, strict=True)
        ]
        window = {"window_days": rules.lemon_window_days, "faults": len(record.faults)}
        print(json.dumps({"schema": LEMONS_SCHEMA, **window, "lemons": rows}, indent=1))
        return
    for told in notices:
        print(told.sentence)
    if not found:
        print(
            f"Nothing fails more often than chance allows: {len(record.faults)} confirmed faults in "
            f"{rules.lemon_window_days:.0f} days."
        )


def _select(given: argparse.Namespace) -> None:
    from nodeworthy.qualification.selection import select, weighed

    if not (math.isfinite(given.gpu_hours) and given.gpu_hours > 0):
        raise Refused(f"{given.gpu_hours:g} GPU-hours can be given to nobody: name a number above 0.")
    made = wiring()
    model, lifecycle = made.files.selection(), made.library.lifecycle()
    ready = [one.name for one in lifecycle.milestones if one.phase in ("service", "standby")]
    times = {"recent": timedelta(days=model.risk.recent_days), "past": timedelta(days=model.risk.past_days)}
    facts = _ledger().risk_facts(ready, given.pool, **times)
    if not facts:
        where = f"pool {given.pool}" if given.pool else "the fleet"
        raise Refused(f"No node of {where} stands in {' or '.join(ready)}: there is nothing to choose from.")
    nodes = [one.risk(made.library.sku(one.sku).gpus) for one in facts]
    choices = select(nodes, model, given.gpu_hours)
    whole = weighed(nodes, choices, model)
    serving = [one.node for one in facts if lifecycle.milestone(one.milestone).schedulable]
    free = [choice for choice in choices if choice.node not in serving]
    requests = _requests(free, {option.name: (option.level, option.times) for option in model.suites})
    busy = [choice.node for choice in choices if choice.suite and choice.node in serving]
    if given.json:
        print(json.dumps(_document(choices, whole, requests, busy), indent=1))
    else:
        _print(choices, whole, requests, busy)


def _requests(choices: Sequence[Choice], suites: Mapping[str, tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the triggers that carry the choices out: nodes by level, and how often each is to be run."""
    chosen: dict[str, list[str]] = {}
    for choice in choices:
        if choice.suite:
            chosen.setdefault(choice.suite, []).append(choice.node)
    return [
        {"dag": "burn_in", "times": suites[suite][1], "conf": {"nodes": nodes, "level": suites[suite][0]}}
        for suite, nodes in chosen.items()
    ]


def _document(
    choices: Sequence[Choice], whole: Weighed, requests: Sequence[Mapping[str, Any]], busy: Sequence[str]
) -> dict[str, Any]:
    rows = [asdict(choice) for choice in choices]
    more = {"compared": asdict(whole), "requests": list(requests), "serving": list(busy)}
    return {"schema": SELECTED_SCHEMA, "choices": rows, **more}


def _print(
    choices: Sequence[Choice], whole: Weighed, requests: Sequence[Mapping[str, Any]], busy: Sequence[str]
) -> None:
    for choice in sorted(choices, key=lambda one: (-one.gpu_hours, -one.probability, one.node)):
        print(choice.sentence)
    print(f"\n{whole.sentence}")
    for request in requests:
        often = "" if request["times"] == 1 else f"   # {request['times']} times, one after the other"
        print(f"airflow dags trigger {request['dag']} --conf '{json.dumps(request['conf'])}'{often}")
    if busy:
        print(f"No test touches a node in service: take these into maintenance first: {', '.join(busy)}.")


def _ledger() -> SqlLedger:
    from nodeworthy.adapters.ledger_sql import SqlLedger

    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    return ledger
