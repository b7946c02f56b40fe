"""The port to the memory of who is out of service."""

from __future__ import annotations

from typing import Protocol


class AbsenceBook(Protocol):
    """What people say about nodes that are out of service."""

    def replace_absence(self, node: str, *, by: str, who: str, why: str) -> str:
        """End a node's absence because another node serves in its place; return one sentence.

        Raises Refused when the other one cannot: it serves in the same pool (and tenant and fabric domain, where these
        have a budget), is not out itself and replaces nobody else.
        """
