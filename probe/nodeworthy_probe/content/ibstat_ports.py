"""What is odd about the ports of a node, whichever tool listed them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from nodeworthy_probe.parsers.json_document import whole

from .documents import note_gaps
from .sheet import Sheet

_RATE = re.compile(
    r"^(?P<value>\d+(?:\.\d+)?)(?: (?P<unit>Gb/sec))?(?: \((?P<lanes>\d+)X(?: (?P<name>[A-Z0-9]+))?\))?$"
)
_LANE_GBIT = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR": 14.0,
    "FDR10": 10.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
_SATURATED = 2**32 - 1
_ERRORS = ("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "port_xmit_discards",
           "local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_rcv_remote_physical_errors",
           "out_of_sequence", "packet_seq_err", "local_ack_timeout_err")  # fmt: skip


@dataclass
class Port:
    """One port as listed."""

    device: str
    number: str
    fields: dict[str, str]
    shows_rate: bool = True
    shows_counters: bool = False
    counters: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The port as a component."""
        return f"port/{self.device}/{self.number}"

    @property
    def is_bond(self) -> bool:
        """Whether the device is a bond, which carries management and no rail."""
        return "bond" in self.device

    @property
    def active(self) -> bool:
        """Whether the port carries traffic."""
        return (
            _word(self.fields.get("state", "")) == "active" and _word(self.fields.get("physical state", "")) == "linkup"
        )

    def add(self, name: str, value: str, sheet: Sheet) -> None:
        """Add a field; the second of one name is noted."""
        if name in self.fields and name != "type":
            sheet.note("document/duplicate", self.name, f"{name} is there twice")
        self.fields[name] = value


def judge_ports(ports: list[Port], sheet: Sheet) -> None:
    """Measurements and notes of all ports."""
    rates: dict[tuple[str, str], list[tuple[float, Port]]] = defaultdict(list)
    for port in ports:
        _state(port, sheet)
        rate = _rate(port, sheet) if port.active and port.shows_rate else None
        if rate is not None and port.is_bond:
            continue  # it carries management and is no rail
        if rate is not None:
            rates[port.fields.get("type", ""), port.fields.get("link layer", "")].append((rate, port))
        elif port.shows_rate:
            sheet.absent(port.name, "rate", "Gb/s")
        if port.shows_counters:
            _counters(port, sheet)
    sheet.number("node", "ports", len(ports), "count")
    sheet.number("node", "ports_active", sum(port.active for port in ports), "count")
    sheet.number("node", "fabric_ports_active", sum(port.active and not port.is_bond for port in ports), "count")
    numbers = {int(found[1][:4]) for port in ports if (found := re.match(r"mlx5_(\d+)$", port.device))}
    # A bond takes two devices out of the list, so that many numbers may be skipped.
    if max(numbers, default=-1) + 1 - len(numbers) > 2 * sum(port.is_bond for port in ports):
        note_gaps(sheet, numbers, "mlx5")
    for group in rates.values():
        _slower(group, sheet)


def _word(text: str) -> str:
    return re.sub(r"^\d+:|[ _]", "", text.strip()).lower()


def _state(port: Port, sheet: Sheet) -> None:
    for name in ("state", "physical state", *(("rate", "link layer") if port.shows_rate else ())):
        if not port.fields.get(name):
            sheet.note("row/missing", port.name, f"{name} is missing")
    state, physical = _word(port.fields.get("state", "")), _word(port.fields.get("physical state", ""))
    sheet.number(port.name, "active", float(port.active), "bool")
    if port.active or not state or not physical:
        return
    seen = f"state {port.fields['state']}, physical state {port.fields['physical state']}"
    if physical == "disabled":
        sheet.note("hardware/port-disabled", port.name, f"{seen}: switched off, by somebody or by a fault")
    elif state in ("down", "init", "initializing", "armed", "activedefer") or physical in (
        "polling",
        "sleep",
        "linkerrorrecovery",
    ):
        sheet.note("hardware/port-down", port.name, seen)
    else:
        sheet.note("row/unreadable", port.name, seen)


def _rate(port: Port, sheet: Sheet) -> float | None:
    text = port.fields.get("rate", "")
    found = _RATE.match(text)
    if found is None:
        code = "value/unit" if re.match(r"\d+(\.\d+)? \S", text) else "value/not-a-number"
        sheet.note(code, port.name, f"the rate is {text or 'empty'}")
        return None
    value = float(found["value"])
    lane = _LANE_GBIT.get(found["name"] or "")
    if found["lanes"] and lane and abs(value - lane * int(found["lanes"][:3])) > 0.03 * value:
        sheet.note("document/contradiction", port.name, f"the rate is {text}")
    sheet.number(port.name, "rate", value, "Gb/s")
    return value


def _slower(group: list[tuple[float, Port]], sheet: Sheet) -> None:
    highest = max(rate for rate, _ in group)
    slow = [(rate, port) for rate, port in group if rate < highest]
    for rate, port in slow if 4 * len(slow) <= len(group) else []:
        sheet.note(
            "context/port-slow",
            port.name,
            f"{rate:g} Gb/s where {len(group) - len(slow)} ports of its kind have {highest:g}",
        )


def _counters(port: Port, sheet: Sheet) -> None:
    if not port.counters:
        sheet.note("row/missing", port.name, "no counter is given")
    for name, value in port.counters.items():
        number = whole(value.strip())
        if number is None:
            sheet.absent(port.name, name, "count")
            sheet.note("row/missing", port.name, f"{name} cannot be read: {value}")
        elif number == _SATURATED:
            sheet.absent(port.name, name, "count")
            sheet.note("note/saturated", port.name, f"{name} is saturated at 2^32-1")
        else:
            sheet.number(port.name, name, number, "count")
            if number and name in _ERRORS:
                sheet.note("counter/nonzero", port.name, f"{name} is {number}: a rate needs two samples")
