"""`nodeworthy suites`: what each suite costs, before anybody starts it."""

from __future__ import annotations

import pytest
from nodeworthy.ui.command import main


def test_each_suite_has_a_line_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """L4 is twelve pods of one node; M1 needs two nodes and tells the cost of each: 3 minutes of 8 GPUs are 0.4 h."""
    assert main(["suites", "--sku", "h100-sxm-8"]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert {"l0", "l1", "l2", "l3", "l4", "l5", "m1", "m2", "m3"} <= set(lines)
    assert lines["l4"][2:4] == ["12", "1"]
    assert lines["m1"][1:6] == ["4", "1", "2-2", "3.0", "min"]
    assert "0.40," in lines["m1"]
