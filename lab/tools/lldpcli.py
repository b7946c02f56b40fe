"""lldpcli: ``-f json0 show neighbors``, the uniform JSON form (every value sits in a list)."""

from __future__ import annotations

import json
from typing import Any

from lab.tools.view import NodeView, Output


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render the neighbours of all interfaces."""
    if "show" not in arguments or not any(word.startswith("neigh") for word in arguments):
        return Output("", 1, error="lldpcli: the lab knows only: show neighbors\n")
    if "json0" not in arguments:
        return Output(
            "", 1, error="lldpcli: the lab renders -f json0 only; the other forms differ by neighbour count\n"
        )
    neighbours = [_neighbour(number, entry) for number, entry in enumerate(view.document.get("lldp", []), start=1)
                  if entry.get("switch")]  # fmt: skip
    return Output(json.dumps({"lldp": [{"interface": neighbours}]}, indent=2) + "\n", seconds=0.1)


def _neighbour(number: int, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": entry["interface"],
        "via": "LLDP",
        "rid": str(number),
        "age": "0 day, 00:14:03",
        "chassis": [{
            "id": [{"type": "mac", "value": f"02:00:00:00:00:{number:02x}"}],
            "name": [{"value": entry["switch"]}],
            "descr": [{"value": "Cumulus Linux version 5.9.1 running on Mellanox SN4700"}],
            "capability": [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": True}],
        }],
        "port": [{
            "id": [{"type": "ifname", "value": entry["port"]}],
            "descr": [{"value": entry["port"]}],
            "ttl": [{"value": "120"}],
        }],
    }  # fmt: skip
