"""`nodeworthy lemons` and `nodeworthy select`: what an operator asks about the whole fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.evidence.verdicts import Remark, Scope
from nodeworthy.ui.command import main
from nodeworthy.wiring import wiring

from tests.contract.ledger.support import Bench, ManualClock, judgement
from tests.contract.ledger.test_parts import fails
from tests.unit.qualification.written_results import INCLUDE

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Give a ledger that the command line reads too, a hundred days ago."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    monkeypatch.setenv("NODEWORTHY_LEDGER_URL", url)
    wiring.cache_clear()
    assert main(["ledger", "upgrade"]) == 0
    made = Bench(url, ManualClock(datetime.now(UTC) - timedelta(days=100)))
    yield made
    made.ledger.close()
    wiring.cache_clear()


def said(capsys: Captured, *arguments: str) -> str:
    """Run a command and return what it printed."""
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def document(capsys: Captured, schema: str, *arguments: str) -> Any:
    """Return what a command printed for a program, of the form that its schema holds."""
    printed = json.loads(said(capsys, *arguments, "--json"))
    Draft202012Validator(json.loads((INCLUDE / "schemas" / schema).read_text("utf-8"))).validate(printed)
    return printed


def test_a_lemon_is_named_with_its_places(bench: Bench, capsys: Captured) -> None:
    """A GPU that failed in three nodes among three hundred sound ones; before its third fault nothing stands out."""
    for name in ("n1", "n2"):
        fails(bench, name, "LEMON", others=300)
    assert "Nothing fails more often than chance allows: 4 confirmed faults in 365 days." in said(capsys, "lemons")
    fails(bench, "n3", "LEMON", others=300)
    (line,) = said(capsys, "lemons").splitlines()
    assert line.startswith("gpu LEMON had 3 faults in 100 days in n1 gpu/3, n2 gpu/3, n3 gpu/3")
    assert line.endswith("It is in n3 now.")
    printed = document(capsys, "lemons-1.json", "lemons")
    (lemon,) = printed["lemons"]
    assert (printed["faults"], printed["window_days"]) == (6, 365)
    assert (lemon["name"], lemon["kind"], lemon["faults"], lemon["node"]) == ("LEMON", "gpu", 3, "n3")
    assert lemon["sentence"] == line
    assert 0 < lemon["chance"] < 0.001


def test_without_a_fault_there_is_no_lemon(bench: Bench, capsys: Captured) -> None:
    """A program reads an empty list, not a sentence."""
    printed = document(capsys, "lemons-1.json", "lemons")
    assert (printed["faults"], printed["lemons"]) == (0, [])


def serving(bench: Bench, name: str) -> None:
    """Bring a node to standby and close its episode."""
    lease = bench.take(name, run=f"run-{name}")
    bench.bring(lease, "standby")
    bench.ledger.release(lease, close=True, reason="proven")


def test_hours_go_to_the_node_with_a_remark(bench: Bench, capsys: Captured) -> None:
    """Of two like nodes the one that declined gets the hours; the request is printed ready to be triggered."""
    serving(bench, "n1")
    serving(bench, "n2")
    bench.clock.pass_(timedelta(days=95))
    lease = bench.take("n2", run="look", kind="sweep")
    noticed = Remark("own_drift", "gpu/4", "S4", "peer_bandwidth", "gpu/4 declines")
    bench.ledger.record_judgement(lease, replace(judgement(lease, Scope.HARDWARE), remarks=(noticed,)), None)
    text = said(capsys, "select", "--gpu-hours", "4")
    first, second, *_ = text.splitlines()
    assert first.startswith("n2 gets L2 (4 GPU-hours)")
    assert "findings: own_drift of gpu/4" in first
    assert second.startswith("n1 is not tested")
    assert "L3 twice on every node would take 80 GPU-hours" in text
    assert """airflow dags trigger burn_in --conf '{"nodes": ["n2"], "level": "l2"}'""" in text
    assert "maintenance" not in text
    printed = document(capsys, "selection-result-1.json", "select", "--gpu-hours", "4", "--pool", "pool-a")
    assert printed["requests"] == [{"dag": "burn_in", "times": 1, "conf": {"nodes": ["n2"], "level": "l2"}}]
    assert [choice["suite"] for choice in printed["choices"]] == ["", "L2"]


def test_a_pool_without_proven_nodes_is_refused(bench: Bench, capsys: Captured) -> None:
    """A node that still onboards is tested anyway; there is nothing to choose."""
    bench.take("n1")
    assert main(["select", "--gpu-hours", "20", "--pool", "pool-a"]) == 1
    assert "No node of pool pool-a stands in" in capsys.readouterr().err


@pytest.mark.parametrize("hours", ["-3", "0", "nan", "inf"])
def test_hours_that_are_none_are_refused(bench: Bench, capsys: Captured, hours: str) -> None:
    """Not a number is no budget without an end."""
    assert main(["select", "--gpu-hours", hours]) == 1
    assert "GPU-hours can be given to nobody" in capsys.readouterr().err


def test_a_node_in_service_is_chosen_and_not_requested(bench: Bench, capsys: Captured) -> None:
    """Its risk counts like another's, but no request takes it: a person agrees its absence first."""
    serving(bench, "n1")
    lease = bench.take("n1", run="admit")
    bench.admit(lease)
    text = said(capsys, "select", "--gpu-hours", "40")
    assert "n1 gets L3 twice (40 GPU-hours)" in text
    assert "airflow dags trigger" not in text
    assert "take these into maintenance first: n1." in text
