"""ibstat, ibstatus, rdma link and the sysfs of InfiniBand: which ports are up, at which rate.

The rate of a port that is down means nothing. A disabled port and one that polls are different
faults. Counters that cannot be read are missing and not zero; a counter at 2^32-1 is saturated.
A number that is skipped among the devices is a device that is not there, unless a bond took it.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from .documents import load_json, note_duplicates, plain_lines, uneven
from .guards import torn_end
from .ibstat_ports import Port, judge_ports
from .sheet import Sheet

TOOL = "ibstat"
_CA = re.compile(r"^CA '([^']+)'$")
_PORT = re.compile(r"^\s+Port (\d+):$")
_FIELD = re.compile(r"^\s+([A-Z][A-Za-z ]+): ?(.*)$")
_STATUS = re.compile(r"^Infiniband device '([^']+)' port (\d+) status:$")
_LINK = re.compile(r"^(?:\d+(?:/\d+)?: )?(?:link )?(\S+?)/(\d+):? (.*)$")
_INFO = re.compile(r"^\s*(hca_id|phys_port_cnt|port|state|phys_state|link_layer):\s+(\S+)")
_HCA = re.compile(r"^hca_id:\s+(\S+)$")
_NETDEV = re.compile(r"^(?:[0-9a-f]{4}:\S+ )?(\S+) (?:.*? )?port (\d+) (?:\(\w+ *\) )?==> \S+ \((Up|Down)\)$")
_SYSFS = re.compile(r"^/?sys/class/infiniband/([^/]+)/(?:ports/(\d+)/)?(\S+): (.*)$")
_CA_FIELDS = ("CA type", "Number of ports", "Firmware version", "Hardware version", "Node GUID", "System image GUID",
    "State",
              "Physical state", "Rate", "Base lid", "LMC", "SM lid", "Capability mask", "Port GUID",
                  "Link layer")  # fmt: skip
_PANIC = re.compile(r"^(ibpanic.*|ibwarn.*|.*stat of IB device .* failed.*|.*[Cc]annot open .*)$", re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    is_json = text.lstrip().startswith("[")
    ports = _ports(_json_lines(text, sheet) if is_json else plain_lines(text), sheet)
    for line in _PANIC.findall(text)[:3]:
        sheet.note("document/cut", "file", f"the tool broke off: {line}")
    if not ports:
        sheet.note("document/unreadable", "file", "no port is listed")
    if not is_json:
        torn_end(text, sheet)
    note_duplicates(sheet, [port.name for port in ports], "the port")
    judge_ports(ports, sheet)


def _ports(lines: list[str], sheet: Sheet) -> list[Port]:
    for form, tool, reader in _FORMS:
        if any(form.match(line) for line in lines):
            sheet.tool = tool
            return reader(lines, sheet)
    sheet.tool = "rdma link"
    return _rdma(lines, sheet)


def _json_lines(text: str, sheet: Sheet) -> list[str]:
    """``rdma -j link`` as the lines that it prints without -j."""
    keys = ("state", "physical_state", "netdev", "lid")
    return [
        f"link {link.get('ifname')}/{link.get('port')} " + " ".join(f"{key} {link[key]}" for key in keys if key in link)
        for link in map(mapping, sequence(load_json(text, sheet)))
    ]


def _ibstat(lines: list[str], sheet: Sheet) -> list[Port]:
    ports: list[Port] = []
    announced: dict[str, int] = {}
    device, kind = "", ""
    for line in lines:
        if found := _CA.match(line):
            device, kind = found[1], ""
            _head(lines, line, sheet)
            announced[device] = 0
        elif found := _PORT.match(line):
            ports.append(Port(device, found[1], {"type": kind}))
        elif found := _FIELD.match(line):
            if line.startswith(("\t\t", "        ")) and ports and ports[-1].device == device:
                ports[-1].add(found[1].lower(), found[2], sheet)
            elif found[1] == "CA type":
                kind = found[2]
            elif found[1] == "Number of ports" and device:
                announced[device] = whole(found[2]) or 0
    _announced(announced, ports, sheet)
    return ports


def _announced(announced: dict[str, int], ports: list[Port], sheet: Sheet) -> None:
    for name, count in announced.items():
        if count != sum(port.device == name for port in ports):
            sheet.note("row/missing", name, f"{name} announces {count} ports")


def _head(lines: list[str], line: str, sheet: Sheet) -> None:
    """The fields that every device and port has; one that is missing was lost on the way."""
    if lines.count(line) > 1:
        sheet.note("document/duplicate", line, f"the device {line} is there twice")
    start = lines.index(line) + 1
    block = lines[start : next((end for end in range(start, len(lines)) if _CA.match(lines[end])), len(lines))]
    for name in _CA_FIELDS:
        if not any(own.strip().startswith(name + ":") for own in block):
            sheet.note("row/missing", line, f"{name} is missing")


def _ibstatus(lines: list[str], sheet: Sheet) -> list[Port]:
    ports: list[Port] = []
    for line in lines:
        if found := _STATUS.match(line):
            ports.append(Port(found[1], found[2], {}))
        elif ports and (found := re.match(r"^\s+([a-z][a-z_ ]*):\s*(.*)$", line)):
            name = {"phys state": "physical state", "link_layer": "link layer"}.get(found[1], found[1])
            ports[-1].add(name, found[2], sheet)
        elif line and "Infiniband device".startswith(line[:17]):
            sheet.note("row/unreadable", "file", line)
    uneven(sheet, {port.name: set(port.fields) for port in ports}, "the field")
    return ports


def _rdma(lines: list[str], sheet: Sheet) -> list[Port]:
    ports = []
    bare = named = False
    for line in lines:
        found = _LINK.match(line)
        if found is None:
            continue
        words = found[3].split()
        pairs = dict(zip(words[::2], words[1::2], strict=False))
        fields = {"state": pairs.get("state", ""), "physical state": pairs.get("physical_state", "").replace("_", " "),
                  "netdev": pairs.get("netdev", "")}  # fmt: skip
        if "state" not in pairs and "physical_state" not in pairs:
            if line.startswith("link "):
                sheet.note("row/unreadable", "file", line)
            continue
        ports.append(Port(found[1], found[2], fields, shows_rate=False))
        # An InfiniBand link shows its lids and need not have a network device; in a pod no link has one.
        bare |= not {"netdev", "lid"} & set(pairs)
        named |= bool({"netdev", "lid"} & set(pairs))
        if len(words) % 2 or (bare and named):
            sheet.note("row/unreadable", found[1], line)
    return ports


def _up(up: bool) -> dict[str, str]:
    return {"state": "ACTIVE", "physical state": "LINK UP"} if up else {"state": "DOWN", "physical state": "not told"}


def _devinfo(lines: list[str], sheet: Sheet) -> list[Port]:
    """``ibv_devinfo``: the physical state is printed with -v alone, and an active port has its link."""
    ports: list[Port] = []
    announced: dict[str, int] = {}
    for name, word in (found.groups() for line in lines if (found := _INFO.match(line))):
        device = next(reversed(announced), "")
        if name == "hca_id":
            announced[word] = 1
        elif name == "phys_port_cnt":
            announced[device] = whole(word) or 0
        elif name == "port":
            ports.append(Port(device, word, {}, shows_rate=False))
        elif ports:
            _devinfo_field(ports[-1], name, word)
    _announced(announced, ports, sheet)
    for port in ports:
        if "link_layer" not in port.fields:
            sheet.note("row/missing", port.name, "link_layer is missing")
    return ports


def _devinfo_field(port: Port, name: str, word: str) -> None:
    if name == "state":
        port.fields |= _up(word == "PORT_ACTIVE") | {"state": word.removeprefix("PORT_")}
    else:
        port.fields["physical state" if name == "phys_state" else name] = word.replace("_", " ")


def _netdevs(lines: list[str], sheet: Sheet) -> list[Port]:
    for line in lines:
        if line.strip() and not _NETDEV.match(line):
            sheet.note("row/unreadable", "file", line)
    found = (found for line in lines if (found := _NETDEV.match(line)))
    return [Port(row[1], row[2], _up(row[3] == "Up"), shows_rate=False) for row in found]


def _sysfs(lines: list[str], _: Sheet) -> list[Port]:
    ports: dict[tuple[str, str], Port] = {}
    kinds: dict[str, str] = {}
    names = {"phys_state": "physical state", "link_layer": "link layer"}
    for line in lines:
        found = _SYSFS.match(line)
        if found is None:
            continue
        device, number, name, value = found.groups()
        if number is None:
            kinds[device] = value if name == "hca_type" else kinds.get(device, "")
            continue
        port = ports.setdefault((device, number), Port(device, number, {}, shows_counters=True))
        if name.startswith(("counters/", "hw_counters/")):
            port.counters[name.split("/", 1)[1]] = value
        elif "/" not in name:
            port.fields[names.get(name, name)] = value
    for port in ports.values():
        port.fields.setdefault("type", kinds.get(port.device, ""))
    return list(ports.values())


_FORMS = (
    (_CA, TOOL, _ibstat),
    (_STATUS, "ibstatus", _ibstatus),
    (_SYSFS, "sysfs", _sysfs),
    (_HCA, "ibv_devinfo", _devinfo),
    (_NETDEV, "ibdev2netdev", _netdevs),
)
