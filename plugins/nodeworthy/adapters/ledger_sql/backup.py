"""Backup and restore: a SQLite ledger as a SQLite file, any ledger as JSON lines that restore into either database.

A backup is one moment: SQLite's online backup, or one snapshot transaction. JSON lines carry the schema's revision
first and the number and hash of all lines last, so that a cut-off file is refused; they are restored at that revision
and then upgraded. A restore goes into a ledger that knows no node: nothing is ever written over.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.migrate import upgrade
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.errors import Permanent, Refused

SCHEMA: Final = "nodeworthy.ledger-dump/1"
SQLITE_MAGIC: Final = b"SQLite format 3\x00"
VERSIONS: Final = "alembic_version"
_BATCH: Final = 1000


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds: rows of all tables, the schema's revision, and the hash of the file."""

    rows: int
    revision: str
    sha256: str


def back_up(url: str, path: Path, *, portable: bool = False) -> Backup:
    """Write the ledger at `url` to `path`, whole or not at all. Refused when the file is there already."""
    if path.exists():
        raise Refused(f"{path} is there already: a backup writes over nothing; choose another name.")
    beside = path.with_name(f".{path.name}.writing")
    try:
        if sa.make_url(url).get_backend_name() == "sqlite" and not portable:
            _copy_sqlite(str(sa.make_url(url).database), beside)
        else:
            _dump(url, beside)
        made = _read_back(beside)
        os.link(beside, path)
    except OSError as error:
        raise Permanent(f"The backup {path} could not be written ({error}).") from error
    finally:
        beside.unlink(missing_ok=True)
    return made


def restore(url: str, path: Path) -> Backup:
    """Bring a backup into the empty ledger at `url` and to this version's schema. Refused when it knows nodes."""
    if not path.is_file():
        raise Permanent(f"There is no backup {path}: correct the name.")
    _refuse_unless_empty(url)
    is_sqlite = _is_sqlite(path)
    if is_sqlite and sa.make_url(url).get_backend_name() != "sqlite":
        raise Refused(f"{path} is a SQLite file and the ledger is not: make a backup with --portable and restore that.")
    made = _read_back(path)
    if is_sqlite:
        _copy_sqlite(str(path), Path(str(sa.make_url(url).database)))
    else:
        upgrade(url, made.revision)
        _load(url, path)
    upgrade(url)
    return made


def _copy_sqlite(source: str, target: Path) -> None:
    with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
        there.backup(here)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def _refuse_unless_empty(url: str) -> None:
    engine = engine_of(url)
    try:
        with engine.connect() as connection:
            known = connection.scalar(sa.text("SELECT count(*) FROM nodes"))
    except sa.exc.DBAPIError:
        known = 0
    finally:
        engine.dispose()
    if known:
        raise Refused(
            f"The ledger knows {known} nodes: restore into a new database and point NODEWORTHY_LEDGER_URL at it."
        )


def _read_back(path: Path) -> Backup:
    """Read a backup through. Raises Permanent when it is broken or cut off."""
    digest = _sha256(path)
    if not _is_sqlite(path):
        *_, last = _lines(path)
        return Backup(last["rows"], last["revision"], digest)
    with closing(sqlite3.connect(path)) as there:
        (word,) = there.execute("PRAGMA integrity_check").fetchone()
        if word != "ok":
            raise Permanent(f"The backup {path} is damaged ({word}): use another one.")
        names = [name for (name,) in there.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if VERSIONS not in names:
            raise Permanent(f"{path} is a SQLite file and no ledger: use another one.")
        # The names come from the file's own catalogue.
        counts = [there.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names]  # noqa: S608
        (revision,) = there.execute(f"SELECT version_num FROM {VERSIONS}").fetchone()  # noqa: S608
        return Backup(sum(counts), revision, digest)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _dump(url: str, path: Path) -> None:
    engine = engine_of(url)
    try:
        with engine.connect() as plain, path.open("w", encoding="utf-8") as stream:
            is_sqlite = plain.dialect.name == "sqlite"
            connection = plain if is_sqlite else plain.execution_options(isolation_level="REPEATABLE READ")
            tables = _tables(connection)
            revision = str(connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(VERSIONS))))
            _write(stream, connection, tables, revision)
            stream.flush()
            os.fsync(stream.fileno())
    finally:
        engine.dispose()


def _write(stream: IO[str], connection: sa.Connection, tables: list[sa.Table], revision: str) -> None:
    digest, rows = hashlib.sha256(), 0

    def line(content: dict[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_iso) + "\n"
        digest.update(text.encode())
        stream.write(text)

    line({"schema": SCHEMA, "revision": revision, "at": datetime.now(UTC)})
    for table in tables:
        keys = list(table.primary_key.columns)
        for row in connection.execute(sa.select(table).order_by(*keys)).mappings():
            line({"table": table.name, "row": dict(row)})
            rows += 1
    stream.write(json.dumps({"rows": rows, "revision": revision, "sha256": digest.hexdigest()}) + "\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return a dump's lines with the closing one last. Raises Permanent when they are not what was written."""
    digest, rows, held = hashlib.sha256(), -1, ""
    with path.open(encoding="utf-8") as stream:
        for text in stream:
            if held:
                digest.update(held.encode())
                rows += 1
                yield json.loads(held)
            held = text
    last: dict[str, Any] = {}
    with suppress(ValueError):
        last = json.loads(held)
    if not isinstance(last, dict) or last.get("rows") != rows or last.get("sha256") != digest.hexdigest():
        raise Permanent(f"The backup {path} is cut off or was changed: use another one.")
    yield last


def _load(url: str, path: Path) -> None:
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            tables = {table.name: table for table in _tables(connection)}
            batch: list[dict[str, Any]] = []
            at = ""
            for line in _lines(path):
                name = line.get("table", "")
                if batch and (name != at or len(batch) >= _BATCH):
                    connection.execute(sa.insert(tables[at]), batch)
                    batch = []
                at = name
                if name:
                    batch.append(_typed(tables[name], line["row"]))
            _follow_sequences(connection, list(tables.values()))
    finally:
        engine.dispose()


def _tables(connection: sa.Connection) -> list[sa.Table]:
    """Return the tables as they are in this database, each behind those that it points at."""
    found = sa.MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != VERSIONS]


def _typed(table: sa.Table, row: dict[str, Any]) -> dict[str, Any]:
    times = {column.name for column in table.columns if isinstance(column.type, sa.DateTime)}
    return {
        name: datetime.fromisoformat(value) if name in times and value is not None else value
        for name, value in row.items()
    }


def _follow_sequences(connection: sa.Connection, tables: list[sa.Table]) -> None:
    """Let PostgreSQL's numbers go on behind those that were restored; SQLite does so by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        for column in table.primary_key.columns:
            sequence = connection.scalar(sa.select(sa.func.pg_get_serial_sequence(table.name, column.name)))
            highest = connection.scalar(sa.select(sa.func.max(column))) if sequence else None
            if highest is not None:
                connection.execute(sa.select(sa.func.setval(sequence, highest)))


def _iso(value: Any) -> str:
    assert isinstance(value, datetime), value
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
