"""`nodeworthy audit`: prove that nothing in the audit was changed, removed, reordered or cut off, and hand it out.

verify                    check every chain, and all of them against the last signed checkpoint
verify --checkpoint FILE  check them against a copy of a checkpoint that was kept elsewhere
export [--node NODE]      write the rows as JSON lines, by serial and sequence
checkpoint                sign the present heads and store them
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.certificate import CheckSignature
from nodeworthy.procedures import checkpoint as procedure
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger


def add(commands: Any) -> None:
    """Add the command and its words to the parser's subcommands."""
    audit = commands.add_parser("audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = audit.add_subparsers(required=True, metavar="WHAT")
    verify = words.add_parser("verify")
    verify.add_argument("--checkpoint", type=Path, help="a checkpoint's JSON file, kept outside the evidence store")
    verify.set_defaults(act=_verify)
    export = words.add_parser("export")
    export.add_argument("--node")
    export.set_defaults(act=_export)
    words.add_parser("checkpoint").set_defaults(act=_checkpoint)


def _verify(given: argparse.Namespace) -> None:
    ledger, check = _ledger(), _keys()
    if given.checkpoint is None:
        problems = procedure.verify(ledger, wiring().store, check)
        against = f"{len(ledger.checkpoints())} checkpoints"
    else:
        document = json.loads(given.checkpoint.read_text(encoding="utf-8"))
        problems = (*ledger.verify_audit(), *procedure.against(ledger, document, check))
        against = f"checkpoint {document.get('number')} in {given.checkpoint}"
    if problems:
        print("\n".join(problems))
        raise Refused(f"The audit does not hold in {len(problems)} places: compare them with the ledger's backups.")
    signed = "its signature holds" if check else "without looking at its signature: the signing key is not known here"
    chains = len(ledger.audit_heads())
    print(f"All {chains} audit chains hold, also against {against} ({signed}).")


def _export(given: argparse.Namespace) -> None:
    for row in _ledger().export_audit(given.node):
        sys.stdout.write(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n")


def _checkpoint(_: argparse.Namespace) -> None:
    procedure.checkpoint(_ledger(), wiring().store, wiring().signer, print)


def _ledger() -> SqlLedger:
    from nodeworthy.adapters.ledger_sql import SqlLedger

    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    return ledger


def _keys() -> CheckSignature | None:
    """Return the check by the present signing key; None where Airflow's connection is not at hand."""
    from nodeworthy.adapters.signer_ed25519 import Ed25519Keys, Ed25519Signer

    try:
        signer = wiring().signer
    except (ImportError, Permanent):
        return None
    assert isinstance(signer, Ed25519Signer)
    return Ed25519Keys({signer.key_id: signer.public_key()}).check
