"""What makes any file doubtful, whatever its kind: words that are no numbers, lines written twice.

Logs are open stretches in which both may be harmless; they have their own readers' rules.
"""

from __future__ import annotations

import re
from itertools import pairwise

from .sheet import Sheet

_LOGS = frozenset({"dmesg", "fabric-manager"})
_REPEATING = frozenset({"gpu-burn", "perftest", *_LOGS})
_NOT_A_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:nan|NaN|NAN|Infinity|[-+]inf)(?![A-Za-z_])")
_NOISE = re.compile(
    r"^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ "
    r"\S+:|(?:INFO|WARN|WARNING|DEBUG|NOTICE)\b(?!: infoROM)|"
    r"Forwarding from |Handling connection for |[EIW]\d{4} \d\d:)[^\n]*\n",
    re.MULTILINE,
)
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d) ?", re.MULTILINE)
# In a text that other programs write into as well, only the tool's own lines say something when they are there twice.
_OWN = {
    "nccl-tests": re.compile(r"^\s*(?:#|\d)"),
    "hpl": re.compile(r"^(?:W[RC]\d|T/V|\|\||Finished|Column=|[A-Z0-9]+ +:)|tests (?:completed|skipped)"),
}
_NOT_STARTED = re.compile(
    r"^.{0,200}(?:command not found|error while loading shared libraries: .*|: Permission denied|"
    r"cannot execute binary file.*|Exec format error|[Uu]nrecognized option .*|invalid option -- .*|"
    r"Segmentation fault(?: \(core dumped\))?|Killed|Operation not permitted)$",
    re.MULTILINE,
)
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_TELLING = re.compile(r"^(?=.*\d)(?=.*[A-Za-z])|^(?:[^A-Za-z]*[A-Za-z]){6}")
_ONLY_A_VALUE = re.compile(r'^\s*"[^"]*",?$|^Waived')


def guard(kind: str, text: str, sheet: Sheet) -> None:
    """Add the notes."""
    if kind not in _LOGS and (found := _NOT_A_NUMBER.search(text)):
        line = text[text.rfind("\n", 0, found.start()) + 1 :].split("\n", 1)[0]
        sheet.note("value/not-a-number", "file", line.strip()[:120])
    measured = any(row.value for row in sheet.rows)
    if kind not in _LOGS and not measured and (found := _NOT_STARTED.search(text)):
        sheet.note("tool/failed", "file", found[0])
    if kind in _REPEATING:
        return
    pairs = (first for first, second in pairwise(text.splitlines()) if first == second)
    own = _OWN.get(kind, _TELLING)
    twice = [line for line in pairs if _TELLING.match(line) and own.search(line) and not _ONLY_A_VALUE.match(line)]
    if twice:
        sheet.note("document/duplicate", "file", f"a line is there twice: {twice[0].strip()[:100]}")


def without_noise(kind: str, text: str) -> str:
    """The text without trailing spaces and without what some other program logged between its lines."""
    if kind in _LOGS:
        return text
    if len(_STAMP.findall(text)) > text.count("\n") * 0.8:
        text = _STAMP.sub("", text)  # kubectl logs --timestamps and the like stamp every line
    return _TRAILING.sub("", _NOISE.sub("", text))


def torn_end(text: str, sheet: Sheet) -> None:
    """A note if the last line has no end and ends like no other line."""
    lines = text.split("\n")
    last = lines[-1].split()
    if last and not any((len(words), words[-2:]) == (len(last), last[-2:]) for words in map(str.split, lines[:-1])):
        sheet.note("document/cut", "file", "the output stops in the middle of a line")
