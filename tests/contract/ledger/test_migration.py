"""Migrations: from nothing to this version, twice, from two processes at once, and the same tables as the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from nodeworthy.adapters.ledger_sql import upgrade
from nodeworthy.adapters.ledger_sql.schema import metadata
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.errors import Permanent

from tests.contract.ledger.support import Bench, node

PLUGINS = Path(__file__).parents[3] / "plugins"


def test_empty_database_becomes_a_ledger(empty_url: str) -> None:
    """After the upgrade a fleet can be imported; a second upgrade changes nothing and keeps it."""
    upgrade(empty_url)
    bench = Bench(empty_url)
    bench.ledger.import_fleet([node("n1")])
    upgrade(empty_url)
    assert [record.node.name for record in bench.ledger.nodes()] == ["n1"]
    bench.ledger.close()


def test_migrated_tables_are_those_of_the_code(empty_url: str) -> None:
    """Alembic finds no difference between the migrated database and the schema."""
    upgrade(empty_url)
    engine = engine_of(empty_url)
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        guarded = {index["name"] for index in sa.inspect(connection).get_indexes("episodes") if index["unique"]}
    engine.dispose()
    assert differences == []
    assert guarded == {"uq_episodes_open"}


def test_two_upgrades_at_once_make_one_ledger(empty_url: str) -> None:
    """Two processes that start on an empty database both succeed."""
    script = "import sys; from nodeworthy.adapters.ledger_sql import upgrade; upgrade(sys.argv[1])"
    command = [sys.executable, "-c", script, empty_url]
    started = [subprocess.Popen(command, env={"PYTHONPATH": str(PLUGINS)}, stderr=subprocess.PIPE) for _ in range(2)]
    for process in started:
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0, error.decode()


def test_a_database_without_tables_says_what_to_do(empty_url: str) -> None:
    """A ledger that was never upgraded refuses with the next step."""
    bench = Bench(empty_url)
    with pytest.raises(Permanent, match="upgrade it before starting a run"):
        bench.ledger.nodes()
    bench.ledger.close()


def test_using_the_ledger_does_not_import_alembic() -> None:
    """A task that only uses the ledger does not pay for the migrations' library."""
    script = "import sys, nodeworthy.adapters.ledger_sql; sys.exit('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(PLUGINS)}, timeout=60, check=False)
    assert done.returncode == 0
