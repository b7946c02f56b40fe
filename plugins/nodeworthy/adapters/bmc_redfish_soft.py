"""Reads of what a BMC may well not serve: each path once in a session, and any answer but 200 is a gap in words.

Sources: DMTF DSP0266 ($expand, `Members@odata.nextLink`).
"""

from __future__ import annotations

from collections.abc import Callable

from nodeworthy.adapters.bmc_redfish_tree import Resource, identity, part

Ask = Callable[[str], tuple[int, Resource]]
"""Read one path: status and body. Raises only when the BMC is silent, busy, or no longer knows the session."""

OK = 200
EXPAND = "?$expand=.($levels=1)"


class SoftReader:
    """One session's soft reads. `expands` lets a collection come with its members in one request."""

    def __init__(self, ask: Ask, *, expands: bool) -> None:
        self._ask = ask
        self._expands = expands
        self._answers: dict[str, tuple[int, Resource]] = {}

    def ask(self, path: str) -> tuple[int, Resource]:
        """Return status and body, from memory when the path was asked for before."""
        key = path.rstrip("/")
        if key not in self._answers:
            self._answers[key] = self._ask(path)
        return self._answers[key]

    def resource(self, path: str, gaps: list[str]) -> Resource:
        """Return a resource; empty, and a gap, when it is not served. An empty path is no gap: nobody announced it."""
        if not path:
            return {}
        status, body = self.ask(path)
        if status != OK:
            gaps.append(f"{path} answers {status}")
            return {}
        return body

    def members(self, path: str, gaps: list[str], *, most_single_reads: int, most_pages: int) -> list[Resource]:
        """Return a collection's members in full; what is bounded away or not served is a gap."""
        if not path:
            return []
        rows = self._rows(path, gaps, most_pages)
        found: list[Resource] = []
        left = most_single_reads
        for row in rows:
            if len(row) > 1:
                found.append(row)
            elif left > 0:
                left -= 1
                body = self.resource(identity(row), gaps)
                found.extend([body] if body else [])
        unread = sum(len(row) == 1 for row in rows) - most_single_reads
        if unread > 0:
            gaps.append(f"{path} lists {len(rows)} members as links and {unread} of them were not read")
        return found

    @property
    def expands(self) -> bool:
        """Whether a collection may be asked for with its members."""
        return self._expands

    def _rows(self, path: str, gaps: list[str], most_pages: int) -> list[Resource]:
        status, page = self.ask(path + EXPAND) if self._expands else (0, {})
        if status != OK:
            status, page = self.ask(path)
        if status != OK or not isinstance(page.get("Members"), list):
            gaps.append(f"{path} answers {status} without members")
            return []
        rows = _identified(page)
        for _ in range(most_pages - 1):
            following = part(page, "Members@odata.nextLink") or part(page, "@odata.nextLink")
            if not isinstance(following, str) or not following:
                return rows
            page = self.resource(following, gaps)
            rows += _identified(page)
        if part(page, "Members@odata.nextLink"):
            gaps.append(f"{path} has more than {most_pages} pages and {len(rows)} members were read")
        return rows


def _identified(page: Resource) -> list[Resource]:
    members = page.get("Members")
    return [row for row in members if identity(row)] if isinstance(members, list) else []
