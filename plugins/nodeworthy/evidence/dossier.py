"""The dossier: the evidence of one judgement as files, and the manifest that makes any change visible.

The manifest lists every file with its SHA-256 and size. Its own hash stands in the qualification and the certificate,
so neither a file nor the manifest can be removed or changed without being noticed. Verifying needs nothing but a way
to read bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference

DOSSIER_SCHEMA = "nodeworthy.dossier/1"
MANIFEST = "manifest.json"
PAGE = "page.html"
"""What an operator opens; it lies beside the manifest."""
VERDICT = "verdict.json"
BUNDLE = "bundle.tar.gz"
"""The raw outputs. They lie one folder above the files of a judgement, because several may stand on them."""
NEEDED = frozenset({"plan.json", "result.json", "validation.json", "suite.json", "baselines.json", VERDICT})
"""What every dossier holds, besides the raw outputs in its bundle."""
_ROW = frozenset({"name", "path", "sha256", "size_bytes"})

Reader = Callable[[str], bytes | None]
"""Reads a file of the evidence store by path; None when it is not there."""


def folder_of(bundle: EvidenceReference) -> str:
    """Return the folder of a result's evidence: where its raw outputs lie, with one folder per judgement below."""
    return str(PurePosixPath(bundle.path).parent)


def manifest_document(verdict: Mapping[str, Any], files: Mapping[str, EvidenceReference]) -> dict[str, Any]:
    """Return the manifest of a dossier's files, by name, with the verdict's own words on top."""
    shown = ("node", "serial", "sku", "episode", "scope", "suite", "simulated", "verdict", "sentence")
    return {
        "schema": DOSSIER_SCHEMA,
        **{key: verdict[key] for key in shown},
        "files": [
            {"name": name, "path": file.path, "sha256": file.sha256, "size_bytes": file.size_bytes}
            for name, file in sorted(files.items())
        ],
    }


def verify(content: bytes, reader: Reader) -> tuple[str, ...]:
    """Return one sentence per thing that is wrong with a dossier, from its manifest's bytes; nothing when it is whole.

    No byte of the manifest is free: it must be the one that the verdict and the files give.
    """
    manifest = manifest_of(content)
    if manifest is None:
        return (f"The manifest is no {DOSSIER_SCHEMA}: the dossier cannot be verified; restore it from its copy.",)
    names = {file["name"] for file in manifest["files"]}
    problems = [f"{name} does not stand in the manifest: the dossier is incomplete." for name in sorted(NEEDED - names)]
    if BUNDLE not in names:
        problems.append("The raw outputs do not stand in the manifest: the dossier is incomplete.")
    problems += [problem for file in manifest["files"] for problem in _problems_of(file, reader)]
    if not problems and content != _as_written(manifest, reader):
        problems.append(
            "The manifest was changed: it is not the one that the verdict and the files give; restore it from its copy."
        )
    return tuple(problems)


def manifest_of(content: bytes) -> dict[str, Any] | None:
    """Return the manifest that these bytes are; None when they are none."""
    try:
        manifest = json.loads(content)
    except ValueError:
        return None
    if not isinstance(manifest, dict) or manifest.get("schema") != DOSSIER_SCHEMA:
        return None
    rows = manifest.get("files")
    return manifest if isinstance(rows, list) and all(_is_row(row) for row in rows) else None


def _is_row(row: Any) -> bool:
    whole = isinstance(row, dict) and row.keys() == _ROW
    return whole and isinstance(row["name"], str) and isinstance(row["path"], str)


def _as_written(manifest: Mapping[str, Any], reader: Reader) -> bytes:
    """Return the manifest that verdict and files give, in the folder of the verdict; empty where they give none."""
    rows = {row["name"]: row for row in manifest["files"]}
    folder = PurePosixPath(rows[VERDICT]["path"]).parent
    files = {
        name: EvidenceReference(
            str((folder.parent if name == BUNDLE else folder) / name), row["sha256"], row["size_bytes"]
        )
        for name, row in rows.items()
    }
    try:
        return canonical_json(manifest_document(json.loads(reader(rows[VERDICT]["path"]) or b""), files))
    except (ValueError, TypeError, KeyError):
        return b""


def verify_dossier(reference: EvidenceReference, reader: Reader) -> tuple[str, ...]:
    """Verify a dossier from the reference that a qualification or certificate holds, the manifest itself included."""
    content = reader(reference.path)
    if content is None:
        return (f"{reference.path} is missing: the dossier cannot be verified; restore it from its copy.",)
    if sha256_hex(content) != reference.sha256:
        return (f"{reference.path} was changed: its SHA-256 is {sha256_hex(content)}, recorded {reference.sha256}.",)
    return verify(content, reader)


def _problems_of(file: Mapping[str, Any], reader: Reader) -> list[str]:
    content = reader(file["path"])
    if content is None:
        return [f"{file['path']} is missing: the dossier holds {file['size_bytes']} bytes less than it should."]
    found = sha256_hex(content)
    if found != file["sha256"] or len(content) != file["size_bytes"]:
        return [f"{file['path']} was changed: its SHA-256 is {found}, recorded {file['sha256']}."]
    return []
