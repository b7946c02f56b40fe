"""Which transport NCCL says it used, from its own INFO lines (``NCCL_DEBUG=INFO``).

A bandwidth without a proven transport says nothing about a link. Only lines that state a
connection count: "multicast support is available" is an ability, "nvls channels" is a use.
The weakest path of a communicator decides, because a ring is as fast as its slowest hop.
"""

from __future__ import annotations

import re

_VIA = re.compile(r"NCCL INFO Channel .* via (?P<path>\S+)")
_NVLS_CHANNELS = re.compile(r"NCCL INFO .*?(?P<count>\d+) nvls channels")
_NVLS_TREE = re.compile(r"NCCL INFO Connected NVLS tree")
_ALGORITHM = re.compile(r"NCCL INFO .*-> Algo (?P<name>[A-Za-z_]+|\d+)")
_VERSION = re.compile(r"(?:NCCL|RCCL) version\s*:?\s*(?P<version>\d+\.\d+\.\d+)")
_NVLS_ALGORITHMS = frozenset({"NVLS", "NVLSTREE", "NVLS_TREE", "4", "5"})
_WEAKEST_FIRST = ("NET/Socket", "SHM", "NET/IB", "P2P")


def transport(text: str) -> str | None:
    """One of NET/Socket, SHM, NET/IB, NVLS, P2P, or None where nothing was stated."""
    paths = {_path_kind(match["path"]) for match in _VIA.finditer(text)}
    for kind in _WEAKEST_FIRST[:3]:
        if kind in paths:
            return kind
    if _uses_nvls(text):
        return "NVLS"
    return "P2P" if "P2P" in paths else None


def nccl_version(text: str) -> str | None:
    """The library's version as it prints it, for example ``2.19.3``."""
    found = _VERSION.search(text)
    return found["version"] if found else None


def _path_kind(path: str) -> str:
    if path.startswith("NET/IB"):
        return "NET/IB"
    if path.startswith("NET/Socket"):
        return "NET/Socket"
    if path.startswith("NET/"):
        return "NET/IB"  # plug-ins for EFA and libfabric name themselves after the provider
    if path.startswith("SHM"):
        return "SHM"
    return "P2P" if path.startswith("P2P") else path


def _uses_nvls(text: str) -> bool:
    algorithms = [match["name"].upper() for match in _ALGORITHM.finditer(text)]
    if algorithms:
        return all(name in _NVLS_ALGORITHMS for name in algorithms)
    counts = [int(match["count"]) for match in _NVLS_CHANNELS.finditer(text)]
    if counts:
        return min(counts) > 0
    return bool(_NVLS_TREE.search(text))
