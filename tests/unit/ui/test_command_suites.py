"""`nodeworthy suites`: what each suite costs, before anybody starts it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodeworthy.ui.command import main
from nodeworthy.wiring import wiring

INCLUDE = Path(__file__).resolve().parents[3] / "include"
CHECK = """schema: nodeworthy.check/1
name: site.scratch_space
version: 1
description: There is room for what jobs write.
image: registry.example/checks/space@sha256:{digest}
command: [/check]
timeout_seconds: 60
suites: [l1]
metrics:
  - metric: free_share
    per: node
    unit: "%"
    action: empty the scratch space
    limits:
      - {{sku: "*", floor: 20, ceiling: 100, reached: 97, source: our nodes, date: "2026-11-30"}}
"""
OFF = """
checks_off:
  - {{test: {test}, why: switch maintenance, who: ada, until: "2126-12-08T00:00:00Z"}}
  - {{test: gpu.diag, why: long over, who: ada, until: "2026-01-01T00:00:00Z"}}
"""


@pytest.fixture
def include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An operator's own copy of the files."""
    place = Path(shutil.copytree(INCLUDE, tmp_path / "include"))
    (place / "checks").mkdir(exist_ok=True)
    monkeypatch.setenv("NODEWORTHY_INCLUDE", str(place))
    wiring.cache_clear()
    yield place
    wiring.cache_clear()


def test_each_suite_has_a_line_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """L4 is twelve pods of one node; M1 needs two nodes and tells the cost of each: 360 s of 8 GPUs are 0.80 h."""
    assert main(["suites", "--sku", "h100-sxm-8"]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert {"l0", "l1", "l2", "l3", "l4", "l5", "m1", "m2", "m3"} <= set(lines)
    assert lines["l4"][2:4] == ["12", "1"]
    assert lines["m1"][1:6] == ["13", "1", "2-2", "6.0", "min"]
    assert "0.80," in lines["m1"]


def test_an_own_check_stands_in_every_suite_that_gains_it(include: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file, no Python: the test is in L1 and in L2, which includes it, with its image; in L0 it is not."""
    (include / "checks" / "site.scratch_space.yaml").write_text(CHECK.format(digest="a" * 64))
    for name, there in (("l0", False), ("l1", True), ("l2", True)):
        assert main(["suite", name]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "site.scratch_space" in line]
        assert bool(lines) == there
        assert all(f"image registry.example/checks/space@sha256:{'a' * 64}" in line for line in lines)


def test_what_a_pool_switched_off_is_said_with_reason_and_end(
    include: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The entry in force says who, why and until when; an expired one switches nothing off."""
    policy = include / "policies" / "default.yaml"
    policy.write_text(policy.read_text() + OFF.format(test="nvlink.bandwidth"))
    assert main(["suite", "l1", "--pool", "training"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert "OFF until 2126-12-08 00:00 UTC (switch maintenance, ada)" in lines["nvlink.bandwidth"]
    assert "OFF" not in lines["gpu.diag"]


def test_a_misspelt_name_is_told_and_not_silently_kept_on(include: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No suite has nvlink.bandwith: the operator thinks it is off and it is not."""
    policy = include / "policies" / "default.yaml"
    policy.write_text(policy.read_text() + OFF.format(test="nvlink.bandwith"))
    assert main(["suite", "l1", "--pool", "training"]) != 0
    assert "no suite has a test of that name" in "".join(capsys.readouterr())
