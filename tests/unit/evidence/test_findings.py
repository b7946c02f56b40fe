"""Fault catalogues: what decides, who disagrees, and what an unknown code means."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from nodeworthy.adapters.library_faults import FaultLibrary
from nodeworthy.errors import Permanent
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
    assert len(shipped.faults) == 176 + 140 + 133 + 95


def test_a_message_of_redfish_is_found_with_and_without_its_version(shipped: Catalogue) -> None:
    """A BMC prints the registry's version; the tables do not depend on it."""
    for code in (
        "Environmental.1.1.FanFailed",
        "Environmental.1.1.0.FanFailed",
        "Environmental.FanFailed",
        "FanFailed",
    ):
        meaning = shipped.explain("redfish", code)
        assert (meaning.code, meaning.verdict) == ("Environmental.FanFailed", Verdict.FAIL)
    assert shipped.explain("redfish", "Environmental.1.1.FanRemoved").disagree == {"DMTF": "OK"}


@pytest.mark.parametrize(("severity", "word"), [("OK", "pass"), ("Warning", "incomplete"), ("Critical", "fail")])
def test_an_unlisted_message_is_as_grave_as_it_says(shipped: Catalogue, severity: str, word: str) -> None:
    """Vendors add messages of their own."""
    assert shipped.explain("redfish", "IDRAC.2.8.SYS1003", {"severity": severity}).verdict.value == word


def _override(**more: str) -> dict[str, str]:
    entry = {
        "kind": "xid",
        "code": "63",
        "action": "reset_gpu",
        "reason": "we reset at once",
        "by": "a",
        "date": "2026-11-30",
    }
    return {**entry, **more}


def test_a_pool_decides_for_one_code(shipped: Catalogue) -> None:
    """Its action, its reason, and nobody else's codes; without the pool nothing changes."""
    own = shipped.overridden("gold", [_override()])

    assert own.explain("xid", "63").verdict is Verdict.FAIL
    assert own.explain("xid", "63").rule == "pool gold decided: we reset at once (a, 2026-11-30)"
    assert own.explain("xid", "64").rule == shipped.explain("xid", "64").rule
    assert shipped.explain("xid", "63").verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"code": "99999"}, "no table"),
        ({"action": "hope"}, "no action"),
        ({"code": "79", "action": "ignore"}, "may not be tolerated"),
        ({"code": "154", "action": "none"}, "the driver announces what must be done"),
        ({"code": "154", "action": "reboot"}, "the driver announces what must be done"),
    ],
)
def test_a_wrong_override_is_refused_with_its_line(tmp_path: Path, more: dict[str, str], what: str) -> None:
    """A code or an action that does not exist, and a fault that no pool may tolerate."""
    include = tmp_path / "include"
    shutil.copytree(INCLUDE / "faults", include / "faults")
    shutil.copytree(INCLUDE / "schemas", include / "schemas")
    head = {"schema": "nodeworthy.fault-override/1", "version": 1, "pool": "gold"}
    document = {**head, "overrides": [_override(), _override(**more)]}
    (include / "faults" / "pools" / "gold.yaml").write_text(json.dumps(document, indent=1), encoding="utf-8")

    with pytest.raises(Permanent, match=rf"gold\.yaml, line 14: .*{what}"):
        FaultLibrary(include).catalogue("gold")


def test_every_override_that_ships_loads() -> None:
    """The files of `include/faults/pools`."""
    for path in (INCLUDE / "faults" / "pools").glob("*.yaml"):
        FaultLibrary(INCLUDE).catalogue(path.stem)


def test_before_the_tests_only_what_a_boot_must_end_decides(shipped: Catalogue) -> None:
    """Lost GPUs, uncorrectable errors and dead GSPs decide; applications, contained errors and unread codes by rule."""
    deciding = {"46", "48", "62", "64", "74", "79", "95", "109", "119", "120", "140", "143"}
    old = shipped.old_xids()
    tolerated, reset = set(old.tolerated), set(old.ended_by_reset)
    assert deciding.isdisjoint(tolerated)
    assert {"13", "31", "43", "45", "63", "94", "144", "154"} <= tolerated
    assert {"48", "95", "119"} <= reset
    assert reset.isdisjoint(tolerated)
    assert "79" not in reset
    assert shipped.decides_since_boot("xid", "999")


def test_a_pool_decides_otherwise_about_an_old_xid(shipped: Catalogue) -> None:
    """Its own action for a code decides alone, in both directions."""
    about = {"kind": "xid", "reason": "known", "by": "ada", "date": "2026-11-30"}
    own = shipped.overridden(
        "lab", [{**about, "code": "109", "action": "monitor"}, {**about, "code": "43", "action": "reboot"}]
    )
    assert not own.decides_since_boot("xid", "109")
    assert own.decides_since_boot("xid", "43")
    with pytest.raises(ValueError, match="may not be tolerated"):
        shipped.overridden("lab", [{**about, "code": "79", "action": "monitor"}])
