"""A request becomes a wave: what has room, what is left out, and what goes on in the next run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nodeworthy.errors import Refused
from nodeworthy.procedures.open_wave import LARGEST_WAVE, WaveRequest, open_wave

from tests.doubles.bench import Bench, bench

NAMES = ("gpu-b01", "gpu-b02", "gpu-b03", "gpu-b04", "gpu-b05")


def fleet() -> Bench:
    """A bench whose ledger also knows five racked nodes that nobody works on."""
    one = bench()
    one.ledger.import_fleet([replace(one.node, name=name, serial=f"S-{name}", rack="B1") for name in NAMES])
    return one


def asked(names: tuple[str, ...] = (), *, rack: str = "", largest: int = LARGEST_WAVE) -> WaveRequest:
    """Return what a form with these answers asks for."""
    return WaveRequest("bring_up/r", names, rack, "", "", "onboarding", "", largest=largest)


def test_what_one_wave_has_no_room_for_is_named_for_the_next() -> None:
    """Five nodes in waves of two: this run holds the leases of two, the others are free and stand in order."""
    one = fleet()
    wave = open_wave(asked(NAMES, largest=2), one.work)
    assert (wave.nodes, wave.later, wave.left_out) == (NAMES[:2], NAMES[2:], ())
    assert one.ledger.run_nodes("bring_up/r") == NAMES[:2]


def test_a_node_that_is_left_out_takes_no_room() -> None:
    """Of three nodes one stands by already: a wave of two takes the other two and leaves nothing for later."""
    one = fleet()
    one.ledger.put("gpu-b01", "standby")
    wave = open_wave(asked(NAMES[:3], largest=2), one.work)
    assert (wave.nodes, wave.later) == (NAMES[1:3], ())
    assert wave.left_out == ("gpu-b01 is standby already and was left out.",)


def test_a_node_named_twice_refuses_the_request_before_a_lease_is_taken() -> None:
    """It is unclear what was meant, so nothing is begun, neither in this wave nor in a later one."""
    one = fleet()
    with pytest.raises(Refused, match="gpu-b02 more than once"):
        open_wave(asked(("gpu-b02", "gpu-b01", "gpu-b02"), largest=1), one.work)
    assert one.ledger.run_nodes("bring_up/r") == ()
