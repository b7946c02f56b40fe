"""Tests whose tool is files of the host: read in the probe's own process, since starting one costs more than reading.

Nothing here asks a driver or a remote file system, which could hang for ever; what does runs as a process of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import drive_state, fabric_state, host_hardware, host_processes, host_state, link_flaps, pci_state, roce_state
from .host import ROOT
from .plan import TestSpec
from .process import ToolRun
from .readings import drive_parts, flaps, hardware, pci, processes, roce, settings
from .readings.context import Interpreter

_Look = Callable[[Path, Sequence[str]], dict[str, Any]]
_TOOLS: Mapping[str, tuple[_Look, Interpreter]] = {
    "host-state": (lambda root, _: host_state.state(root), settings.read),
    "kernel-arguments": (lambda root, _: host_state.state(root), settings.read_arguments),
    "huge-pages": (lambda root, _: host_state.state(root), settings.read_huge_pages),
    "host-hardware": (lambda root, _: host_hardware.look(root), hardware.read),
    "host-processes": (lambda root, _: host_processes.look(root), processes.read),
    "host-services": (lambda root, _: host_processes.look(root), processes.read_services),
    "host-mounts": (lambda root, _: host_processes.look(root), processes.read_mounts),
    "fabric-state": (lambda root, given: fabric_state.look(root, given[0]), settings.read_fabric),
    "drive-state": (lambda root, _: drive_state.look(root), drive_parts.read),
    "link-flaps": (link_flaps.look, flaps.read),
    "roce-ports": (roce_state.look, roce.read_ports),
    "roce-settings": (roce_state.look, roce.read_settings),
    "pci-link": (pci_state.look_at_links, pci.read_links),
    "pci-settings": (pci_state.look_at_settings, pci.read_settings),
    "pci-acs": (pci_state.look_at_access_control, pci.read_access_control),
    "scratch-state": (lambda root, _: drive_state.look(root), drive_parts.read_scratch),
}
"""By the tool's name in a suite: what reads the files, and what makes rows of the document."""


def interpreter(tool: str) -> Interpreter | None:
    """Return what makes rows of a look; None for a tool that is not one of these."""
    return _TOOLS[tool][1] if tool in _TOOLS else None


def is_plain(tool: str) -> bool:
    """Whether the tool is files that are read here."""
    return tool in _TOOLS


def read_files(spec: TestSpec) -> ToolRun:
    """Return a look as if a tool had printed it."""
    started = time.monotonic()
    document = _TOOLS[spec.tool][0](Path(os.environ.get(ROOT) or "/"), spec.arguments)
    printed = json.dumps(document, indent=1).encode("utf-8")
    return ToolRun((spec.tool, *spec.arguments), 0, False, False, printed, b"", time.monotonic() - started)
