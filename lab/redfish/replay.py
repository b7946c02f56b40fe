"""A BMC made of captures (lab/truth/captures.py): it answers what was captured, and nothing can be changed."""

from __future__ import annotations

from pathlib import Path

from lab.redfish import errors
from lab.redfish.routes import Answer
from lab.truth.captures import load_bundle


def answer(source: Path, method: str, path: str) -> Answer:
    """The captured body of a path below the service root: 404 if there is none, 405 for anything but a read."""
    if method not in ("GET", "HEAD"):
        raise errors.not_allowed(method, "GET, HEAD")
    body = load_bundle(source).get(path)
    if body is None:
        raise errors.not_found("/redfish/v1/" + path)
    return Answer(200, body)
