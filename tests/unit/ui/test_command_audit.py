"""`nodeworthy audit` and `nodeworthy incident`: what an operator sees and what the exit code says."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.ui.command import main
from nodeworthy.wiring import wiring

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the URL of a ledger with one node, its evidence store and its signing key."""
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    key = {"conn_type": "generic", "login": "key-1", "password": base64.b64encode(b"k" * 32).decode()}
    monkeypatch.setenv("NODEWORTHY_LEDGER_URL", address)
    monkeypatch.setenv("NODEWORTHY_EVIDENCE", f"file://{tmp_path / 'evidence'}")
    monkeypatch.setenv("AIRFLOW_CONN_NODEWORTHY_SIGNING", json.dumps(key))
    wiring.cache_clear()
    assert main(["ledger", "upgrade"]) == 0
    wiring().ledger.import_fleet([FleetNode("n1", "SN1", "h200", "pool-a", "r1", 1, BmcAddress("https://bmc"))])
    yield address
    wiring.cache_clear()


def tamper(url: str, statement: str) -> None:
    """Reach past the ledger."""
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def test_an_audit_that_holds_says_against_what(url: str, capsys: Captured) -> None:
    """Chains, checkpoints and the signature are named; the exit code is 0."""
    assert main(["audit", "checkpoint"]) == 0
    assert main(["audit", "verify"]) == 0
    told = capsys.readouterr().out
    assert "Checkpoint 1 of 1 audit chains with 1 rows" in told
    assert "All 1 audit chains hold, also against 1 checkpoints (its signature holds)." in told


def test_a_rotated_key_is_kept_in_the_file_of_keys(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """`keys --add` before a rotation keeps the old public key; without the file the old checkpoint proves nothing."""
    monkeypatch.setenv("NODEWORTHY_KEYS", str(tmp_path / "keys.json"))
    assert main(["audit", "keys", "--add"]) == 0
    assert main(["audit", "checkpoint"]) == 0
    key = {"conn_type": "generic", "login": "key-2", "password": base64.b64encode(b"n" * 32).decode()}
    monkeypatch.setenv("AIRFLOW_CONN_NODEWORTHY_SIGNING", json.dumps(key))
    wiring.cache_clear()
    assert main(["audit", "verify"]) == 0
    assert main(["audit", "checkpoint"]) == 0
    assert main(["audit", "verify", "--all"]) == 0
    assert "against 2 checkpoints (their signatures hold)." in capsys.readouterr().out
    assert main(["audit", "keys"]) == 0
    shown = capsys.readouterr().out
    assert sorted(json.loads(shown[shown.index("{") :])["keys"]) == ["key-1", "key-2"]
    monkeypatch.delenv("NODEWORTHY_KEYS")
    assert main(["audit", "verify", "--all"]) == 1
    assert "checkpoint 1 proves nothing: the key key-1 is unknown (known: key-2)" in capsys.readouterr().out


def test_an_audit_that_does_not_hold_fails(url: str, capsys: Captured) -> None:
    """Each broken place is a line, the last line says how many and what to do, and the exit code is 1."""
    assert main(["audit", "checkpoint"]) == 0
    tamper(url, "UPDATE audit SET action = 'dreamed'")
    assert main(["audit", "verify"]) == 1
    told = capsys.readouterr()
    assert "audit row 1 of SN1 was changed after it was written" in told.out
    assert "The audit does not hold in" in told.err


def test_a_copy_of_a_checkpoint_finds_what_the_ledger_forgot(url: str, tmp_path: Path, capsys: Captured) -> None:
    """With the table of checkpoints emptied and the tail cut off, a copy kept elsewhere still shows it."""
    assert main(["audit", "checkpoint"]) == 0
    (written,) = (tmp_path / "evidence" / "audit").iterdir()
    for statement in (
        "DELETE FROM checkpoints",
        "DELETE FROM audit",
        "UPDATE nodes SET audit_sequence = 0, audit_head = ''",
    ):
        tamper(url, statement)
    assert main(["audit", "verify", "--checkpoint", str(written)]) == 1
    assert "had 1 rows at the checkpoint and does not reach them" in capsys.readouterr().out


def test_the_export_is_json_lines(url: str, capsys: Captured) -> None:
    """One object a line, its detail readable."""
    assert main(["audit", "export", "--node", "n1"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert (row["node"], row["sequence"], row["detail"]["name"]) == ("SN1", 1, "n1")


def test_an_incident_that_does_not_exist_is_refused(url: str, capsys: Captured) -> None:
    """Nothing is listed, and ending number 7 says that there is none."""
    assert main(["incident", "list"]) == 0
    assert main(["incident", "absences"]) == 0
    clear = ["incident", "clear", "7", "--why", "looked at it"]
    assert main([*clear, "--break-glass", "operator"]) == 1
    assert "There is no incident 7" in capsys.readouterr().err
    assert main(clear) == 1
    assert "Nobody knows who you are" in capsys.readouterr().err


def test_a_node_that_is_not_out_is_replaced_by_nobody(url: str, capsys: Captured) -> None:
    """The sentence says so; without a name nothing is asked of the ledger."""
    replace = ["incident", "replace", "n1", "--by", "n1", "--why", "the spare serves"]
    assert main([*replace, "--break-glass", "operator"]) == 1
    assert "n1" in capsys.readouterr().err
    assert main(replace) == 1
    assert "Nobody knows who you are" in capsys.readouterr().err


def test_who_breaks_the_glass_is_named_and_has_a_role(url: str, capsys: Captured) -> None:
    """A hold on the ledger itself bears the person and that nobody proved it; a name without a row is refused."""
    hold = ["hold", "n1", "--why", "smoke", "--break-glass"]
    assert main([*hold, "mallory"]) == 1
    assert "mallory stands in no row of include/roles.yaml" in capsys.readouterr().err
    assert main([*hold, "operator"]) == 0
    (held,) = wiring().ledger.holds("n1")
    assert held.who.startswith("operator (break glass, system user ")
    assert main(["release", "n1", "--break-glass", "operator"]) == 0
    assert wiring().ledger.holds("n1") == ()
