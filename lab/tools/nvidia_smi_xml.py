"""``nvidia-smi -q -x``: the elements of DTD v12 that tools read, not the whole tree."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from lab.tools.view import NodeView

Element = tuple[str, "str | list[Element]"]
_REASONS = (
    ("gpu_idle", 0x1),
    ("applications_clocks_setting", 0x2),
    ("sw_power_cap", 0x4),
    ("hw_slowdown", 0x8),
    ("sync_boost", 0x10),
    ("sw_thermal_slowdown", 0x20),
    ("hw_thermal_slowdown", 0x40),
    ("hw_power_brake_slowdown", 0x80),
)


def render(view: NodeView) -> str:
    """The whole document."""
    lines = ['<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', "<nvidia_smi_log>"]
    head: list[Element] = [
        ("timestamp", str(view.document["now"])),
        ("driver_version", str(view.image.get("driver", ""))),
        ("cuda_version", str(view.image.get("cuda", ""))),
        ("attached_gpus", str(len(view.gpus))),
    ]
    for element in head:
        lines += _lines(element, 1)
    for gpu in view.gpus:
        lines.append(f'\t<gpu id="{gpu["pci_bus_id"]}">')
        for element in _gpu(gpu):
            lines += _lines(element, 2)
        lines.append("\t</gpu>")
    return "\n".join([*lines, "</nvidia_smi_log>"]) + "\n"


def _lines(element: Element, depth: int) -> list[str]:
    name, content = element
    indent = "\t" * depth
    if isinstance(content, str):
        return [f"{indent}<{name}>{escape(content)}</{name}>"]
    inner = [line for child in content for line in _lines(child, depth + 1)]
    return [f"{indent}<{name}>", *inner, f"{indent}</{name}>"]


def _gpu(gpu: dict[str, Any]) -> list[Element]:
    return [
        ("product_name", gpu["name"]),
        ("product_architecture", "Hopper"),
        ("persistence_mode", _enabled(gpu["persistence_mode"])),
        ("mig_mode", [(f"{when}_mig", _enabled(gpu.get("mig", False))) for when in ("current", "pending")]),
        ("serial", gpu["serial"]),
        ("uuid", gpu["uuid"]),
        ("vbios_version", gpu["vbios"]),
        ("inforom_version", [("img_version", gpu["inforom"])]),
        ("pci", _pci(gpu)),
        ("clocks_event_reasons", [(f"clocks_event_reason_{name}", _active(gpu["throttle_reasons"] & bit))
                                  for name, bit in _REASONS]),
        ("fb_memory_usage", [("total", f"{gpu['memory_total_mib']} MiB"), ("used", "1 MiB")]),
        ("ecc_errors", [("volatile", [("sram_correctable", "0"), ("sram_uncorrectable_parity", "0"),
                                      ("dram_correctable", str(gpu["ecc_corrected"])),
                                      ("dram_uncorrectable", str(gpu["ecc_uncorrected"]))])]),
        ("remapped_rows", _remapped(gpu["remap"])),
        ("temperature", [("gpu_temp", f"{gpu['temperature_celsius']} C"),
                         ("memory_temp", f"{gpu['memory_temperature_celsius']} C")]),
        ("gpu_power_readings", [("instant_power_draw", f"{gpu['power_watts']:.2f} W"),
                                ("current_power_limit", f"{gpu['power_limit_watts']:.2f} W")]),
        ("fabric", [("state", "Completed" if gpu["fabric_state"] == 3 else "In Progress"),
                    ("status", "Success" if gpu["fabric_status"] == 0 else "Failure")]),
    ]  # fmt: skip


def _pci(gpu: dict[str, Any]) -> list[Element]:
    domain, bus, device = gpu["pci_bus_id"].split(":")
    return [
        ("pci_bus", bus),
        ("pci_device", device.partition(".")[0]),
        ("pci_domain", domain[-4:]),
        ("pci_device_id", gpu["pci_device_id"]),
        ("pci_bus_id", gpu["pci_bus_id"]),
        ("pci_gpu_link_info", [
            ("pcie_gen", [("max_link_gen", str(gpu["pcie_generation_max"])),
                          ("current_link_gen", str(gpu["pcie_generation"]))]),
            ("link_widths", [("max_link_width", f"{gpu['pcie_width_max']}x"),
                             ("current_link_width", f"{gpu['pcie_width']}x")]),
        ]),
        ("replay_counter", str(gpu["pcie_replay"])),
    ]  # fmt: skip


def _remapped(remap: dict[str, Any]) -> list[Element]:
    return [
        ("remapped_row_corr", str(remap["correctable"])),
        ("remapped_row_unc", str(remap["uncorrectable"])),
        ("remapped_row_pending", "Yes" if remap["pending"] else "No"),
        ("remapped_row_failure", "Yes" if remap["failure"] else "No"),
    ]


def _enabled(state: object) -> str:
    return "Enabled" if state else "Disabled"


def _active(state: object) -> str:
    return "Active" if state else "Not Active"
