"""The archive for a vendor: what a node is made of, what was judged, with all raw outputs, as one file.

It holds copies of evidence under the paths of the store, so that `evidence verify` works on the unpacked folder. The
same ledger gives the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from nodeworthy.errors import Refused
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.ports import Ledger

ARCHIVE_SCHEMA = "nodeworthy.rma/1"
INDEX = "index.json"


class _WithParts(Protocol):
    def components(self, node: str) -> Any: ...


def archive(name: str, ledger: Ledger, get: Callable[[EvidenceReference], bytes]) -> bytes:
    """Return a gzipped tar with every file of every dossier of the node. Refused for an unknown node.

    `index.json` tells what is known of the node and holds the SHA-256 of every other file.
    """
    records = ledger.nodes([name])
    if not records:
        raise Refused(f"The ledger knows no node {name}: correct the name.")
    judgements = ledger.judgements(name)
    files: dict[str, bytes] = {}
    for judgement in judgements:
        if judgement.dossier is not None:
            _add_dossier(judgement.dossier, get, files)
    certificate = ledger.certificate(name)
    if certificate is not None:
        files[certificate[0].path] = get(certificate[0])
    record = records[0]
    index = {
        "schema": ARCHIVE_SCHEMA,
        "node": record.node.name,
        "serial": record.node.serial,
        "sku": record.node.sku,
        "milestone": record.milestone,
        "reason": record.reason,
        "simulated": any(one.simulated for one in judgements),
        "components": _parts(ledger, name),
        "judgements": [_judgement(one) for one in judgements],
        "effects": [_plain(asdict(one)) for one in ledger.effects(name) if one.kind != "test-plan"],
    }
    index["sha256"] = {name: sha256_hex(content) for name, content in sorted(files.items())}
    files[INDEX] = (json.dumps(index, indent=1, sort_keys=True, default=str) + "\n").encode()
    return _tar(files)


def _add_dossier(
    manifest: EvidenceReference, get: Callable[[EvidenceReference], bytes], files: dict[str, bytes]
) -> None:
    content = get(manifest)
    files[manifest.path] = content
    for row in json.loads(content)["files"]:
        reference = EvidenceReference(row["path"], row["sha256"], row["size_bytes"])
        if reference.path not in files:
            files[reference.path] = get(reference)


def _parts(ledger: Ledger | _WithParts, name: str) -> list[Any]:
    components = getattr(ledger, "components", None)
    return [_plain(asdict(place)) for place in components(name)] if components is not None else []


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
