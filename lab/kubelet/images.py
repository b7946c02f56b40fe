"""Which container images the lab has: directories under lab/images with an image.yaml each.

An image is the host's own system plus a few directories in front of PATH; unknown names cannot be pulled.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent / "images"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """One image: name patterns, what runs by default, environment, and directories for PATH."""

    directory: Path
    names: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    def full_path(self) -> str:
        """PATH with the image's directories and this Python first."""
        return ":".join((*self.path, str(Path(sys.executable).parent), SYSTEM_PATH))


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in value or ())


def _filled(text: str, directory: Path) -> str:
    """`${IMAGE}`, `${REPOSITORY}` and `${PYTHON}` stand for paths of this machine."""
    known = {"IMAGE": str(directory), "REPOSITORY": str(ROOT.parent.parent), "PYTHON": sys.executable}
    return re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], match[0]), text)


def load_image(directory: Path) -> ContainerImage:
    """One image from its directory."""
    row = yaml.safe_load((directory / "image.yaml").read_text(encoding="utf-8"))
    environment = {str(key): _filled(str(value), directory) for key, value in (row.get("env") or {}).items()}
    paths = tuple(os.path.normpath(directory / _filled(item, directory)) for item in _words(row.get("path")))
    return ContainerImage(
        directory,
        _words(row["names"]),
        tuple(_filled(item, directory) for item in _words(row.get("entrypoint"))),
        tuple(_filled(item, directory) for item in _words(row.get("command"))),
        environment,
        paths,
    )


@cache
def all_images() -> tuple[ContainerImage, ...]:
    """Every image, the specific ones before the general ones."""
    found = [load_image(path.parent) for path in sorted(ROOT.glob("*/image.yaml"))]
    return tuple(sorted(found, key=lambda image: image.directory.name in ("base", "sleeper")))


def find_image(name: str) -> ContainerImage | None:
    """The image for a reference such as `registry/probe:1.0`, or None: it cannot be pulled."""
    bare = name.removeprefix("docker.io/").removeprefix("library/")
    for image in all_images():
        if any(fnmatch.fnmatchcase(candidate, pattern) for pattern in image.names for candidate in (name, bare)):
            return image
    return None
