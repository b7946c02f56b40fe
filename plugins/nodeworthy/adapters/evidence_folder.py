"""Evidence in a folder: write-once files, each appearing whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference

WRITING = ".writing-"
"""How the name of a file begins that is not whole yet."""


def checked(path: str) -> PurePosixPath:
    """Return a path below the store's root. Raises Refused for one that leads out of it."""
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts or "\\" in path or "\0" in path:
        raise Refused(f"{path!r} is no place for evidence: use a relative path below the store's root.")
    return parts


def differs(path: str, there: bytes, content: bytes) -> Refused:
    """Return the refusal for evidence that is there already with other bytes."""
    return Refused(
        f"Evidence {path} exists with SHA-256 {sha256_hex(there)[:12]} and was to be written with "
        f"{sha256_hex(content)[:12]}: evidence is never overwritten; find out which of the two is true."
    )


def unusable(what: str, error: OSError) -> Transient:
    """Return the error of a store that did not do what it was asked; another try may find it well again."""
    return Transient(
        f"Evidence {what} ({error}): check that the store is there, has room and may be used; then try again."
    )


def proven(reference: EvidenceReference, content: bytes) -> bytes:
    """Return bytes whose hash is the recorded one. Raises Permanent otherwise."""
    if sha256_hex(content) != reference.sha256:
        raise Permanent(
            f"Evidence {reference.path} has SHA-256 {sha256_hex(content)[:12]}, recorded {reference.sha256[:12]}: "
            "it was changed; restore it from its copy."
        )
    return content


class FolderStore:
    """Implements `ports.EvidenceStore` below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, path: str, content: bytes) -> EvidenceReference:
        """Store bytes; the same bytes again are success, other bytes at the same path are Refused."""
        target = self._root / checked(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_once(target, content)
            there = target.read_bytes()
        except OSError as error:
            raise unusable(f"{path} could not be written below {self._root}", error) from error
        if there != content:
            raise differs(path, there, content)
        return EvidenceReference(path, sha256_hex(content), len(content))

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back. Permanent when they are missing or their hash differs."""
        return proven(reference, self.read(reference.path))

    def read(self, path: str) -> bytes:
        """Read bytes of which no hash is at hand, to show them. Permanent when they are missing."""
        try:
            return (self._root / checked(path)).read_bytes()
        except (FileNotFoundError, IsADirectoryError) as error:
            raise Permanent(f"Evidence {path} is missing: restore it from its copy.") from error
        except OSError as error:
            raise unusable(f"{path} could not be read below {self._root}", error) from error

    def files(self, prefix: str) -> dict[str, int]:
        """Return the size in bytes of every file below a folder, by its path."""
        folder = self._root / checked(prefix)
        try:
            found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(WRITING)]
            return {str(path.relative_to(self._root)): path.stat().st_size for path in found}
        except OSError as error:
            raise unusable(f"{prefix} could not be listed below {self._root}", error) from error

    def remove(self, path: str) -> None:
        """Remove one file. Absent already is success."""
        try:
            (self._root / checked(path)).unlink(missing_ok=True)
        except OSError as error:
            raise unusable(f"{path} could not be removed below {self._root}", error) from error

    def url(self, reference: EvidenceReference) -> str:
        """Return an address that an operator can open."""
        return (self._root.absolute() / checked(reference.path)).as_uri()


def _write_once(target: Path, content: bytes) -> None:
    """Write beside the target, then link it there: a link never replaces a file, and a crash leaves no half one."""
    if target.exists():
        return
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=WRITING)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o644)
        with suppress(FileExistsError):
            os.link(name, target)
    finally:
        Path(name).unlink()
