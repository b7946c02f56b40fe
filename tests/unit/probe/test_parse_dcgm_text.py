"""The table of dcgmi gives the same report as its JSON, so far as it says."""

from __future__ import annotations

from nodeworthy_probe.parsers import dcgm_text
from nodeworthy_probe.parsers.dcgm_catalogue import Outcome

BAR = "+---------------------------+------------------------------------------------+"


def _table(*rows: tuple[str, str], closed: bool = True) -> str:
    lines = [
        BAR,
        "| Diagnostic                | Result                                         |",
        BAR.replace("-", "="),
    ]
    for left, right in rows:
        lines.append(f"|-----  {left}  -{'':-<18}" if not right else f"| {left:<25} | {right:<46} |")
    return "\n".join([*lines, *([BAR] if closed else [])]) + "\n"


def test_rows_name_their_gpus_in_both_ways() -> None:
    """Lists of 3.x, with a second row for the other outcome, and single rows of 4.x."""
    text = _table(
        ("Hardware", ""),
        ("Targeted Power", "Pass - GPUs: 0, 2"),
        ("", "Fail - GPU: 1"),
        ("memory", "Pass"),
        ("", "GPU0: Pass"),
        ("", "GPU1: Skip"),
    )

    report = dcgm_text.parse_table(text)

    assert report.problems == ()
    assert [(result.test, result.gpu, result.outcome) for result in report.results] == [
        ("Targeted Power", 0, Outcome.PASSED),
        ("Targeted Power", 2, Outcome.PASSED),
        ("Targeted Power", 1, Outcome.FAILED),
        ("memory", 0, Outcome.PASSED),
        ("memory", 1, Outcome.SKIPPED),
    ]


def test_metadata_and_wrapped_text() -> None:
    """A word broken at column 45 is one word again; the text belongs to the failure above it."""
    text = _table(
        ("Metadata", ""),
        ("DCGM Version", "3.1.8"),
        ("Deployment", ""),
        ("Persistence Mode", "Fail"),
        ("Error", "Persistence mode for GPU 0 is currently disab"),
        ("", "led."),
    )

    report = dcgm_text.parse_table(text)

    assert report.version == "3.1.8"
    (failure,) = report.failures(0)
    assert failure.errors[0].text == "Persistence mode for GPU 0 is currently disabled."
    assert failure.is_config


def test_an_error_without_a_test_is_a_failure_of_the_gpu_it_names() -> None:
    """Nothing that the tool complains about is dropped."""
    report = dcgm_text.parse_table(_table(("Error", "GPU 3 has pending row remappings"), closed=True))

    assert [(result.gpu, result.outcome) for result in report.results] == [(3, Outcome.FAILED)]


def test_a_cut_table_and_an_unknown_word_are_problems() -> None:
    """The last border is missing; a status that no release prints."""
    assert "the table is cut" in dcgm_text.parse_table(_table(("memory", "Pass"), closed=False)).problems
    assert dcgm_text.parse_table(_table(("memory", "Perhaps"))).problems != ()
    assert dcgm_text.parse_table("").problems != ()


def test_links_are_letters() -> None:
    """U is up, D is down."""
    assert dcgm_text.parse_links("    gpuId 0:\n        U U D _\n    gpuId 1:\n        U U U U\n") == {
        0: "UUD_",
        1: "UUUU",
    }
