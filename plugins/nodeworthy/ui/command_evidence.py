"""Commands on evidence, suites and learnt baselines: what a person asks at a shell, often far from the ledger.

`evidence verify` needs nothing but the files of a dossier or certificate; `evidence export` makes the archive that
goes to a vendor with a part.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.ui.session import acting, may_break_glass
from nodeworthy.wiring import setting, wiring


def add_commands(commands: Any) -> None:
    """Add the commands of this file to the command line."""
    evidence = commands.add_parser("evidence").add_subparsers(required=True, metavar="WHAT")
    verify = evidence.add_parser("verify", help="check a dossier's folder, its manifest, or a certificate, offline")
    verify.add_argument("path", type=Path)
    verify.add_argument("--keys", type=Path, help="JSON file of public keys; NODEWORTHY_KEYS by default")
    verify.set_defaults(act=_verify)
    export = evidence.add_parser("export", help="one archive with everything that is known about a node")
    export.add_argument("node")
    export.add_argument("--to", type=Path, help="file to write; NODE-rma.tar.gz by default")
    export.set_defaults(act=_export)
    suite = commands.add_parser("suite", help="what a suite runs, expects and costs")
    suite.add_argument("name")
    suite.add_argument("--sku", default="h100-sxm-8")
    suite.set_defaults(act=_suite)
    suites = commands.add_parser("suites", help="what all suites cost, one line each")
    suites.add_argument("--sku", default="h100-sxm-8")
    suites.set_defaults(act=_suites)
    baselines = commands.add_parser("baselines").add_subparsers(required=True, metavar="WHAT")
    listed = baselines.add_parser("list", help="versions that were learnt, and who answered them")
    listed.add_argument("sku", nargs="?", default="")
    listed.set_defaults(act=_list)
    withdraw = baselines.add_parser("withdraw", help="take a version back; the one before it is in force again")
    withdraw.add_argument("sku")
    withdraw.add_argument("number", type=int)
    withdraw.add_argument("--why", required=True)
    may_break_glass(withdraw)
    withdraw.set_defaults(act=_withdraw)


def _verify(given: argparse.Namespace) -> None:
    from nodeworthy.adapters.evidence_offline import OfflineEvidence

    evidence = OfflineEvidence(given.path)
    checked = evidence.certificate(_keys(given.keys), datetime.now(UTC)) if evidence.is_certificate else None
    if checked is None:
        checked = evidence.archive() if evidence.is_archive else evidence.dossier()
    problems = checked
    if problems:
        raise Permanent("\n".join(problems))
    print(evidence.summary)


def _keys(path: Path | None) -> Any:
    from nodeworthy.adapters.signer_ed25519 import read_keys

    given = path or setting("KEYS", "")
    if not given:
        raise Permanent("A certificate is checked against public keys: give --keys FILE (see docs/operate.md).")
    return read_keys(Path(given))


def _export(given: argparse.Namespace) -> None:
    from nodeworthy.adapters.evidence_archive import archive

    made = wiring()
    content = archive(given.node, made.ledger, made.store.get)
    target: Path = given.to or Path(f"{given.node}-rma.tar.gz")
    target.write_bytes(content)
    print(f"Wrote {target} ({len(content)} bytes).")


def _suite(given: argparse.Namespace) -> None:
    library = wiring().files
    suite, sku = library.suite(given.name), library.sku(given.sku)
    nodes = "one node" if suite.nodes == (1, 1) else f"{suite.nodes[0]} to {suite.nodes[1]} nodes"
    segments = "" if suite.segments == 1 else f", {suite.segments} segments one after the other"
    print(f"{suite.name} ({suite.level}, version {suite.version}) for {nodes}{segments}: {suite.description}\n")
    for test in suite.tests:
        figures = sum(1 for spec in test.metrics if spec.judged)
        often = f" x {test.repeats}" if test.repeats > 1 else ""
        again = f", again after {', '.join(test.retry)}" if test.retry else ""
        near = "" if test.near_miss_percent is None else f", once more within {test.near_miss_percent:g} % of a limit"
        own = f", image {test.image}" if test.image else ""
        print(
            f"  {test.test:32} {test.tool:20} {test.usual.total_seconds():6.0f} s{often}, at most "
            f"{test.timeout.total_seconds():.0f} s; {figures} metrics{again}{near}{own}"
        )
    cost = suite.cost(sku.gpus)
    print(
        f"\nCost on {sku.name}: usually {cost.usual} and {cost.usual_gpu_hours:.2f} GPU-hours, "
        f"at most {cost.most} and {cost.most_gpu_hours:.2f} GPU-hours."
    )


def _suites(given: argparse.Namespace) -> None:
    library = wiring().files
    sku = library.sku(given.sku)
    print(
        f"{'SUITE':8}{'TESTS':>6}{'PODS':>6}{'NODES':>7}{'USUAL':>12}{'AT MOST':>12}   GPU-hours a node on {sku.name}"
    )
    for name in library.suite_names():
        suite = library.suite(name)
        cost, nodes = suite.cost(sku.gpus), "1" if suite.nodes == (1, 1) else f"{suite.nodes[0]}-{suite.nodes[1]}"
        print(
            f"{name:8}{len(suite.tests):6}{suite.segments:6}{nodes:>7}"
            f"{_minutes(cost.usual):>12}{_minutes(cost.most):>12}"
            f"   {cost.usual_gpu_hours / suite.nodes[0]:.2f}, at most {cost.most_gpu_hours / suite.nodes[0]:.2f}"
        )


def _minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:.1f} min"


def _list(given: argparse.Namespace) -> None:
    for one in wiring().book.baseline_versions(given.sku):
        answer = f"{one.answer} by {one.who}: {one.why}" if one.answer else "waits for an answer"
        back = f"; withdrawn by {one.withdrawn_by}: {one.withdrawn_why}" if one.withdrawn_at else ""
        rows = len(one.document["baselines"]["baselines"])
        print(f"{one.sku} {one.number} of {one.proposed_at:%Y-%m-%d %H:%M} UTC, {rows} keys: {answer}{back}")


def _withdraw(given: argparse.Namespace) -> None:
    who = acting(given, Permission.CHANGE_POLICY)
    if isinstance(who, str):
        wiring().book.withdraw_baselines(given.sku, given.number, who=who, why=given.why)
    else:
        who.act(f"baselines/{given.sku}/{given.number}/withdraw", why=given.why)
    print(f"Version {given.number} of {given.sku} is withdrawn.")
