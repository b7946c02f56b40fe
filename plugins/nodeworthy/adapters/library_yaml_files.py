"""Reads a YAML or JSON file and checks it against its schema; every complaint names file and line.

YAML is read as YAML 1.2 would: dates and words like `on` stay text, and a key that is written twice is an error and
not the second one's victory. JSON is read by the same parser, being a subset, so that both know their lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from nodeworthy.errors import Permanent

Path_ = tuple[str | int, ...]


class _Loader(yaml.CSafeLoader):
    """YAML's safe loader without dates, and with true and false as the only booleans."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag != "tag:yaml.org,2002:timestamp" and not (tag == "tag:yaml.org,2002:bool" and first not in "tTfF")
    ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


Stamp = tuple[int, int, int]
"""What changes when a file is written again: its inode, its size and its time in nanoseconds."""

_read: dict[tuple[Path, str], tuple[tuple[Stamp | None, Stamp | None], Any]] = {}
"""Checked documents by path and schema. A forked task inherits those that the scheduler has read."""


def read(path: Path, schemas: Path | None, schema: str = "") -> Any:
    """Return the checked document of a file, read again only when it or its schema was written since; do not change it.

    Raises Permanent with file and line when it is missing or broken.
    """
    against = schemas / f"{schema}.json" if schemas is not None and schema else None
    stamps = (_stamp(path), _stamp(against) if against else None)
    known = _read.get((path, str(against)))
    if known is None or known[0] != stamps:
        known = (stamps, _read_now(path, schemas, schema))
        _read[path, str(against)] = known
    return known[1]


def _stamp(path: Path) -> Stamp | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def _read_now(path: Path, schemas: Path | None, schema: str) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Permanent(
            f"{path} was to be read and does not exist: create it or correct the name that leads to it."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Permanent(f"{path} was to be read and cannot be: {error}.") from error
    return parse(text, path, schemas, schema)


def parse(text: str, path: Path, schemas: Path | None, schema: str = "") -> Any:
    """Return the checked document of a file's text."""
    if path.suffix == ".json":
        document, node = _json(text, path), None
    else:
        document, node = _yaml(text, path)
    if schemas is not None and schema:
        problem = problem_of(document, schemas / f"{schema}.json")
        if problem is not None:
            at = line_of(node if node is not None else yaml.compose(text, _Loader), problem.absolute_path)
            raise Permanent(f"{path}, line {at}: {phrase(problem)}; correct it by {schema}.json in {schemas}.")
    return document


def problem_of(document: Any, schema: Path) -> ValidationError | None:
    """Return what is most wrong with a document; None when it fits its schema."""
    found: ValidationError | None = best_match(_validator(schema, _stamp(schema)).iter_errors(document))
    return found


def phrase(problem: ValidationError) -> str:
    """Return one phrase: where in the document, and what is wrong there."""
    where = ".".join(str(step) for step in problem.absolute_path) or "the document"
    message = problem.message if len(problem.message) <= 200 else f"{problem.message[:200]}..."
    return f"{where}: {message}"


def line_of(node: Any, path: Iterator[str | int] | Any) -> int:
    """Return the line of what lies at `path`, or of the nearest thing around it that exists."""
    at = 1
    for step in (None, *path):
        node = node if step is None else _child(node, step)
        if node is None:
            break
        at = node.start_mark.line + 1
    return at


def line_in(path: Path, place: Path_) -> int:
    """Return the line of a file in which `place` lies: for what a reader finds wrong beyond the schema."""
    return line_of(yaml.compose(path.read_text(encoding="utf-8"), _Loader), place)


def _child(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None


def _json(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Permanent(f"{path}, line {error.lineno}: no JSON ({error.msg}); correct it there.") from error


def _yaml(text: str, path: Path) -> tuple[Any, Any]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise Permanent(f"{path}: the file is empty; write it by its schema.")
        _refuse_twice(node, path)
        return loader.construct_document(node), node
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Permanent(f"{path}, line {line}: no YAML ({error.problem}); correct it there.") from error
    finally:
        loader.dispose()


def _refuse_twice(node: Any, path: Path) -> None:
    children = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else ()
    seen: dict[str, int] = {}
    for child in children:
        if isinstance(node, yaml.MappingNode):
            key, value = child
            line = key.start_mark.line + 1
            if key.value in seen:
                raise Permanent(f"{path}, line {line}: {key.value} stands in line {seen[key.value]} already; keep one.")
            seen[str(key.value)] = line
            _refuse_twice(value, path)
        else:
            _refuse_twice(child, path)


@cache
def _validator(schema: Path, _written: Stamp | None) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
