"""`nodeworthy node`, `notices` and `ledger backup|restore`: what an operator sees and what the exit code says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from nodeworthy.adapters.ledger_sql import SqlLedger
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.records import Hold
from nodeworthy.lifecycle.upkeep import Notice
from nodeworthy.ui.command import main
from nodeworthy.wiring import wiring

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlLedger]:
    """Give a ledger with one node."""
    monkeypatch.setenv("NODEWORTHY_LEDGER_URL", f"sqlite:///{tmp_path / 'ledger.db'}")
    wiring.cache_clear()
    assert main(["ledger", "upgrade"]) == 0
    found = wiring().ledger
    assert isinstance(found, SqlLedger)
    found.import_fleet([FleetNode("n1", "SN1", "h200", "pool-a", "r1", 1, BmcAddress("https://bmc"))])
    yield found
    wiring.cache_clear()


def test_a_node_is_printed_with_what_holds_it_and_its_life(ledger: SqlLedger, capsys: Captured) -> None:
    """Where it stands, the hold, the notice, then the timeline."""
    lease = ledger.open_episode("n1", kind="onboarding", run="bring_up/x", lifetime=timedelta(hours=1))
    ledger.advance(lease, "discover", {"system_id": "1"})
    ledger.hold(Hold("n1", "ada", "vendor visit", None, "both"))
    ledger.raise_notices([Notice("deadline", "k", "n1 has stood too long.", "n1")])
    capsys.readouterr()
    assert main(["node", "n1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("n1 (serial SN1, h200): discovered since ")
    assert "held (both) by ada until released: vendor visit" in said
    assert "waits for a person: n1 has stood too long." in said
    assert "declared -> discovered by discover" in said
    assert main(["node", "n1", "--now"]) == 0
    assert "discover:" not in capsys.readouterr().out
    assert main(["notices"]) == 0
    assert "deadline: n1 has stood too long." in capsys.readouterr().out


def test_an_unknown_node_is_refused(ledger: SqlLedger, capsys: Captured) -> None:
    """One sentence, exit code 1."""
    assert main(["node", "nx"]) == 1
    assert "knows no node nx" in capsys.readouterr().err


def test_a_backup_is_restored_into_another_database(
    ledger: SqlLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Into the one that it came from it is refused; into a new one it comes back and says what to do next."""
    file = str(tmp_path / "backup")
    assert main(["ledger", "backup", file, "--portable"]) == 0
    assert main(["ledger", "restore", file]) == 1
    assert "restore into a new database" in capsys.readouterr().err
    monkeypatch.setenv("NODEWORTHY_LEDGER_URL", f"sqlite:///{tmp_path / 'new.db'}")
    wiring.cache_clear()
    assert main(["ledger", "restore", file]) == 0
    assert "every audit chain holds" in capsys.readouterr().out
    assert [record.node.name for record in wiring().ledger.nodes()] == ["n1"]
    assert main(["node", "n1"]) == 0
    assert "ledger restored" in capsys.readouterr().out
