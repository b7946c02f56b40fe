"""The ground under every ledger method: one transaction, one locked node, one fence, one audit row.

SQLite runs in WAL mode with full synchronisation and begins every write with BEGIN IMMEDIATE, so that writers queue and
no read turns into a write half-way. PostgreSQL runs in READ COMMITTED and locks the node's row. Either way all writes
about one node are in one line, which is what its fencing and its hash chain rest on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event, exc

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import canonical, link
from nodeworthy.adapters.ledger_sql.together import Together
from nodeworthy.errors import NodeworthyError, Permanent, Refused, Transient
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.ports import Clock

Row = sa.Row[Any]

BUSY_TIMEOUT_SECONDS: Final = 30
"""How long a writer waits for the one before it; longer than any transaction of ours lasts by three orders."""

_LINES: Final = 0x6E6F6465
"""The first half of our advisory locks on PostgreSQL; the second is the line's number."""

_WRITING: Final = "nodeworthy_writing"

RESTED_SECONDS: Final = 10.0
"""A connection that was not used for so long is asked whether it still lives before it is used again."""

SOON: Final = timedelta(seconds=5)
"""Writers that met are out of each other's way long before."""

_nodes, _episodes, _leases = schema.nodes.c, schema.episodes.c, schema.leases.c

_LOCK = sa.select(schema.nodes).where(_nodes.name == sa.bindparam("name")).with_for_update()
_HEAD = sa.select(_nodes.audit_sequence, _nodes.audit_head).where(_nodes.serial == sa.bindparam("serial"))
_OPEN_EPISODE = sa.select(schema.episodes).where(
    _episodes.node == sa.bindparam("serial"), _episodes.closed_at.is_(None)
)
_LIVE_LEASE = sa.select(schema.leases).where(_leases.episode == sa.bindparam("episode"), _leases.ended_at.is_(None))
_FENCE = (
    sa.select(_episodes.id.label("episode"), _leases.token, _leases.run, _leases.since, _leases.expires)
    .select_from(
        schema.episodes.outerjoin(schema.leases, sa.and_(_leases.episode == _episodes.id, _leases.ended_at.is_(None)))
    )
    .where(_episodes.node == sa.bindparam("serial"), _episodes.closed_at.is_(None))
)
"""The open episode of a node and its live lease, both without a row when there is none."""

AUDIT_COLUMNS: Final = ("node", "sequence", "at", "action", "detail", "previous", "hash")
_TELL = Together(
    sa.update(schema.nodes)
    .where(_nodes.serial == sa.bindparam("of"))
    .values(audit_sequence=sa.bindparam("sequence"), audit_head=sa.bindparam("head")),
    {schema.audit: AUDIT_COLUMNS},
)


_kept: dict[str, sa.Engine] = {}
"""Engines that were made before they are needed, by their URL; none is connected, and each is taken once."""


def keep(url: str, engine: sa.Engine) -> None:
    """Keep an engine that was never connected for the next one that opens this URL, here or in a forked process."""
    _kept[url] = engine


def engine_of(url: str) -> sa.Engine:
    """Return an engine whose transactions behave as this module says, on SQLite and PostgreSQL."""
    return _kept.pop(url, None) or _new_engine(url)


def _new_engine(url: str) -> sa.Engine:
    address = sa.make_url(url)
    if address.get_backend_name() != "sqlite":
        waits = f"-c lock_timeout={BUSY_TIMEOUT_SECONDS * 1000}"
        # Ten thousand changes of one kind are sent in batches, not one by one.
        batches = {"executemany_mode": "values_plus_batch"} if address.get_driver_name() == "psycopg2" else {}
        engine = sa.create_engine(
            address,
            json_serializer=canonical,
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": 10, "options": waits},
            **batches,
        )
        ask_the_rested(engine)
        return engine
    engine = sa.create_engine(address, json_serializer=canonical, connect_args={"timeout": BUSY_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def ask_the_rested(engine: sa.Engine, rested_seconds: float = RESTED_SECONDS) -> None:
    """Ask a connection that rested so long whether it still lives, and have a dead one replaced before it is used."""

    def used(_connection: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    def ask(connection: Any, record: Any, _proxy: object) -> None:
        if time.monotonic() - record.info.get("used", math.inf) < rested_seconds:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise exc.DisconnectionError from error

    event.listen(engine, "checkin", used)
    event.listen(engine, "checkout", ask)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not begin transactions by itself: _begin_sqlite says which kind.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get(_WRITING, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


class Store:
    """Connection, transaction, lock, fence and audit; the parts of the ledger build on it."""

    def __init__(
        self, url: str, clock: Clock, lifecycle: Lifecycle, policies: Callable[[str], Policy] | None = None
    ) -> None:
        self._engine = engine_of(url)
        self._clock = clock
        self._lifecycle = lifecycle
        self._policies = policies

    @property
    def engine(self) -> sa.Engine:
        """The way to the database, for what is not said by a method."""
        return self._engine

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with _sentences(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with _sentences(), self._engine.connect().execution_options(**{_WRITING: False}) as connection:
            yield connection

    def _policy(self, pool: str) -> Policy | None:
        """Return a pool's policy; None when the ledger was opened without them, and then nothing voluntary begins."""
        return None if self._policies is None else self._policies(pool)

    def _line(self, connection: sa.Connection, line: int) -> None:
        """Stand in a line of writers until the transaction ends. On SQLite every writer stands in one already."""
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LINES, line)))

    def _serial(self, connection: sa.Connection, name: str) -> str:
        """Return a node's serial. Raises Refused for an unknown name."""
        serial = connection.scalar(sa.select(schema.nodes.c.serial).where(schema.nodes.c.name == name))
        if serial is None:
            raise Refused(
                f"The ledger knows no node {name}: correct the name or import the fleet manifest that declares it."
            )
        return str(serial)

    def _locked(self, connection: sa.Connection, name: str) -> Row:
        """Return a node's row, locked until the transaction ends. Raises Refused for an unknown name."""
        row = connection.execute(_LOCK, {"name": name}).first()
        if row is None:
            self._serial(connection, name)
            raise Transient(f"{name} was renamed while it was read: try again.", SOON)
        return row

    def _open_episode(self, connection: sa.Connection, serial: str) -> Row | None:
        return connection.execute(_OPEN_EPISODE, {"serial": serial}).first()

    def _live_lease(self, connection: sa.Connection, episode: int) -> Row | None:
        return connection.execute(_LIVE_LEASE, {"episode": episode}).first()

    def _fenced(self, connection: sa.Connection, lease: Lease) -> Row:
        """Lock the node and let only the live lease of its open episode through. Raises Refused for any other."""
        node = self._locked(connection, lease.node)
        # After the lock and not with it: whoever waited for the lock must see what its holder wrote.
        live = connection.execute(_FENCE, {"serial": node.serial}).first()
        if live is None or live.episode != lease.episode:
            now = "has none open" if live is None else f"is in episode {live.episode}"
            raise Refused(f"{lease.node}: episode {lease.episode} has ended and the node {now}: take a new lease.")
        if live.token != lease.token:
            holder = "nobody holds it" if live.token is None else f"{live.run} took it at {live.since:%H:%M:%S} UTC"
            raise Refused(
                f"{lease.node}: {lease.run} lost its lease of episode {lease.episode}, {holder}: stop this run."
            )
        if live.expires <= self._clock.now():
            raise Refused(
                f"{lease.node}: the lease of {lease.run} expired at {live.expires:%H:%M:%S} UTC: renew it first."
            )
        return node

    def _update_node(self, connection: sa.Connection, node: Row, values: Mapping[str, Any]) -> None:
        """Write a node's row if it is still the one that was read."""
        table = schema.nodes
        changed = connection.execute(
            sa.update(table)
            .where(table.c.serial == node.serial, table.c.row_version == node.row_version)
            .values(row_version=node.row_version + 1, **values)
        )
        if changed.rowcount != 1:
            raise Transient(f"{node.name} was changed by somebody else in between: try again.", SOON)

    def _audit(self, connection: sa.Connection, serial: str, action: str, detail: Mapping[str, Any]) -> None:
        """Append one row to a locked node's chain, in the transaction of what it tells."""
        head = connection.execute(_HEAD, {"serial": serial}).one()
        row = link(serial, head.audit_sequence + 1, self._clock.now(), action, detail, head.audit_head)
        _TELL.write(connection, {schema.audit: row}, {"of": serial, "sequence": row["sequence"], "head": row["hash"]})


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn the database's errors into ours, with the cause chained."""
    try:
        yield
    except exc.IntegrityError as error:
        raise Transient(f"Two writers met in the ledger ({_first_line(error)}): try again.", SOON) from error
    except exc.StatementError as error:
        raise _ours(error) from error
    except ValueError as error:
        # A driver's own complaint about a text that no database can hold: half a character, or a NUL on PostgreSQL.
        raise Permanent(f"The ledger cannot store this text ({error}): find where it was read and clean it.") from error


def _ours(error: exc.StatementError) -> NodeworthyError:
    if isinstance(error.orig, NodeworthyError):
        return error.orig
    if any(sign in str(error.orig) for sign in ("no such table", "no such column", "does not exist")):
        return Permanent("The ledger's database lacks this version's tables: upgrade it before starting a run.")
    if isinstance(error, exc.OperationalError):
        return Transient(f"The ledger's database did not answer in time ({_first_line(error)}): try again.")
    return Permanent(f"The ledger's database refused a statement ({_first_line(error)}): report this as an error.")


def _first_line(error: exc.StatementError) -> str:
    return str(error.orig).strip().partition("\n")[0]
