"""Neighbours are read from both JSON forms of lldpcli, or refused as a whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from nodeworthy_probe.parsers import lldp
from nodeworthy_probe.parsers.lldp import Neighbour

SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or Path(__file__).resolve().parents[4] / "shared" / "samples")


def _json0(port: Any) -> str:
    chassis = [{"id": [{"type": "mac", "value": "02:00:00:00:00:01"}], "name": [{"value": "leaf-01"}]}]
    return json.dumps({"lldp": [{"interface": [{"name": "eth0", "chassis": chassis, "port": port}]}]})


def test_json0_lists_everything() -> None:
    """Name, switch and port sit in lists."""
    text = _json0([{"id": [{"type": "ifname", "value": "swp1"}]}])

    assert lldp.parse(text) == (Neighbour("eth0", "leaf-01", "swp1"),)


def test_json_names_interface_and_switch_as_keys() -> None:
    """One neighbour: an object under the interface's name."""
    port = {"id": {"type": "ifname", "value": "swp7"}}
    text = json.dumps({"lldp": {"interface": {"eth0": {"chassis": {"leaf-02": {"id": {"value": "x"}}}, "port": port}}}})

    assert lldp.parse(text) == (Neighbour("eth0", "leaf-02", "swp7"),)


def test_no_neighbour_is_an_empty_list() -> None:
    """A node without cables, not a broken output."""
    assert lldp.parse('{"lldp": [{}]}') == ()


@pytest.mark.parametrize("text", ["", "{}", "[]", _json0([]), _json0([{"id": [{"value": 7}]}]), _json0(None)[:-4]])
def test_half_a_neighbour_is_refused(text: str) -> None:
    """Nothing is filled in."""
    assert isinstance(lldp.parse(text), str)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")
def test_a_real_output() -> None:
    """Three interfaces on one Cumulus switch; p0 and p1 sit on swp7."""
    neighbours = lldp.parse((SAMPLES / "lldp" / "lldpcli_json_cumulus.json").read_text())

    assert not isinstance(neighbours, str)
    assert [(n.interface, n.switch, n.port) for n in neighbours] == [
        (name, "R1-M03-B17-IPMI-01", "swp7") for name in ("oob_net0", "p0", "p1")
    ]
