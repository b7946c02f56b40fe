"""Commands on evidence and learnt baselines: what a person asks at a shell, often far from the ledger.

`evidence verify` needs nothing but the files of a dossier or certificate; `evidence export` makes the archive that
goes to a vendor with a part.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import sha256_hex
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
    if evidence.is_certificate:
        problems = evidence.certificate(_keys(given.keys), datetime.now(UTC))
    else:
        problems = evidence.archive() if evidence.is_archive else evidence.dossier()
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
    from nodeworthy.adapters.evidence_objectstore import ObjectStore

    content = archive(given.node, wiring().ledger, ObjectStore(setting("EVIDENCE")))
    target: Path = given.to or Path(f"{given.node}-rma.tar.gz")
    try:
        target.write_bytes(content)
    except OSError as error:
        raise Permanent(f"{target} could not be written ({error.strerror}): name another file with --to.") from error
    print(f"Wrote {target} ({len(content)} bytes, SHA-256 {sha256_hex(content)}).")


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
