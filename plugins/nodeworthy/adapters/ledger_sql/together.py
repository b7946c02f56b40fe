"""Several new rows and one change in one round trip: one statement on PostgreSQL, one after the other on SQLite.

PostgreSQL runs an INSERT inside a WITH of the UPDATE as part of it: what belongs together is sent together. SQLite has
no such WITH, and no round trip to save. Statements are built once: to build one costs as much as to run it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import sqlalchemy as sa


class Together:
    """A change of one row, and a row for each of some tables. Names of bound values: `<table>_<column>`."""

    all: ClassVar[list[Together]] = []

    def __init__(self, change: sa.Update, new: Mapping[sa.Table, tuple[str, ...]]) -> None:
        """`new` names the columns that are written, by table."""
        self._change = change
        self._inserts = [_insert(table, columns) for table, columns in new.items()]
        self.whole = change.add_cte(*(one.cte(f"new_{number}") for number, one in enumerate(self._inserts)))
        self.all.append(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values that come with the whole, in order."""
        return tuple(sorted(self.whole.compile().params))

    def write(self, connection: sa.Connection, rows: Mapping[sa.Table, Mapping[str, Any]], change: Any) -> int:
        """Write the rows and the change; return how many rows the change met."""
        named = {table: {f"{table.name}_{key}": value for key, value in row.items()} for table, row in rows.items()}
        if connection.dialect.name == "postgresql":
            values = {key: value for row in named.values() for key, value in row.items()}
            return connection.execute(self.whole, {**values, **change}).rowcount
        for insert, row in zip(self._inserts, named.values(), strict=True):
            connection.execute(insert, row)
        return connection.execute(self._change, change).rowcount


def _insert(table: sa.Table, columns: tuple[str, ...]) -> sa.Insert:
    bound = {name: sa.bindparam(f"{table.name}_{name}", type_=table.c[name].type) for name in columns}
    return sa.insert(table).values(**bound).inline()
