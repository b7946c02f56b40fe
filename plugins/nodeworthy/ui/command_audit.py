"""`nodeworthy audit`: prove that nothing in the audit was changed, removed, reordered or cut off, and hand it out.

verify                    check every chain, and all of them against the last signed checkpoint
verify --checkpoint FILE  check them against a copy of a checkpoint that was kept elsewhere
export [--node NODE]      write the rows as JSON lines, by serial and sequence
checkpoint                sign the present heads and store them
keys [--add]              show the public keys that are trusted, and add the present one to their file
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nodeworthy.errors import Permanent, Refused
from nodeworthy.procedures import checkpoint as procedure
from nodeworthy.wiring import setting, wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger

EVER: Final = datetime.min.replace(tzinfo=UTC)


def add(commands: Any) -> None:
    """Add the command and its words to the parser's subcommands."""
    audit = commands.add_parser("audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = audit.add_subparsers(required=True, metavar="WHAT")
    verify = words.add_parser("verify")
    verify.add_argument("--checkpoint", type=Path, help="a checkpoint's JSON file, kept outside the evidence store")
    verify.add_argument("--all", action="store_true", help="look at every checkpoint's signature, not only the last's")
    verify.set_defaults(act=_verify)
    keys = words.add_parser("keys")
    keys.add_argument("--add", action="store_true", help="write the present key into the file NODEWORTHY_KEYS")
    keys.set_defaults(act=_keys)
    export = words.add_parser("export")
    export.add_argument("--node")
    export.set_defaults(act=_export)
    words.add_parser("checkpoint").set_defaults(act=_checkpoint)


def _verify(given: argparse.Namespace) -> None:
    ledger, keys = _ledger(), wiring().trusted_keys()
    if given.checkpoint is None:
        problems = procedure.verify(ledger, wiring().store, keys, since=EVER if given.all else None)
        against = f"{len(ledger.checkpoints())} checkpoints"
    else:
        document = json.loads(given.checkpoint.read_text(encoding="utf-8"))
        problems = (*ledger.verify_audit(), *procedure.against(ledger, document, keys))
        against = f"checkpoint {document.get('number')} in {given.checkpoint}"
    if problems:
        print("\n".join(problems))
        raise Refused(f"The audit does not hold in {len(problems)} places: compare them with the ledger's backups.")
    held = "their signatures hold" if given.all else "its signature holds"
    signed = held if keys else "without looking at its signature: no public key is known here"
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


def _keys(given: argparse.Namespace) -> None:
    """Print all keys, the present one among them; `--add` writes them into the file, whole or not at all."""
    known = wiring().trusted_keys(new_file=given.add)
    if known is None:
        raise Permanent("No public key is known here: add the connection nodeworthy_signing or set NODEWORTHY_KEYS.")
    text = json.dumps(known.document(), indent=2) + "\n"
    if not given.add:
        sys.stdout.write(text)
        return
    path = Path(setting("KEYS"))
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    print(f"{path} holds {len(known.document()['keys'])} public keys.")
