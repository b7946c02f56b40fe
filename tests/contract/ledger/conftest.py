"""Databases for the ledger's contract: a copy of a migrated SQLite file, and of a migrated PostgreSQL database."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from nodeworthy.adapters.ledger_sql import upgrade

from stack.postgres import binaries, server
from tests.contract.ledger.support import Bench

BACKENDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres_query() -> Iterator[str]:
    """Run a private PostgreSQL for the session; skip where there is none."""
    folder = binaries()
    if folder is None:
        pytest.skip("no PostgreSQL server here: install Debian's package `postgresql` to run these tests on it too")
    with server(folder) as query:
        yield query


@pytest.fixture(scope="session")
def new_postgres(postgres_query: str) -> Callable[[str], str]:
    """Return a function that makes a database from a template and gives its URL."""
    numbers = count(1)

    def make(template: str) -> str:
        name = f"ledger_{next(numbers)}"
        admin = sa.create_engine(_postgres_url("postgres", postgres_query), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
        admin.dispose()
        return _postgres_url(name, postgres_query)

    return make


@pytest.fixture(scope="session")
def migrated_postgres(new_postgres: Callable[[str], str]) -> str:
    """Migrate one PostgreSQL database, the template of all others; gives its name."""
    url = new_postgres("template0")
    upgrade(url)
    return str(sa.make_url(url).database)


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrate one SQLite file, the template of all others."""
    path = tmp_path_factory.mktemp("ledger") / "template.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(params=BACKENDS)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a database without tables, on each backend."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    make: Callable[[str], str] = request.getfixturevalue("new_postgres")
    return make("template0")


@pytest.fixture(params=BACKENDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Give a bench on each backend."""
    if request.param == "sqlite":
        path = tmp_path / "ledger.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), path)
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("new_postgres")(request.getfixturevalue("migrated_postgres"))
    made = Bench(url)
    yield made
    made.ledger.close()


def _postgres_url(database: str, query: str) -> str:
    return f"postgresql+psycopg2://nodeworthy@/{database}{query}"
