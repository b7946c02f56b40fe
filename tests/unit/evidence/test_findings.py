"""Fault catalogues: what decides, who disagrees, and what an unknown code means."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodeworthy.adapters.library_faults import FaultLibrary
from nodeworthy.evidence.findings import Catalogue, Stance, catalogue_from_documents
from nodeworthy.evidence.verdicts import Verdict

INCLUDE = Path(__file__).resolve().parents[3] / "include"


@pytest.fixture(scope="module")
def shipped() -> Catalogue:
    """The tables that the product ships."""
    return FaultLibrary(INCLUDE).catalogue()


def _small() -> Catalogue:
    """Two codes, three actions, one row of the NVLink table: written for these tests."""
    entries = {
        "63": {
            "name": "REMAP",
            "class": "memory",
            "action": "monitor",
            "positions": {"a": "IGNORE/IGNORE", "b": "fatal"},
        },
        "145": {"name": "RLW", "class": "nvlink5", "action": "decode", "positions": {}},
    }
    act = {"verdict": "fail", "stance": "act", "advice": "x"}
    policy = {
        "actions": {
            "monitor": {"verdict": "pass", "stance": "tolerate", "advice": "watch"},
            "reset_gpu": act,
            "decode": act,
            "contact_support": act,
            "none": {"verdict": "pass", "stance": "tolerate", "advice": "-"},
        },
        "recovery_actions": {"0": {"name": "none", "action": "none"}, "1": {"name": "reset", "action": "reset_gpu"}},
        "rules": [
            {"kinds": ["xid"], "codes": ["63"], "rule": "counters decide"},
            {"kinds": ["xid"], "codes": ["*"], "rule": "the table"},
        ],
        "tolerant_words": ["^IGNORE"],
    }
    row = {
        "xid": 145,
        "unit": "RLW_REMAP",
        "patterns": ["-" * 30 + "01", "-" * 30 + "10"],
        "status": ["0x00000040"],
        "action": "reset_gpu",
        "investigate": "SUPPORT",
        "severity": "Fatal",
    }
    table = {"kind": "xid", "source": "these tests", "entries": entries}
    return catalogue_from_documents([table], policy, {"source": "these tests", "rows": [row]})


def test_the_first_rule_that_covers_a_code_decides() -> None:
    """A rule for the code stands before the rule for all."""
    assert _small().explain("xid", "63").rule == "counters decide"
    assert _small().explain("xid", "145").rule == "the table"


def test_sources_disagree_by_stance_not_by_words() -> None:
    """The source that calls it fatal takes the other stance; the one that ignores it takes ours."""
    meaning = _small().explain("xid", "63")

    assert meaning.action.stance is Stance.TOLERATE
    assert dict(meaning.disagree) == {"b": "fatal"}


def test_an_unknown_code_is_never_a_pass() -> None:
    """No table lists it: ask the vendor."""
    meaning = _small().explain("xid", "999")

    assert (meaning.fault, meaning.action.name) == (None, "contact_support")
    assert meaning.verdict is Verdict.FAIL


def test_the_words_choose_the_row_of_the_nvlink_table() -> None:
    """Either pattern fits by its last bits; another status or other bits fit no row."""
    catalogue = _small()
    words = {"unit": "RLW_REMAP"}

    for information in ("0x00000001", "0x00000002", "0xfffffff1"):
        row = catalogue.decode("145", {**words, "words": [information, "0x00000040"]})
        assert row is not None
        assert row.action == "reset_gpu"
    assert catalogue.decode("145", {**words, "words": ["0x00000003", "0x00000040"]}) is None
    assert catalogue.decode("145", {**words, "words": ["0x00000001", "0x00000041"]}) is None
    assert catalogue.decode("145", {**words, "words": ["0x00000001", "zz"]}) is None


def test_what_the_driver_announces_outranks_the_table() -> None:
    """A number, whatever the label; one that nobody knows goes to the vendor."""
    catalogue = _small()

    assert catalogue.explain("xid", "63", {"recovery_action": 1}).action.name == "reset_gpu"
    assert catalogue.explain("xid", "63", {"recovery_action": 0}).verdict is Verdict.PASS
    assert catalogue.explain("xid", "63", {"recovery_action": 77}).action.name == "contact_support"


@pytest.mark.parametrize(
    ("kind", "code", "verdict", "action"),
    [
        ("xid", "13", Verdict.PASS, "restart_app"),
        ("xid", "43", Verdict.PASS, "ignore"),
        ("xid", "48", Verdict.FAIL, "reset_gpu"),
        ("xid", "63", Verdict.PASS, "monitor"),
        ("xid", "79", Verdict.FAIL, "reboot"),
        ("xid", "94", Verdict.FAIL, "restart_app"),
        ("xid", "119", Verdict.FAIL, "reset_gpu"),
        ("sxid", "12028", Verdict.FAIL, "reset_fabric"),
        ("sxid", "10005", Verdict.PASS, "ignore"),
        ("dcgm", "29", Verdict.FAIL_CONFIG, "fix_config"),
        ("dcgm", "PERSISTENCE_MODE", Verdict.FAIL_CONFIG, "fix_config"),
        ("dcgm", "DCGM_FR_VOLATILE_DBE_DETECTED", Verdict.FAIL, "isolate"),
    ],
)
def test_shipped_codes(shipped: Catalogue, kind: str, code: str, verdict: Verdict, action: str) -> None:
    """Worked out from the catalogues and the rules over them."""
    meaning = shipped.explain(kind, code)

    assert (meaning.verdict, meaning.action.name) == (verdict, action)


def test_xid_63_has_five_answers(shipped: Catalogue) -> None:
    """NVIDIA ignores it, four others act on it."""
    assert set(shipped.explain("xid", "63").disagree) == {"azure_nhc", "eks", "gpud"}


def test_a_printed_fatal_is_a_failure(shipped: Catalogue) -> None:
    """Whatever the table says of the code."""
    assert shipped.explain("sxid", "10005", {"severity": "Fatal"}).verdict is Verdict.FAIL


def test_every_action_of_every_table_is_known(shipped: Catalogue) -> None:
    """A code's action has a verdict and an advice."""
    used = {fault.action for fault in shipped.faults.values()} | {row.action for row in shipped.nvlink}

    assert used <= set(shipped.actions)
    assert len(shipped.faults) == 176 + 140 + 133
