"""mlxlink (MFT) with --json: link, module and bit errors of one adapter's port; every value is a text."""

from __future__ import annotations

import json
from typing import Any

from lab.tools.view import NodeView, Output

_LANES = 4
_NO_DEVICE = 5


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render the port of the adapter that ``-d`` names."""
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    rail = next((one for one in view.document.get("rdma", []) if one["device"] == options.get("-d")), None)
    if rail is None:
        status = {"code": 1, "message": f"Failed to identify device {options.get('-d')}"}
        return Output(json.dumps({"result": {"output": {}}, "status": status}, indent=4) + "\n", _NO_DEVICE, 0.3)
    document = {"result": {"output": _output(rail)}, "status": {"code": 0, "message": "success"}}
    return Output(json.dumps(document, indent=4) + "\n", seconds=1.0)


def _lanes(value: str) -> dict[str, list[str]]:
    return {"values": [value] * _LANES}


def _module(rail: dict[str, Any]) -> dict[str, Any]:
    """The transceiver, as the cable's own memory tells of it."""
    up = rail.get("up", True)
    return {
        "Bias Current [mA]": "265.504,265.504,248.416,248.416 [40..480]",
        "DataPath FW Fault": "0",
        "FW Version": "40.242.17",
        "Module FW Fault": "0",
        "Rx CDR LOL [per lane]": _lanes("0"),
        "Rx LOS [per lane]": _lanes("0" if up else "1"),
        "Rx Power Current [dBm]": "2.583,2.253,2.233,2.658 [-9.914..6.999]",
        "Temperature [C]": "52 [-10..80]",
        "Tx CDR LOL [per lane]": _lanes("0"),
        "Tx Fault [per lane]": _lanes("0"),
        "Tx LOS [per lane]": _lanes("0"),
        "Tx Power Current [dBm]": "2.193,1.202,1.708,1.274 [-6.904..6.999]",
        "Vendor Name": "LAB",
        "Vendor Part Number": "OSFP-400G-DR4",
        "Vendor Serial Number": f"LAB-{rail['device']}",
        "Voltage [mV]": "3235.5 [2970..3630]",
    }


def _output(rail: dict[str, Any]) -> dict[str, Any]:
    up = rail.get("up", True)
    return {
        "Module Info": _module(rail),
        "Operational Info": {
            "Auto Negotiation": "ON",
            "FEC": "Standard_RS-FEC - (544,514)",
            "Loopback Mode": "No Loopback",
            "Physical state": "LinkUp" if up else "Polling",
            "Speed": "IB-NDR" if up else "N/A",
            "State": "Active" if up else "Down",
            "Width": "4x" if up else "N/A",
        },
        "Physical Counters and BER Info": {
            "Effective Physical BER": "15E-255",
            "Effective Physical Errors": "0",
            "Link Down Counter": "0",
            "Link Error Recovery Counter": "0",
            "Raw Physical BER": "5E-10",
            "Raw Physical BER Per Lane": _lanes("5E-10"),
            "Raw Physical Errors Per Lane": _lanes("3017647"),
            "Symbol BER": "15E-255",
            "Symbol Errors": "0",
            "Time Since Last Clear [Min]": "2718.1",
        },
        "Tool Information": {"Firmware Version": "28.43.2026", "MFT Version": "4.34.1-10", "amBER Version": "5.75"},
    }
