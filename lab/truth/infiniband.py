"""The lab's fabric as ibnetdiscover prints it: every adapter of the nodes at its leaf, from what is really cabled.

Format: infiniband-diags, ibnetdiscover(8), topology file.
"""

from __future__ import annotations

from collections.abc import Iterable

from lab.truth.parts import Parts

_SWITCH_PORTS = 64
_RATE = "4xNDR"


def topology(nodes: Iterable[tuple[str, Parts]], without: Iterable[tuple[str, int]] = ()) -> str:
    """The file for nodes by name; `without` names adapters, by node and number, that have no link."""
    dark = set(without)
    adapters = [
        (
            f"{0xB83FD20000000000 + place * 256 + nic.index:016x}",
            f"{name} mlx5_{nic.index}",
            nic.switch,
            _port(nic.port),
        )
        for place, (name, parts) in enumerate(nodes)
        for nic in parts.nics
        if nic.role == "fabric" and (name, nic.index) not in dark
    ]
    switches = sorted({switch for _, _, switch, _ in adapters})
    guids = {switch: f"{0xFC6A1C0000000000 + place:016x}" for place, switch in enumerate(switches)}
    blocks = ["#\n# Topology file: generated on Mon Nov 30 12:00:00 2026\n#\n"]
    for switch in switches:
        guid = guids[switch]
        head = f'Switch\t{_SWITCH_PORTS} "S-{guid}"\t\t# "MF0;{switch}:MQM9700/U1" enhanced port 0 lid 1 lmc 0\n'
        rows = [
            f'[{port}]\t"H-{own}"[1]({own}) \t\t# "{said}" lid 9 {_RATE}\n'
            for own, said, at, port in sorted(adapters, key=lambda one: one[3])
            if at == switch
        ]
        blocks.append(f"vendid=0x2c9\ndevid=0xd2f2\nswitchguid=0x{guid}({guid})\n{head}{''.join(rows)}")
    for own, said, switch, port in adapters:
        row = f'[1]({own}) \t"S-{guids[switch]}"[{port}]\t\t# lid 9 lmc 0 "MF0;{switch}:MQM9700/U1" lid 1 {_RATE}\n'
        blocks.append(f'vendid=0x2c9\ndevid=0x1021\ncaguid=0x{own}\nCa\t1 "H-{own}"\t\t# "{said}"\n{row}')
    return "\n".join(blocks)


def _port(label: str) -> int:
    return int(label.removeprefix("swp"))
