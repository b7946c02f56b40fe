"""Host tools, BMC resources, neighbours and nodes in more of their forms, in the form of `trap_cases`."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases_forms import MLXLINK
from tests.contract.content.trap_cases_tools import kube

LSCPU = """Architecture:            x86_64
CPU(s):                  96
  On-line CPU(s) list:   0-95
Vendor ID:               GenuineIntel
  Model name:            Intel(R) Xeon(R) Platinum 8480C
    Thread(s) per core:  1
    Core(s) per socket:  48
    Socket(s):           2
NUMA:
  NUMA node(s):          3
  NUMA node0 CPU(s):     0-47
  NUMA node1 CPU(s):     48-95
  NUMA node2 CPU(s):
"""
LSCPU_JSON = json.dumps(
    {
        "lscpu": [
            {"field": "Architecture:", "data": "aarch64"},
            {"field": "CPU(s):", "data": "144"},
            {"field": "Model name:", "data": "Neoverse-V2", "children": [
                {"field": "Thread(s) per core:", "data": "1"},
                {"field": "Core(s) per socket:", "data": "72"},
                {"field": "Socket(s):", "data": "2"},
            ]},
            {"field": "NUMA node(s):", "data": "2"},
        ]
    }
)  # fmt: skip
NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 1031742 MB
node 0 free: 998712 MB
node 1 cpus:
node 1 size: 97280 MB
node 1 free: 97000 MB
node distances:
node   0   1
  0:  10  80
  1:  80  10
"""


def dimm(place: int, size: str = "64 GB", speed: str = "4800 MT/s") -> str:
    """One slot as dmidecode prints it."""
    return (
        f"\nHandle 0x002{place}, DMI type 17, 92 bytes\nMemory Device\n\tSize: {size}\n\tLocator: DIMM_{place}\n"
        f"\tSpeed: 4800 MT/s\n\tSerial Number: S{place}\n\tConfigured Memory Speed: {speed}\n"
    )


DMI = "# dmidecode 3.3\nGetting SMBIOS data from sysfs.\n"
SDR = "PSU1 Status | 0x01 | ok\nFan 1 | 33.32 percent | ok\nInlet Temp | 23 degrees C | ok\nSpare | disabled | ns\n"
LSHW = json.dumps(
    {"id": "gpu-node-1", "class": "system", "product": "SYS-821GE", "serial": "S1", "children": [
        {"id": "core", "class": "bus", "children": [
            {"id": "memory", "class": "memory", "children": [
                {"id": "bank:0", "class": "memory", "size": 68719476736}, {"id": "bank:1", "class": "memory"}]},
            {"id": "cpu:0", "class": "processor"}, {"id": "cpu:1", "class": "processor"}]}]}
)  # fmt: skip


def resource(kind: str, path: str, **more: Any) -> str:
    """One Redfish resource that calls itself healthy."""
    status = {"State": "Enabled", "Health": "OK"}
    return json.dumps({"@odata.type": f"#{kind}.v1_5_0.{kind}", "@odata.id": path, "Status": status, **more})


def thermal(celsius: float | None, rpm: float = 5640) -> str:
    """The older Thermal resource with one sensor and one fan."""
    return resource(
        "Thermal",
        "/redfish/v1/Chassis/1/Thermal",
        Temperatures=[{"Name": "Inlet Temp", "ReadingCelsius": celsius, "UpperThresholdCritical": 42}],
        Fans=[{"Name": "Fan 1", "Reading": rpm, "ReadingUnits": "RPM", "LowerThresholdCritical": 600}],
    )


def leak(state: str) -> str:
    """Detectors that a BMC lists inside the resource of leak detection."""
    detectors = [{"DeviceName": "manifold", "DetectorState": state}]
    return resource(
        "LeakDetection", "/redfish/v1/Chassis/1/LeakDetection", LeakDetectorGroups=[{"Detectors": detectors}]
    )


XML = """<?xml version="1.0" encoding="UTF-8"?>
<lldp label="LLDP neighbors">
 <interface label="Interface" name="eth0" via="LLDP" rid="1" age="0 day, 00:01:10">
  <chassis label="Chassis">
   <id label="ChassisID" type="mac">b8:ce:f6:00:00:01</id>
   <name label="SysName">leaf1</name>
  </chassis>
  <port label="Port">
   <id label="PortID" type="ifname">swp1</id>
   <ttl label="TTL">120</ttl>
  </port>
 </interface>
</lldp>
"""
KEYS = """lldp.eth0.via=LLDP
lldp.eth0.rid=1
lldp.eth0.age=17 days, 09:36:51
lldp.eth0.chassis.mac=02:00:00:00:00:01
lldp.eth0.chassis.name=leaf1
lldp.eth0.chassis.mgmt-ip=192.0.2.9
lldp.eth0.chassis.mgmt-ip=fe80::1
lldp.eth0.port.ifname=swp1
"""
WIDE = (
    "NAME         STATUS   ROLES    AGE   VERSION   INTERNAL-IP   OS-IMAGE             CONTAINER-RUNTIME\n"
    "gpu-node-1   Ready    <none>   10d   v1.31.2   192.0.2.5     Ubuntu 22.04.5 LTS   containerd://1.7.24\n"
)


def split(state: str) -> str:
    """A node whose GPUs are to be split by the operator."""
    node = json.loads(kube({"Ready": "True"}, gpu="8"))
    node["metadata"]["labels"] = {"nvidia.com/mig.config.state": state}
    return json.dumps(node)


def fleet() -> str:
    """A GPU node and one of the control plane."""
    nodes = [json.loads(kube({"Ready": "True"}, gpu="8")), json.loads(kube({"Ready": "True"}))]
    return json.dumps({"kind": "List", "items": nodes})


STREAM_5_9 = """STREAM version $Revision: 5.9 $
This system uses 8 bytes per DOUBLE PRECISION word.
Array size = 20000000, Offset = 0
Total memory required = 457.8 MB.
Each test is run 10 times, but only
the *best* time for each is used.
Number of Threads requested = 8
Number of Threads counted = 8
   (= 12000 clock ticks)
Function      Rate (MB/s)   Avg time     Min time     Max time
Copy:       32000.0000       0.0101       0.0100       0.0103
Scale:      32000.0000       0.0101       0.0100       0.0103
Add:        40000.0000       0.0122       0.0120       0.0125
Triad:      40000.0000       0.0122       0.0120       0.0125
Solution Validates
"""
BABEL = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n" + "".join(
    f"{kernel},100,33554432,8,16172{place}5.3,0.00033,0.00034,0.00033\n"
    for place, kernel in enumerate(("Copy", "Mul", "Add", "Triad", "Dot"))
)
EVENTS = (
    "---\nversion: 1\nevents:\n- EventNum: 0\n  PCRIndex: 0\n  EventType: EV_NO_ACTION\npcrs:\n  sha256:\n"
    + "".join(f"    {pcr:<2} : 0x{pcr + 1:064x}\n" for pcr in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14))
)

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("lscpu with a NUMA node of a GPU", "host-inventory", LSCPU, "pass", ""),
    ("lscpu of a host that lost a socket", "host-inventory", LSCPU.replace("(s):           2", "(s):           1"),
     "incomplete", "96 CPUs"),
    ("lscpu with CPUs switched off", "host-inventory", LSCPU.replace("Vendor",
     "  Off-line CPU(s) list:  90-95\nVendor"),
     "fail-config", "90-95"),
    ("lscpu lacks a NUMA node", "host-inventory", LSCPU.replace("  NUMA node1 CPU(s):     48-95\n", ""), "incomplete",
     "2 of 3"),
    ("lscpu's document", "host-inventory", LSCPU_JSON, "pass", ""),
    ("numactl with memory of a GPU", "host-inventory", NUMACTL, "pass", ""),
    ("numactl lacks a node", "host-inventory", NUMACTL.replace("available: 2", "available: 4"), "incomplete", "2 of 4"),
    ("dmidecode", "host-inventory", DMI + dimm(0) + dimm(1, "No Module Installed") + dimm(2), "pass", ""),
    ("a module that trained slower", "host-inventory", DMI + dimm(0) + dimm(1, speed="4400 MT/s"), "incomplete",
     "4400"),
    ("a host without SMBIOS", "host-inventory", "# dmidecode 3.3\nScanning /dev/mem for entry point.\n"
        "/dev/mem: No such file or directory\n", "tool-error", "/dev/mem"),
    ("ipmitool", "host-inventory", SDR, "pass", ""),
    ("a supply that failed", "host-inventory", SDR.replace("0x01 | ok", "0x08 | cr"), "fail", "PSU1"),
    ("lshw", "host-inventory", LSHW, "pass", ""),
    ("a drive that predicts its failure", "redfish", resource("Drive", "/redfish/v1/Drives/1", FailurePredicted=True),
     "fail", "predicts"),
    ("a drive whose media is used up", "redfish",
     resource("Drive", "/redfish/v1/Drives/1", PredictedMediaLifeLeftPercent=0), "fail", "life"),
    ("temperatures and fans", "redfish", thermal(24), "pass", ""),
    ("an inlet that is too hot", "redfish", thermal(45), "fail", "critical limit 42"),
    ("a fan that stands", "redfish", thermal(24, 0), "fail", "Fan 1"),
    ("a detector inside of its group", "redfish", leak("Critical"), "fail", "detector state Critical"),
    ("a dry detector inside of its group", "redfish", leak("OK"), "pass", ""),
    ("a port without a link", "redfish", resource("Port", "/redfish/v1/Ports/1", LinkStatus="LinkDown"), "fail",
     "LinkDown"),
    ("power and temperature of a GPU", "redfish", json.dumps({
        "@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics", "@odata.id": "/redfish/v1/E",
        "PowerWatts": {"Reading": 692.1}, "TemperatureCelsius": {"Reading": 61.0}}), "pass", ""),
    ("STREAM of 2009", "stream", STREAM_5_9, "pass", ""),
    ("STREAM of 2009, rate and time", "stream", STREAM_5_9.replace("32000", "64000", 1), "incomplete", "Copy"),
    ("BabelStream for programs", "stream", BABEL, "pass", ""),
    ("BabelStream for programs, a kernel short", "stream", BABEL.replace("Mul", "Nstream"), "incomplete", "Mul"),
    ("an event log", "tpm", EVENTS, "pass", ""),
    ("an event log that is cut", "tpm", EVENTS.partition("pcrs:")[0], "incomplete", "missing"),
    ("an event log that measures nothing into a PCR", "tpm", EVENTS.replace(f"{5:064x}", "0" * 64), "fail", "PCR 4"),
    ("neighbours as XML", "lldp", XML, "pass", ""),
    ("neighbours as XML, without the port", "lldp", XML.replace('   <id label="PortID" type="ifname">swp1</id>\n', ""),
     "incomplete", "switch port"),
    ("neighbours as XML, cut", "lldp", XML.partition("</lldp>")[0], "incomplete", "does not end"),
    ("a switch with two addresses", "lldp", KEYS, "pass", ""),
    ("a switch with two names", "lldp", KEYS.replace("chassis.mgmt-ip", "chassis.name"), "incomplete", "twice"),
    ("kubectl's wide table", "k8s", WIDE, "pass", ""),
    ("an API server that refuses", "k8s", 'Error from server (Forbidden): nodes "n1" is forbidden\n', "tool-error",
     "Forbidden"),
    ("a split that failed", "k8s", split("failed"), "fail-config", "failed"),
    ("a split that goes on", "k8s", split("pending"), "incomplete", "pending"),
    ("a split that is done", "k8s", split("success"), "pass", ""),
    ("a control plane beside a GPU node", "k8s", fleet(), "pass", "without GPUs"),
    ("a BlueField-3 counts no links", "mlxlink", MLXLINK.replace("Link Down Counter                  : 0\n",
     "").replace(
        "Link Error Recovery Counter        : 0\n", ""), "pass", ""),
    ("one of the link's counters is lost", "mlxlink", MLXLINK.replace("Link Down Counter                  : 0\n", ""),
     "incomplete", "Link Down"),
)  # fmt: skip
