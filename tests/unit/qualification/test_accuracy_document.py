"""The page on statistics is what the newest dated results say, and the newest accuracy holds the bars."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.__main__ import names, run
from benchmarks.document import PAGE, page
from benchmarks.results import HERE


def newest(benchmark: str) -> Any:
    """The newest stored result of a benchmark."""
    return json.loads(sorted(HERE.glob(f"{benchmark}-*.json"))[-1].read_text(encoding="utf-8"))


def test_the_page_is_up_to_date() -> None:
    """`python -m benchmarks document` would change nothing."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_dated_accuracy_holds_its_bars() -> None:
    """Five repeats, 20,000 nodes: recall 99 %, precision 97 %; two points beside the oracle everywhere."""
    result = newest("accuracy")
    (ours,) = (row for row in result["fleet"] if (row["strategy"], row["repeats"]) == ("nodeworthy", 5))
    assert result["nodes"] >= 20_000
    assert ours["recall_material"] >= 99.0
    assert ours["precision_material"] >= 97.0
    for one in result["oracle"]:
        assert max(row["gap"] for row in one["by_kind"]) <= 2.0
    said = {words.partition(": ")[2] for words in result["judged"]["bad_data"]}
    assert said
    assert not said & {"fail", "fail-config", "pass"}


def test_the_dated_selection_reaches_everything_on_everyone() -> None:
    """With a fifth of the hours no more faults escape, within two standard errors of the two rates."""
    rows = [row for row in newest("selection")["rows"] if row["trace"] == 0.95]
    by_name = {row["strategy"]: row for row in rows}
    everything, fifth = by_name["everything on everyone"], by_name["by risk, 20% of the hours"]
    assert fifth["gpu_hours"] <= everything["gpu_hours"] / 5
    error = (everything["error_percent"] ** 2 + fifth["error_percent"] ** 2) ** 0.5
    assert fifth["escaped_percent"] <= everything["escaped_percent"] + 2 * error


def test_benchmarks_are_listed_with_what_they_measure(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name all are listed; an unknown one is refused with the known ones."""
    assert run([]) == 0
    assert {"accuracy", "judge", "selection", "statistics", "document"} <= set(names())
    assert "accuracy" in capsys.readouterr().out
    assert run(["nothing"]) == 2
    assert "accuracy" in capsys.readouterr().err
