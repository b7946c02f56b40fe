"""The bundle is deterministic, whole and never larger than its cap."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from pathlib import Path

import pytest
from nodeworthy_probe import bundle
from nodeworthy_probe.bundle import Times
from nodeworthy_probe.host import HostFacts
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.records import Execution, Reading, missing
from nodeworthy_probe.suite import Outcome

from tests.data import node_views

HOST = HostFacts("boot", "machine", "serial", "image", "kernel", simulated=True)
TIMES = Times("2026-11-30T10:00:00.000Z", "2026-11-30T10:01:00.000Z")
PLAN = read_plan(json.dumps(node_views.plan()))


def _outcome(number: int, raw: bytes) -> Outcome:
    reading = Reading((missing("node", "bus_bandwidth", "GB/s"),))
    return Outcome(number, PLAN.tests[number - 1], ("x",), Execution.CRASHED, 1, 0.5, "it crashed", raw, reading)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two folders, one hash; the receipt names it and the result inside."""
    receipts = [bundle.write(tmp_path / name, PLAN, HOST, TIMES, [_outcome(1, b"abc")]).document for name in ("a", "b")]

    assert receipts[0] == receipts[1]
    content = (tmp_path / "a" / "bundle.tar.gz").read_bytes()
    assert receipts[0]["bundle_sha256"] == hashlib.sha256(content).hexdigest()
    assert receipts[0]["bundle_bytes"] == len(content)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        assert archive.getnames() == ["raw/01-gpu.identity.txt", "result.json"]
        result = archive.extractfile("result.json")
        assert result is not None
        assert hashlib.sha256(result.read()).hexdigest() == receipts[0]["result_sha256"]
    assert json.loads((tmp_path / "a" / "return.json").read_text()) == receipts[0]


def test_a_large_raw_output_is_cut_and_says_so(tmp_path: Path) -> None:
    """The hash is that of the stored file."""
    result = bundle.write(tmp_path, PLAN, HOST, TIMES, [_outcome(1, b"x" * 600_000)]).result

    raw = result["tests"][0]["raw"]
    stored = (tmp_path / raw["file"]).read_bytes()
    assert (raw["truncated"], raw["bytes"], len(stored)) == (True, 524_288, 524_288)
    assert raw["sha256"] == hashlib.sha256(stored).hexdigest()


def test_the_cap_holds_for_output_that_does_not_compress(tmp_path: Path) -> None:
    """Noise from every test: all raw files shrink until the bundle fits."""
    noise = random.Random(1).randbytes(700_000)
    outcomes = [_outcome(number, noise) for number in range(1, 8)]
    receipt = bundle.write(tmp_path, PLAN, HOST, TIMES, outcomes).document

    assert receipt["bundle_bytes"] <= bundle.BUNDLE_CAP_BYTES


def test_without_a_bundle_there_is_no_receipt(tmp_path: Path) -> None:
    """The folder cannot be written: an error, and nothing that looks finished."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    with pytest.raises(OSError, match="file"):
        bundle.write(blocked, PLAN, HOST, TIMES, [_outcome(1, b"")])
