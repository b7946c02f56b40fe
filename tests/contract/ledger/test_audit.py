"""The audit: a chain per node that shows what was changed, removed, reordered or cut off."""

from __future__ import annotations

import hashlib

import pytest

from tests.contract.ledger.support import Bench, node


@pytest.fixture
def told(bench: Bench) -> Bench:
    """Give a bench with two nodes, one of them with a life of several rows."""
    bench.bring(bench.take("n1"), "conformant")
    bench.ledger.import_fleet([node("n2")])
    return bench


def test_an_untouched_audit_holds(told: Bench) -> None:
    """Every chain of a ledger that only the ledger wrote is whole."""
    assert told.ledger.verify_audit() == ()
    assert told.ledger.verify_audit("n1") == ()


def test_a_row_is_the_hash_of_the_row_before_and_itself(told: Bench) -> None:
    """The first row of a chain, computed by hand: SHA-256 over 64 zeros, a line end and its canonical JSON."""
    sequence, at, detail, found = told.sql("SELECT sequence, at, detail, hash FROM audit WHERE node = 'N2'")[0]
    quoted = detail.replace('"', '\\"')
    zeros = "0" * 64
    head = f'{{"action":"declared","at":"{at}","detail":"{quoted}"'
    text = f'{head},"node":"N2","previous":"{zeros}","sequence":{sequence}}}'
    assert found == hashlib.sha256(f"{zeros}\n{text}".encode()).hexdigest()


@pytest.mark.parametrize(
    ("vandalism", "words"),
    [
        ("UPDATE audit SET detail = '{}' WHERE node = 'N1' AND sequence = 2", "audit row 2 of N1 was changed"),
        ("UPDATE audit SET action = 'dreamed' WHERE node = 'N1' AND sequence = 3", "audit row 3 of N1 was changed"),
        ("UPDATE audit SET at = '2020-01-01' WHERE node = 'N1' AND sequence = 1", "audit row 1 of N1 was changed"),
        ("DELETE FROM audit WHERE node = 'N1' AND sequence = 4", "audit row 5 of N1 follows row 3"),
        ("DELETE FROM audit WHERE node = 'N1' AND sequence = 1", "audit row 2 of N1 follows row 0"),
        ("DELETE FROM audit WHERE node = 'N1' AND sequence > 5", "the audit of n1 ends at row 5 of"),
        ("DELETE FROM audit WHERE node = 'N2'", "the audit of n2 ends at row 0 of 1"),
        ("UPDATE nodes SET milestone = 'in_service' WHERE serial = 'N1'", "its audit tells conformant"),
    ],
    ids=["detail", "action", "time", "removed", "beheaded", "cut off", "emptied", "moved past"],
)
def test_vandalism_is_found(told: Bench, vandalism: str, words: str) -> None:
    """A single change by hand is found and named, and the other node's chain is not blamed."""
    told.sql(vandalism)
    problems = told.ledger.verify_audit()
    assert any(words in problem for problem in problems), problems
    other = "n2" if "N1" in vandalism else "n1"
    assert told.ledger.verify_audit(other) == ()


def test_reordered_rows_are_found(told: Bench) -> None:
    """Two rows that changed places do not continue each other."""
    for old, new in ((2, 1002), (3, 2), (1002, 3)):
        told.sql("UPDATE audit SET sequence = :new WHERE node = 'N1' AND sequence = :old", new=new, old=old)
    assert any("audit row 2 of N1" in problem for problem in told.ledger.verify_audit("n1"))


def test_heads_are_what_a_checkpoint_holds(told: Bench) -> None:
    """Each chain's length and last hash, by serial."""
    rows = told.ledger.history("n1")
    assert told.ledger.audit_heads()["N1"] == (len(rows), rows[-1]["hash"])


def test_no_token_stands_in_the_audit(told: Bench) -> None:
    """The lease's token is a secret between the ledger and its holder."""
    token = told.ledger.lease("n1", "run-1").token
    assert not any(token in row[0] for row in told.sql("SELECT detail FROM audit"))
