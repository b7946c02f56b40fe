"""Checks a dossier, an archive or a certificate from files alone: no ledger, no store, no settings.

Three questions: is every file there and unchanged, does the verdict follow from the evidence to the byte, and (for a
certificate) does the signature fit. A dossier may lie in its place in the evidence store or in a folder of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from nodeworthy.adapters.evidence_archive import ARCHIVE_SCHEMA, INDEX
from nodeworthy.adapters.signer_ed25519 import Ed25519Keys
from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.certificate import CERTIFICATE_SCHEMA, problems_of_certificate
from nodeworthy.evidence.dossier import BUNDLE, MANIFEST, VERDICT, manifest_of, verify, verify_dossier
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.qualification.rejudge import rejudge


class OfflineEvidence:
    """One dossier's folder or manifest, one unpacked archive, or one certificate, on this machine."""

    def __init__(self, path: Path) -> None:
        self._file = path / _named(path) if path.is_dir() else path
        self._folder = self._file.parent
        self._content, self._document = _read(self._file)
        self.summary = ""

    @property
    def is_certificate(self) -> bool:
        """Whether this is a certificate rather than a dossier."""
        return self._document.get("schema") == CERTIFICATE_SCHEMA

    @property
    def is_archive(self) -> bool:
        """Whether this is the unpacked archive of a node."""
        return self._document.get("schema") == ARCHIVE_SCHEMA

    def archive(self) -> tuple[str, ...]:
        """Return one sentence per file that is missing or changed, and per dossier whose verdict does not follow."""
        shown = self._document
        hashes, gone = shown.get("sha256"), shown.get("no_longer_kept", [])
        if not isinstance(hashes, dict) or not isinstance(gone, list) or not {"node", "serial"} <= shown.keys():
            return (f"{self._file} is no index of an archive: it was changed; ask for the archive again.",)
        problems, dossiers = [], 0
        for name, expected in sorted(hashes.items()):
            place = self._folder / name
            if not place.is_file():
                problems.append(f"{name} is missing: the archive was cut; ask for it again.")
            elif sha256_hex(place.read_bytes()) != expected:
                problems.append(f"{name} was changed: its SHA-256 is not the index's {expected}.")
            elif place.name == MANIFEST and not _lacks(place, gone):
                dossiers += 1
                problems += [f"{name}: {problem}" for problem in OfflineEvidence(place).dossier()]
        lacking = f" {len(gone)} files were not kept any more when it was made." if gone else ""
        self.summary = (
            f"{len(hashes)} files of {shown['node']} ({shown['serial']}) are there and unchanged, and the "
            f"verdicts of {dossiers} dossiers follow from them to the byte.{lacking}"
        )
        return tuple(problems)

    def dossier(self) -> tuple[str, ...]:
        """Return one sentence per thing that is wrong; nothing when the dossier is whole and its verdict follows."""
        problems = verify(self._content, self.read)
        if problems:
            return problems
        files = {
            str(row["name"]): content
            for row in self._document["files"]
            if (content := self.read(row["path"])) is not None
        }
        shown = self._document
        self.summary = (
            f"{len(files)} files are there and unchanged, and the verdict follows from them to the byte.\n"
            f"{self._beside(files)}"
            f"{shown['node']} ({shown['serial']}), {shown['scope']} scope, suite {shown['suite']}: {shown['verdict']}"
            f"{' (simulated)' if shown['simulated'] else ''} - {shown['sentence']}"
        )
        return _does_not_follow(files)

    def certificate(self, keys: Ed25519Keys, now: datetime) -> tuple[str, ...]:
        """Return one sentence per reason not to trust the certificate, or a dossier of it that lies here too."""
        problems = list(problems_of_certificate(self._document, keys.check, now))
        checked = 0
        for scope, row in sorted(self._document.get("qualifications", {}).items()):
            reference = EvidenceReference(**row["dossier"])
            if self.read(reference.path) is None:
                continue
            checked += 1
            problems += [f"{scope}: {problem}" for problem in verify_dossier(reference, self.read)]
        self.summary = (
            f"The certificate of {self._document.get('node')} holds until {self._document.get('expires_at')}, signed "
            f"by key {self._document.get('key_id')}; {checked} of its dossiers lie here and are whole."
        )
        return tuple(problems)

    def read(self, path: str) -> bytes | None:
        """Read a file of the store by its path there; None where it does not lie here.

        A dossier in its place is read from there alone, one in a folder of its own from that folder (its raw outputs
        may lie one above); what a file higher up holds never stands in for one that is gone.
        """
        name = PurePosixPath(path).name
        if self._store is not None:
            candidates = [self._store / path]
        elif manifest_of(self._content) is not None:
            candidates = [self._folder / name, *([self._folder.parent / name] if name == BUNDLE else [])]
        else:
            candidates = [place / path for place in (self._folder, *self._folder.parents)]
        return next((one.read_bytes() for one in candidates if one.is_file()), None)

    @cached_property
    def _store(self) -> Path | None:
        """The folder of the evidence store in which this dossier lies in its place; None for any other."""
        manifest = manifest_of(self._content)
        rows = {} if manifest is None else {row["name"]: PurePosixPath(row["path"]) for row in manifest["files"]}
        own = self._folder.resolve()
        place = rows[VERDICT].parent.parts if VERDICT in rows else ()
        return own.parents[len(place) - 1] if place and own.parts[-len(place) :] == place else None

    def _beside(self, files: Mapping[str, bytes]) -> str:
        """Say what lies in the folder and is no part of the dossier: nothing vouches for it."""
        strange = sorted(one.name for one in self._folder.iterdir() if one.name not in {*files, MANIFEST})
        return f"No part of the dossier: {', '.join(strange)}.\n" if strange else ""


def _lacks(manifest: Path, gone: Sequence[str]) -> bool:
    """Whether a dossier names a file that retention had removed before the archive was made."""
    known = manifest_of(manifest.read_bytes())
    return known is not None and any(row["path"] in gone for row in known["files"])


def _named(folder: Path) -> str:
    """Return the file that tells what lies in a folder: a dossier's manifest, or an archive's index."""
    return MANIFEST if (folder / MANIFEST).is_file() or not (folder / INDEX).is_file() else INDEX


def _does_not_follow(files: Mapping[str, bytes]) -> tuple[str, ...]:
    again = rejudge(files)
    if again == files["verdict.json"]:
        return ()
    made, recorded = json.loads(again), json.loads(files["verdict.json"])
    if _without_words(made) == _without_words(recorded):
        return (
            "The verdict follows from the evidence in all but its sentences, which read otherwise: if another version "
            "of Nodeworthy judged it, verify it with that one; if not, the sentences were changed.",
        )
    return (f"The verdict does not follow from the evidence: judged again it is {made['verdict']}.",)


def _without_words(value: Any) -> Any:
    """Return a verdict without its sentences, which a later version may word otherwise."""
    if isinstance(value, dict):
        return {key: _without_words(one) for key, one in value.items() if key != "sentence"}
    return [_without_words(one) for one in value] if isinstance(value, list) else value


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        content = path.read_bytes()
        document = json.loads(content)
    except (OSError, ValueError) as error:
        raise Permanent(
            f"{path} is no manifest and no certificate ({error}): name a dossier's folder, or one of the two."
        ) from error
    if not isinstance(document, dict):
        raise Permanent(
            f"{path} is no manifest and no certificate: name the folder of a dossier, or one of the two files."
        )
    return content, document
