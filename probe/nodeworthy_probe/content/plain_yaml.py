"""The YAML that kubectl prints: blocks of mappings, lists and plain or quoted words, no more.

Flow collections, anchors and folded text are no part of it; a line that does not fit is counted,
and the caller decides what that means. The probe has no YAML library and needs none for this.
"""

from __future__ import annotations

import re
from typing import Any

_PAIR = re.compile(r"""^(?P<key>"[^"]*"|'[^']*'|[^\s:#][^:]*?)\s*:(?:\s+(?P<value>.*))?$""")


def load(text: str) -> tuple[Any, list[str]]:
    """The document, and the lines that could not be read."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("#") and line != "---"]
    reader = _Reader(kept)
    document = reader.block(0)
    return document, [*reader.torn, *kept[reader.place :]]


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.place = 0
        self.torn: list[str] = []

    def _depth(self) -> int:
        line = self.lines[self.place]
        return len(line) - len(line.lstrip(" "))

    def block(self, least: int) -> Any:
        """What stands at the next depth, if that is at least ``least``."""
        if self.place >= len(self.lines) or self._depth() < least or least > 60:
            return None
        depth = self._depth()
        if self.lines[self.place].lstrip().startswith(("- ", "-\n")) or self.lines[self.place].strip() == "-":
            return self._list(depth)
        return self._mapping(depth)

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while self.place < len(self.lines) and self._depth() == depth and self.lines[self.place].lstrip()[:1] == "-":
            inner = self.lines[self.place].lstrip()[1:]
            if not inner.strip():
                self.place += 1
                items.append(self.block(depth + 1))
            elif _PAIR.match(inner.strip()):
                self.lines[self.place] = " " * (depth + 1) + inner
                items.append(self._mapping(self._depth()))
            else:
                self.place += 1
                items.append(_scalar(inner.strip()))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        while self.place < len(self.lines) and self._depth() == depth:
            line = self.lines[self.place].strip()
            found = _PAIR.match(line)
            if found is None:
                if line.startswith("-"):
                    break
                self.torn.append(line)
                self.place += 1
                continue
            self._pair(found["key"].strip("\"'"), found["value"], depth, pairs)
        return pairs

    def _pair(self, key: str, value: str | None, depth: int, pairs: dict[str, Any]) -> None:
        if key in pairs:
            self.torn.append(f"{key} is there twice")
        self.place += 1
        if value in (None, "", "|", "|-", ">", ">-"):
            # kubectl prints a list at the depth of its key
            is_list = self.place < len(self.lines) and self.lines[self.place].lstrip().startswith("- ")
            pairs[key] = self.block(depth if is_list else depth + 1)
        else:
            pairs[key] = _scalar(str(value))
            while self.place < len(self.lines) and self._depth() > depth:
                self.place += 1  # a plain word that was wrapped


def _scalar(text: str) -> Any:
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return {"true": True, "false": False, "null": None}.get(text, text)
