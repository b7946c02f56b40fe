"""Faults of built-in parts: pure functions from parts to parts, applied in the order of injection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lab.truth import seeded
from lab.truth.faults import ActiveFault
from lab.truth.parts import Gpu, Nic, Part, Parts
from lab.truth.platforms import load_platforms

Overlay = Callable[[Parts, Mapping[str, Any]], Parts]


def overlaid(parts: Parts, faults: Iterable[ActiveFault]) -> Parts:
    """The parts as they are seen while `faults` are active."""
    for fault in faults:
        overlay = _OVERLAYS.get(fault.name)
        if overlay is not None:
            parts = overlay(parts, fault.parameters)
    return parts


def _sku_mismatch(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    index = int(parameters["gpu"])
    own = parts.gpus[index]
    other = next(row.gpu for row in load_platforms().values() if row.gpu["model"] != own.model)
    names = ("model", "redfish_model", "memory_mib", "pci_device_id")
    changed = replace(own, **{name: parameters[name] or other[name] for name in names})
    return replace(parts, gpus=_swap(parts.gpus, index, changed))


def _gpu_missing(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    index = int(parameters["gpu"])
    return replace(parts, gpus=_swap(parts.gpus, index, replace(parts.gpus[index], present=False)))


def _dimm_slow(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    slow = {int(parameters["dimm"]): int(parameters["speed"])}
    dimms = tuple(
        replace(one, row={**one.row, "speed_mhz": slow[one.index]}) if one.index in slow else one for one in parts.dimms
    )
    return replace(parts, dimms=dimms)


def _swap(gpus: tuple[Gpu, ...], index: int, gpu: Gpu) -> tuple[Gpu, ...]:
    return tuple(gpu if old.index == index else old for old in gpus)


def _without(rows: tuple[Part, ...], index: object) -> tuple[Part, ...]:
    return tuple(row for row in rows if row.index != int(str(index)))


def _nic_missing(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    gone = parts.nics[int(parameters["nic"])]
    return replace(parts, nics=tuple(nic for nic in parts.nics if nic is not gone))


def _serial_swapped(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    return replace(parts, serial=parameters["serial"] or seeded.digits(13, parts.serial, "swapped"))


def _miscabled(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    ends = {nic.interface: (nic.switch, nic.port) for nic in parts.nics}
    one, other = parameters["interface"], parameters["other"]
    swapped = {one: ends[other], other: ends[one]}

    def recabled(nic: Nic) -> Nic:
        switch, port = swapped.get(nic.interface, (nic.switch, nic.port))
        return replace(nic, switch=switch, port=port)

    return replace(parts, nics=tuple(map(recabled, parts.nics)))


_OVERLAYS: Mapping[str, Overlay] = {
    "sku-mismatch": _sku_mismatch,
    "gpu-missing": _gpu_missing,
    "dimm-missing": lambda parts, set_: replace(parts, dimms=_without(parts.dimms, set_["dimm"])),
    "dimm-slow": _dimm_slow,
    "drive-missing": lambda parts, set_: replace(parts, drives=_without(parts.drives, set_["drive"])),
    "nic-missing": _nic_missing,
    "serial-swapped": _serial_swapped,
    "miscabled": _miscabled,
}
