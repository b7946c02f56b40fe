"""The command line: what an operator asks of the ledger without opening the UI.

ledger upgrade            bring the ledger's schema to the installed version; ledger backup|restore FILE
fleet import FILE         import a fleet manifest
node NAME                 print the life of a node as a timeline; notices prints what waits for a person
reidentify OLD NEW        ask for another chassis where a node stood; reidentify OLD --approve|--refuse answers
hold NODE --why WHY       keep automation (and admission) off a node; release NODE ends it
approve [NODE]            list what waits for an answer, and answer; observed: what policy would have done
audit verify|export       check the audit, or write it as JSON lines
incident list|clear       what the brake holds for, and its end by a person; incident absences|replace: who is out
documents                 write the generated documents
evidence verify PATH      check a dossier or a certificate offline; evidence export NODE makes the archive for a vendor
parse KIND FILE           what a tool's output says, with a verdict by its content; explain KIND CODE: what a code means
suite NAME                what a suite runs, expects and costs; suites tells of all of them what they cost
lemons                    parts and places with more faults than chance allows, by serial
select --gpu-hours N      which node gets which suite, why, and the request that carries it out
baselines list [SKU]      versions of learnt baselines; baselines withdraw SKU NUMBER --why WHY takes one back
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from nodeworthy.errors import NodeworthyError
from nodeworthy.ui import (
    command_approve,
    command_audit,
    command_cabling,
    command_evidence,
    command_fleet,
    command_hold,
    command_incident,
    command_ledger,
    command_node,
    command_observed,
    command_parse,
    command_reidentify,
    command_suites,
)
from nodeworthy.wiring import REPOSITORY, wiring


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 1 and one sentence on standard error when it is refused."""
    given = _parser().parse_args(arguments)
    act: Callable[[argparse.Namespace], None] = given.act
    try:
        act(given)
    except NodeworthyError as error:
        print(error.sentence, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nodeworthy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command_ledger.add(commands)
    fleet = commands.add_parser("fleet")
    fleet.add_argument("what", choices=["import"])
    fleet.add_argument("file")
    fleet.set_defaults(act=_import)
    command_node.add(commands)
    command_hold.add(commands)
    command_reidentify.add(commands)
    command_approve.add(commands)
    command_observed.add(commands)
    command_audit.add(commands)
    command_incident.add(commands)
    commands.add_parser("documents").set_defaults(act=_documents)
    command_evidence.add_commands(commands)
    command_suites.add_commands(commands)
    command_parse.add_commands(commands)
    command_cabling.add_commands(commands)
    command_fleet.add_commands(commands)
    return parser


def _import(given: argparse.Namespace) -> None:
    made = wiring()
    changes = made.ledger.import_fleet(made.library.fleet(given.file))
    print("\n".join(changes) or "The ledger knows all of it already.")


def _documents(_: argparse.Namespace) -> None:
    from nodeworthy.lifecycle.diagram import document
    from nodeworthy.lifecycle.policy import Policy

    library = wiring().library
    target = Path(REPOSITORY / "docs" / "lifecycle.md")
    target.write_text(document(library.lifecycle(), Policy.from_document(library.policy("default"))))
    print(f"Wrote {target.name}.")
