"""Evidence through Airflow's ObjectStoragePath: a folder by default, an object store by URL.

An object store writes an object whole or not at all; a folder does not, so evidence in a folder is written in
`evidence_folder`'s way. Credentials come from the Airflow connection that the URL names (`s3://conn@bucket/...`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from nodeworthy.adapters.evidence_folder import FolderStore, checked, differs, proven, unusable
from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference

PAGES = "/nodeworthy/evidence"
"""Where our pages in the Airflow UI show the store."""


class ObjectStore:
    """Implements `ports.EvidenceStore` below one URL or folder.

    `airflow` returns the address of the Airflow UI, empty where there is none: a browser opens our page there, whereas
    few may open the store itself.
    """

    def __init__(self, root: str, airflow: Callable[[], str] = str) -> None:
        self._root = root.rstrip("/")
        self._airflow = airflow
        self._folder = _folder_store(root)

    def put(self, path: str, content: bytes) -> EvidenceReference:
        """Store bytes; the same bytes again are success, other bytes at the same path are Refused."""
        if self._folder is not None:
            return self._folder.put(path, content)
        target = self._at(path)
        try:
            if not target.exists():
                target.write_bytes(content)
            there = target.read_bytes()
        except OSError as error:
            raise unusable(f"{path} could not be written to {self._root}", error) from error
        if there != content:
            raise differs(path, there, content)
        return EvidenceReference(path, sha256_hex(content), len(content))

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back. Permanent when they are missing or their hash differs."""
        return proven(reference, self.read(reference.path))

    def read(self, path: str) -> bytes:
        """Read bytes of which no hash is at hand, to show them. Permanent when they are missing."""
        if self._folder is not None:
            return self._folder.read(path)
        try:
            content: bytes = self._at(path).read_bytes()
        except FileNotFoundError as error:
            raise Permanent(f"Evidence {path} is missing: restore it from its copy.") from error
        except OSError as error:
            raise unusable(f"{path} could not be read from {self._root}", error) from error
        return content

    def files(self, prefix: str) -> dict[str, int]:
        """Return the size in bytes of every file below a folder, by its path."""
        if self._folder is not None:
            return self._folder.files(prefix)
        root = self._at(".")
        try:
            found = [path for path in self._at(prefix).rglob("*") if path.is_file()]
            return {str(path.relative_to(root)): int(path.stat().st_size) for path in found}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise unusable(f"{prefix} could not be listed in {self._root}", error) from error

    def remove(self, path: str) -> None:
        """Remove one file. Absent already is success."""
        if self._folder is not None:
            self._folder.remove(path)
            return
        try:
            self._at(path).unlink(missing_ok=True)
        except OSError as error:
            raise unusable(f"{path} could not be removed from {self._root}", error) from error

    def url(self, reference: EvidenceReference) -> str:
        """Return an address that an operator can open: of the UI where it is known, else of the store."""
        ui = self._airflow().rstrip("/")
        if ui:
            return f"{ui}{PAGES}/{quote(str(checked(reference.path)))}"
        return self._folder.url(reference) if self._folder is not None else f"{self._root}/{checked(reference.path)}"

    def _at(self, path: str) -> Any:
        from airflow.sdk import ObjectStoragePath

        return ObjectStoragePath(f"{self._root}/{checked(path)}")


def _folder_store(root: str) -> FolderStore | None:
    address = urlsplit(root)
    if address.scheme in ("", "file"):
        return FolderStore(Path(unquote(address.path)))
    return None
