"""What the amdgpu driver counts, read from files: no process is started and no library is loaded.

GPUs are numbered in the order of their PCI addresses, as amd-smi does. What cannot be read is None, never zero. Heat is
counted by the GPU's own firmware as a share of its accumulation cycles; times the seconds between two looks it becomes
milliseconds. Sources: Linux, Documentation/gpu/amdgpu/ras (err_count files, gpu_vram_bad_pages) and driver-misc;
drivers/gpu/drm/amd/include/kgd_pp_interface.h (gpu_metrics_v1_6, _v1_7, _v1_8).
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .parsers.amd_smi import generation

_AMD, _DISPLAY, _ACCELERATOR = "0x1002", "0x03", "0x12"
_COUNT = re.compile(r"^(ue|ce)\s*:\s*(\d+)\s*$", re.MULTILINE)
_PAGE = re.compile(r"^0x[0-9a-fA-F]+ : 0x[0-9a-fA-F]+ : [RPF]\s*$", re.MULTILINE)
_XGMI = "xgmi_wafl"
# Where accumulation_counter stands in each layout of gpu_metrics (content revision of format 1); the residencies of
# prochot, ppt, socket, regulators and HBM follow it, each 32 bits wide.
_METRICS_AT = {6: 32, 7: 40, 8: 40}
_RESIDENCIES = struct.Struct("<6I")
_WRAP = 2**32

Counters = dict[str, float | None]


@dataclass
class AmdGpus:
    """All GPUs of the node below one root; keeps what heat has cost since the first look. `clock` counts seconds."""

    root: Path
    clock: Callable[[], float] = time.monotonic
    _heat: dict[str, _Heat] = field(default_factory=dict)

    def counters(self) -> dict[str, Counters]:
        """The counters of every GPU, by its number."""
        return {str(index): self._counters(place) for index, place in enumerate(places(self.root))}

    def sampled(self) -> dict[str, Counters]:
        """Temperature and thermal margin (C), power (W), clock (MHz) and PCIe generation of every GPU now."""
        return {str(index): _now(place) for index, place in enumerate(places(self.root))}

    def _counters(self, place: Path) -> Counters:
        counted = {path.name.removesuffix("_err_count"): _text(path) for path in place.glob("ras/*_err_count")}
        links = _counts(counted.pop(_XGMI, None))
        totals = [_counts(text) for text in counted.values()]
        pages = _text(place / "ras/gpu_vram_bad_pages")
        return {
            "ecc_corrected": _sum(row["ce"] for row in totals),
            "ecc_uncorrected": _sum(row["ue"] for row in totals),
            "bad_pages": None if pages is None else float(len(_PAGE.findall(pages))),
            "pcie_replay": _whole(_text(place / "pcie_replay_count")),
            "nvlink_errors": _sum(links.values()),
            "slowed_by_heat": self._heat.setdefault(place.name, _Heat()).so_far(place / "gpu_metrics", self.clock()),
        }


@dataclass
class _Heat:
    """Milliseconds that one GPU was slowed by heat since the first look."""

    milliseconds: float = 0.0
    last: tuple[float, tuple[int, ...]] | None = None

    def so_far(self, path: Path, now: float) -> float | None:
        """Look once more at `now` seconds; None when the table cannot be read or is of an unknown layout."""
        seen = _residencies(path)
        if seen is None:
            return None
        if self.last is not None:
            before, old = self.last
            cycles, _, _, socket, regulators, memory = ((new - was) % _WRAP for new, was in zip(seen, old, strict=True))
            share = min(max(socket, regulators, memory) / cycles, 1.0) if cycles else 0.0
            self.milliseconds += share * (now - before) * 1000.0
        self.last = (now, seen)
        return self.milliseconds


def places(root: Path) -> list[Path]:
    """The folders of AMD's GPUs in sysfs, in the order of their PCI addresses."""
    found = []
    for place in sorted((root / "sys/bus/pci/devices").glob("*")):
        kind = _text(place / "class") or ""
        if _text(place / "vendor") == _AMD and kind.startswith((_DISPLAY, _ACCELERATOR)):
            found.append(place)
    return found


def _residencies(path: Path) -> tuple[int, ...] | None:
    try:
        table = path.read_bytes()
    except OSError:
        return None
    at = _METRICS_AT.get(table[3]) if len(table) > 3 and table[2] == 1 else None
    return _RESIDENCIES.unpack_from(table, at) if at is not None and len(table) >= at + _RESIDENCIES.size else None


def _now(place: Path) -> Counters:
    sensors = next(iter(sorted(place.glob("hwmon/hwmon*"))), place / "hwmon")
    labels = {_text(path): path.name.removesuffix("_label") for path in sensors.glob("temp*_label")}
    junction = labels.get("junction", "none")
    heat, most = (_whole(_text(sensors / f"{junction}_{kind}")) for kind in ("input", "crit"))
    clock = _whole(_text(sensors / "freq1_input"))
    power = [_whole(_text(sensors / f"power1_{kind}")) for kind in ("average", "input")]
    watts = next((value for value in power if value is not None), None)
    speed = (_text(place / "current_link_speed") or "").partition(" ")[0]
    return {
        "temperature": None if heat is None else heat / 1000,
        "thermal_margin": None if heat is None or most is None else (most - heat) / 1000,
        "clock": None if clock is None else clock / 1e6,
        "power": None if watts is None else watts / 1e6,
        "pcie_generation": generation(float(speed)) if re.fullmatch(r"\d+(?:\.\d+)?", speed) else None,
    }


def _counts(text: str | None) -> Mapping[str, float | None]:
    found = dict(_COUNT.findall(text or ""))
    return {kind: float(found[kind]) if kind in found else None for kind in ("ue", "ce")}


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of what must all be known; None where nothing is there or anything is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if found and len(known) == len(found) else None


def _whole(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return None
