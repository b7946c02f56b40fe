"""Health: a leak detector is dry or it is a matter; all else is held against what the BMC itself states."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nodeworthy.evidence.bmc_health import Detector, Group, Health, Leaks, Machinery, Temperature
from nodeworthy.qualification.bmc_health import HealthRules, judge_health, judge_leaks, leak_sentence
from nodeworthy.qualification.sku import Environment

RULES = HealthRules(24, 5, frozenset({"critical"}), True, 0.0)
ONE_FAN = Environment(fans=1)


def fan(**more: object) -> Machinery:
    """A fan that turns."""
    return replace(Machinery("FAN_1", "/fans/1", "Enabled", "OK", 42.0), **more)  # type: ignore[arg-type]


def supply(number: int = 0, **more: object) -> Machinery:
    """A supply with its line."""
    plain = Machinery(f"PSU_{number}", f"/psu/{number}", "Enabled", "OK", None, "Normal")
    return replace(plain, **more)  # type: ignore[arg-type]


def refusals(health: Health, environment: Environment | None = None) -> tuple[str, ...]:
    """What refuses."""
    return judge_health(health, RULES, environment or Environment()).refusals


@pytest.mark.parametrize(
    ("state", "wet", "blind"),
    [
        ("OK", False, False),
        ("LeakDetected", True, False),
        ("Critical", True, False),
        ("Warning", True, False),
        ("Unavailable", False, True),
        ("Absent", False, True),
        ("", False, True),
        ("SomethingNew", True, False),
    ],
)
def test_only_a_detector_that_says_ok_is_dry(state: str, wet: bool, blind: bool) -> None:
    """Standard words, the vendors' LeakDetected, silence, and a word that nobody knows, which is not called dry."""
    detector = Detector("manifold", "Moisture", state)
    assert (detector.wet, detector.blind) == (wet, blind)


def test_a_leak_names_detector_state_and_what_a_person_does() -> None:
    """One clear sentence."""
    leaks = Leaks((Detector("sump", "Moisture", "OK"), Detector("manifold", "Moisture", "LeakDetected")))
    assert leak_sentence("gpu-a01", leaks) == (
        "gpu-a01 leaks: manifold (Moisture) says LeakDetected. Nothing was switched and nothing will be: have a person "
        "look for liquid before any power action, then release the node's hold."
    )


@pytest.mark.parametrize(
    ("leaks", "declared", "phrase"),
    [
        (Leaks((Detector("a", "", "OK"), Detector("b", "", "OK"))), 2, ""),
        (Leaks(), 0, ""),
        (Leaks(), 2, "0 leak detectors are served where the SKU names 2"),
        (Leaks((Detector("a", "", "OK"),)), 2, "1 leak detectors are served where the SKU names 2"),
        (Leaks((Detector("a", "", "Unavailable"),)), 0, "leak detector a says Unavailable"),
        (Leaks((), ("/LeakDetection answers 500",)), 0, "/LeakDetection answers 500: nobody knows whether it leaks"),
    ],
)
def test_what_does_not_say_that_it_is_dry_is_incomplete(leaks: Leaks, declared: int, phrase: str) -> None:
    """Unreadable, unavailable or missing is never fine."""
    found = judge_leaks(leaks, Environment(leak_detectors=declared))
    assert len(found) == bool(phrase)
    assert all(one.startswith("incomplete, ") and phrase in one for one in found)


@pytest.mark.parametrize(
    ("health", "phrase"),
    [
        (Health(fans=(fan(health="Critical"),)), "fan FAN_1 calls itself critical"),
        (Health(fans=(fan(speed=0.0),)), "fan FAN_1 stands still while the host has power"),
        (Health(), "0 fans are present where the SKU names 1"),
        (Health(fans=(fan(state="Absent"),)), "0 fans are present where the SKU names 1"),
        (Health(gaps=("/Fans answers 500",)), "incomplete, no fan could be read (/Fans answers 500)"),
        (Health(fans=(fan(),)), ""),
        (Health(fans=(fan(health="Warning", speed=None),)), ""),
    ],
)
def test_fans(health: Health, phrase: str) -> None:
    """Critical, still or missing refuses; a warning and an unread speed do not."""
    found = refusals(health, ONE_FAN)
    assert len(found) == bool(phrase), found
    assert all(phrase in one for one in found)


@pytest.mark.parametrize(
    ("bad", "phrase"),
    [
        (supply(line="OutOfRange"), "power supply PSU_0 has line input OutOfRange"),
        (supply(line="0 V"), "power supply PSU_0 has line input 0 V"),
        (supply(state="UnavailableOffline"), "power supply PSU_0 is UnavailableOffline"),
        (supply(state="StandbySpare"), ""),
        (supply(line=""), ""),
    ],
)
def test_supplies(bad: Machinery, phrase: str) -> None:
    """A supply without its line, or that is not in use, refuses; a spare that stands by does not."""
    found = refusals(Health(supplies=(bad,)))
    assert len(found) == bool(phrase), found
    assert all(phrase in one for one in found)


def test_redundancy_is_lost_when_no_more_work_than_are_needed() -> None:
    """Six supplies of which four are needed: one may go, and the second lost one is said."""
    uris = tuple(f"/psu/{number}" for number in range(6))
    group = Group("power supplies of DGX", uris, 4, "Enabled", "OK")
    for dark, lost in ((0, False), (1, False), (2, True), (3, True)):
        supplies = tuple(supply(number, line="Normal" if number >= dark else "Fault") for number in range(6))
        found = [one for one in refusals(Health(supplies=supplies, groups=(group,))) if "redundancy" in one]
        assert bool(found) == lost, dark
        if lost:
            assert f"{6 - dark} of 6 work, 4 are needed" in found[0]
    degraded = Health(groups=(replace(group, health="Warning"),))
    assert "health Warning" in refusals(degraded)[0]
    assert refusals(Health(groups=(replace(group, health="Critical", state="Disabled"),))) == ()
    remarked = judge_health(degraded, replace(RULES, lost_redundancy_refuses=False), Environment())
    assert remarked.refusals == ()
    assert "redundancy of power supplies of DGX is lost" in remarked.remarks[0]


def warm(celsius: float | None, **more: object) -> Temperature:
    """A sensor whose BMC cautions from 40 on and calls 45 critical."""
    plain = Temperature("Inlet", celsius, "Enabled", "OK", 45.0, 40.0)
    return replace(plain, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sensor", "refused", "remarked"),
    [
        (warm(24), "", ""),
        (warm(40), "", "cautions from 40 C on"),
        (warm(44.9), "", "cautions from 40 C on"),
        (warm(45), "Inlet reads 45 C and its BMC calls 45 C critical", ""),
        (warm(60, state="Disabled"), "", ""),
        (warm(None), "", ""),
        (warm(None, health="Critical"), "Inlet calls itself critical", ""),
        (warm(90, upper_critical=None, upper_caution=None), "", ""),
        (warm(-4.0, upper_critical=None, upper_caution=None, lower_critical=-4.0), "calls -4 C critical", ""),
        (warm(54, upper_critical=None, upper_caution=None, lower_critical=-4.0), "", ""),
    ],
)
def test_temperatures_are_held_against_the_bmcs_own_thresholds(
    sensor: Temperature, refused: str, remarked: str
) -> None:
    """At the critical threshold a node is refused, between caution and critical it is a remark; headroom falls."""
    judged = judge_health(Health(temperatures=(sensor,)), RULES, Environment())
    assert [bool(judged.refusals), bool(judged.remarks)] == [bool(refused), bool(remarked)]
    assert all(refused in one for one in judged.refusals)
    assert all(remarked in one for one in judged.remarks)


def test_a_margin_refuses_earlier() -> None:
    """Two degrees below what is critical, when the site says so."""
    rules = replace(RULES, margin_celsius=2.0)
    assert judge_health(Health(temperatures=(warm(43),)), rules, Environment()).refusals
    assert not judge_health(Health(temperatures=(warm(42.9),)), rules, Environment()).refusals
