"""ibstat (infiniband-diags): every adapter with its one port, InfiniBand, active or polling."""

from __future__ import annotations

from typing import Any

from lab.tools.view import NodeView, Output


def run(_tool: str, _arguments: list[str], view: NodeView) -> Output:
    """List all adapters."""
    lines = [line for number, rail in enumerate(view.document.get("rdma", [])) for line in _adapter(number, rail)]
    return Output("\n".join(lines) + "\n" if lines else "", 0 if lines else 255, 0.2)


def _adapter(number: int, rail: dict[str, Any]) -> list[str]:
    up, guid = rail.get("up", True), f"0xb83fd20300{number:06x}"
    return [
        f"CA '{rail['device']}'",
        "\tCA type: MT4129",
        "\tNumber of ports: 1",
        "\tFirmware version: 28.43.2026",
        "\tHardware version: 0",
        f"\tNode GUID: {guid}",
        f"\tSystem image GUID: {guid}",
        "\tPort 1:",
        f"\t\tState: {'Active' if up else 'Down'}",
        f"\t\tPhysical state: {'LinkUp' if up else 'Polling'}",
        f"\t\tRate: {rail.get('port_rate_gbps', 400) if up else 10}",
        f"\t\tBase lid: {number + 1 if up else 65535}",
        "\t\tLMC: 0",
        "\t\tSM lid: 1",
        "\t\tCapability mask: 0xa751e848",
        f"\t\tPort GUID: {guid}",
        "\t\tLink layer: InfiniBand",
    ]
