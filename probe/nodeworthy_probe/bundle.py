"""Writes the result, the raw outputs, the bundle that holds both, and the receipt.

The bundle is a deterministic tar: same content, same bytes. Raw outputs are cut to a cap each
and, should the whole still be too large, to smaller caps; a cut file says so. The receipt is
written last and atomically: where there is a receipt, the bundle beside it is whole.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import __version__
from .host import HostFacts
from .plan import Plan
from .records import Execution
from .suite import Outcome

RESULT_SCHEMA = "nodeworthy.result/1"
RECEIPT_SCHEMA = "nodeworthy.receipt/1"
BUNDLE_CAP_BYTES = 4 * 1024 * 1024
_RAW_CAPS = (512 * 1024, 128 * 1024, 32 * 1024, 4 * 1024, 0)
_VERSIONS = ("driver", "cuda", "dcgm", "nccl")


@dataclass(frozen=True)
class Times:
    """Start and end of the plan in UTC, RFC 3339."""

    started_at: str
    finished_at: str


@dataclass(frozen=True)
class Receipt:
    """What was written, as the pod's one small return value."""

    document: dict[str, Any]
    result: dict[str, Any]


def write(folder: Path, plan: Plan, host: HostFacts, times: Times, outcomes: list[Outcome]) -> Receipt:
    """Write everything into ``folder``; raises OSError when that is impossible."""
    result, files, bundle = _fit(plan, host, times, outcomes)
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _write(folder / name, content)
    _write(folder / "bundle.tar.gz", bundle)
    receipt = {
        "schema": RECEIPT_SCHEMA,
        "node": plan.node,
        "episode": plan.episode,
        "nonce": plan.nonce,
        "suite": plan.suite,
        "simulated": host.simulated,
        "bundle": "bundle.tar.gz",
        "bundle_sha256": hashlib.sha256(bundle).hexdigest(),
        "bundle_bytes": len(bundle),
        "result_sha256": hashlib.sha256(files["result.json"]).hexdigest(),
        "tests": len(result["tests"]),
        "measurements": len(result["measurements"]),
    }
    _write(folder / "return.json", _dump(receipt))
    return Receipt(receipt, result)


def _fit(
    plan: Plan, host: HostFacts, times: Times, outcomes: list[Outcome]
) -> tuple[dict[str, Any], dict[str, bytes], bytes]:
    for cap in _RAW_CAPS:
        raws = {_raw_name(outcome): outcome.raw[:cap] for outcome in outcomes}
        result = _result(plan, host, times, outcomes, raws)
        files = {"result.json": _dump(result), **raws}
        bundle = _tar(files)
        if len(bundle) <= BUNDLE_CAP_BYTES:
            return result, files, bundle
    raise OSError("the result alone is larger than a bundle may be")


def _raw_name(outcome: Outcome) -> str:
    return f"raw/{outcome.number:02d}-{outcome.spec.test}.txt"


def _result(
    plan: Plan, host: HostFacts, times: Times, outcomes: list[Outcome], raws: dict[str, bytes]
) -> dict[str, Any]:
    versions: dict[str, str | None] = dict.fromkeys(_VERSIONS)
    for outcome in outcomes:
        versions.update({name: value for name, value in outcome.reading.versions.items() if versions.get(name) is None})
    attestations = [outcome.reading.attestation for outcome in outcomes if outcome.reading.attestation]
    return {
        "schema": RESULT_SCHEMA,
        "simulated": host.simulated,
        "probe_version": __version__,
        "node": plan.node,
        "serial": host.serial,
        "boot_id": host.boot_id,
        "machine_id": host.machine_id,
        "image": host.image,
        "episode": plan.episode,
        "nonce": plan.nonce,
        "suite": plan.suite,
        "sku": plan.sku,
        "plan_sha256": plan.sha256,
        "started_at": times.started_at,
        "finished_at": times.finished_at,
        "versions": {**versions, "kernel": host.kernel},
        "tests": [_test(outcome, raws[_raw_name(outcome)]) for outcome in outcomes],
        "measurements": [
            row.as_json(outcome.spec.test) for outcome in outcomes for row in outcome.reading.measurements
        ],
        "texts": [text.as_json() for outcome in outcomes for text in outcome.reading.texts],
        "findings": [finding.as_json() for outcome in outcomes for finding in outcome.reading.findings],
        "attestation": dict(attestations[0]) if attestations else None,
    }


def _test(outcome: Outcome, raw: bytes) -> dict[str, Any]:
    reading = outcome.reading
    return {
        "test": outcome.spec.test,
        "tool": outcome.spec.tool,
        "tool_version": reading.tool_version if outcome.execution is Execution.COMPLETED else None,
        "command": list(outcome.command),
        "parameters": dict(outcome.spec.parameters),
        "transport": reading.transport,
        "execution": str(outcome.execution),
        "exit_code": outcome.exit_code,
        "duration_seconds": outcome.duration_seconds,
        "reason": outcome.reason,
        **({"second_try": [again.as_json() for again in outcome.second_try]} if outcome.second_try else {}),
        "raw": {
            "file": _raw_name(outcome),
            "sha256": hashlib.sha256(raw).hexdigest(),
            "bytes": len(raw),
            "truncated": len(raw) < len(outcome.raw),
        },
    }


def _dump(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _tar(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(files[name]), 0o644, 0
            archive.addfile(member, io.BytesIO(files[name]))
    return gzip.compress(packed.getvalue(), compresslevel=6, mtime=0)


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
