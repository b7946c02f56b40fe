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

from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference

DOSSIER_SCHEMA = "nodeworthy.dossier/1"
MANIFEST = "manifest.json"
PAGE = "page.html"
"""What an operator opens; it lies beside the manifest."""
NEEDED = frozenset({"plan.json", "result.json", "validation.json", "suite.json", "baselines.json", "verdict.json"})
"""What every dossier holds, besides the raw outputs in its bundle."""

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


def verify(manifest: Mapping[str, Any], reader: Reader) -> tuple[str, ...]:
    """Return one sentence per missing or changed file; nothing when the dossier is whole."""
    if manifest.get("schema") != DOSSIER_SCHEMA or not isinstance(manifest.get("files"), list):
        return (f"The manifest is no {DOSSIER_SCHEMA}: the dossier cannot be verified; restore it from its copy.",)
    names = {file["name"] for file in manifest["files"]}
    problems = [f"{name} does not stand in the manifest: the dossier is incomplete." for name in sorted(NEEDED - names)]
    if not any(name.endswith(".tar.gz") for name in names):
        problems.append("The raw outputs do not stand in the manifest: the dossier is incomplete.")
    problems += [problem for file in manifest["files"] for problem in _problems_of(file, reader)]
    return tuple(problems)


def verify_dossier(reference: EvidenceReference, reader: Reader) -> tuple[str, ...]:
    """Verify a dossier from the reference that a qualification or certificate holds, the manifest itself included."""
    content = reader(reference.path)
    if content is None:
        return (f"{reference.path} is missing: the dossier cannot be verified; restore it from its copy.",)
    if sha256_hex(content) != reference.sha256:
        return (f"{reference.path} was changed: its SHA-256 is {sha256_hex(content)}, recorded {reference.sha256}.",)
    return verify(json.loads(content), reader)


def _problems_of(file: Mapping[str, Any], reader: Reader) -> list[str]:
    content = reader(file["path"])
    if content is None:
        return [f"{file['path']} is missing: the dossier holds {file['size_bytes']} bytes less than it should."]
    found = sha256_hex(content)
    if found != file["sha256"] or len(content) != file["size_bytes"]:
        return [f"{file['path']} was changed: its SHA-256 is {found}, recorded {file['sha256']}."]
    return []
