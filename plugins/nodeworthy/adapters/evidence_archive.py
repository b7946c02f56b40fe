"""The archive for a vendor: what a node is made of, what was judged, with all raw outputs, as one file.

It holds copies of the node's evidence under the paths of the store, so that `evidence verify` works on the unpacked
folder. The same ledger and store give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from nodeworthy.errors import Refused
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.lifecycle.records import Placement
from nodeworthy.ports import Ledger

ARCHIVE_SCHEMA = "nodeworthy.rma/1"
INDEX = "index.json"


FOLDER = "nodes"
"""Where the store keeps what belongs to nodes, each below its serial."""


class Shelf(Protocol):
    """What is asked of the evidence store."""

    def get(self, reference: EvidenceReference) -> bytes:
        """Read bytes back. Permanent when they are missing or their hash differs."""

    def read(self, path: str) -> bytes:
        """Read bytes of which no hash is at hand. Permanent when they are missing."""

    def files(self, prefix: str) -> dict[str, int]:
        """Return the size of every file below a folder, by its path."""


def archive(name: str, ledger: Ledger, store: Shelf) -> bytes:
    """Return a gzipped tar with all evidence of the node: dossiers, raw outputs, inventories, certificates.

    `index.json` tells what is known of the node, where each of its parts has been, which files of a dossier were no
    longer kept, and the SHA-256 of every file. Refused for an unknown node, Permanent when evidence was changed.
    """
    records = ledger.nodes([name])
    if not records:
        raise Refused(f"The ledger knows no node {name}: correct the name.")
    record, judgements = records[0], ledger.judgements(name)
    shelf = _Kept(store, record.node.serial)
    for judgement in judgements:
        if judgement.dossier is not None:
            shelf.add_dossier(judgement.dossier)
    certificate = ledger.certificate(name)
    if certificate is not None:
        shelf.add(certificate[0])
    shelf.add_the_rest()
    index = {
        "schema": ARCHIVE_SCHEMA,
        "node": record.node.name,
        "serial": record.node.serial,
        "sku": record.node.sku,
        "milestone": record.milestone,
        "reason": record.reason,
        "simulated": any(one.simulated for one in judgements),
        "components": [_part(place, ledger) for place in ledger.components(name)],
        "judgements": [_judgement(one) for one in judgements],
        "effects": [_plain(asdict(one)) for one in ledger.effects(name) if one.kind != "test-plan"],
        "no_longer_kept": sorted(shelf.missing),
        "sha256": {name: sha256_hex(content) for name, content in sorted(shelf.files.items())},
    }
    found = json.dumps(index, indent=1, sort_keys=True, default=str) + "\n"
    return _tar({**shelf.files, INDEX: found.encode()})


class _Kept:
    """The evidence of one node as it is kept now: `files` by path, and what is on record and not there any more."""

    def __init__(self, store: Shelf, serial: str) -> None:
        self._store = store
        self._there = set(store.files(f"{FOLDER}/{serial}"))
        self.files: dict[str, bytes] = {}
        self.missing: set[str] = set()

    def add_dossier(self, manifest: EvidenceReference) -> None:
        """Add a judgement's manifest and every file that it names."""
        self.add(manifest)
        if manifest.path in self.files:
            for row in json.loads(self.files[manifest.path])["files"]:
                self.add(EvidenceReference(row["path"], row["sha256"], row["size_bytes"]))

    def add(self, reference: EvidenceReference) -> None:
        """Add one file that a record vouches for."""
        if reference.path not in self._there:
            self.missing.add(reference.path)
        elif reference.path not in self.files:
            self.files[reference.path] = self._store.get(reference)

    def add_the_rest(self) -> None:
        """Add what lies there and no judgement names: inventories, segments of a soak, results that wait."""
        for path in sorted(self._there - set(self.files)):
            self.files[path] = self._store.read(path)


def _part(place: Placement, ledger: Ledger) -> dict[str, Any]:
    """Return a part with its time in the node and, by its serial, every place that it was ever seen in."""
    part = place.component
    seen = ledger.component_history(part.serial) if part.serial else ()
    been = [
        {"node": one.node, "slot": one.component.slot, "since": one.since, "until": one.until}
        for one in seen
        if one.component.kind == part.kind
    ]
    told: dict[str, Any] = _plain({**asdict(place), "places": been})
    return told


def _judgement(one: Judgement) -> dict[str, Any]:
    return {
        "scope": one.scope.value,
        "suite": one.suite,
        "verdict": one.verdict.value,
        "sentence": one.sentence,
        "dossier": None if one.dossier is None else one.dossier.path,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _tar(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(files[name]), 0o644, 0
            tar.addfile(member, io.BytesIO(files[name]))
    return gzip.compress(packed.getvalue(), compresslevel=6, mtime=0)
