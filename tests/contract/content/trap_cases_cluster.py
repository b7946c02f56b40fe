"""Forms that operators take from clusters: chosen fields, YAML of nodes, neighbours, in the form of `trap_cases`."""

from __future__ import annotations

import json

from tests.data.content_seeds_smi import TEXT, XML
from tests.data.content_seeds_text import table

_MIG_ROW = """| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   0   0  |              44MiB / 71424MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 59241MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""
TABLE_610 = table().replace("Driver Version:", "KMD Version:").replace("CUDA Version", "CUDA UMD Version")
IN_PARTS = (
    table()
    .replace("10:00.0 Off |                    0 |", "10:00.0 Off |                   On |")
    .replace("|      0%      Default |", "|     N/A      Default |", 1)
    .replace("| Processes: |", _MIG_ROW + "| Processes: |")
)
TEXT_610 = TEXT.replace(
    "Version                            : 550.90.07", "Version : 610.43.02 [Deprecated; will be removed]"
)

QUERY = """index, name, uuid, temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.sram, \
remapped_rows.pending
0, NVIDIA H100 80GB HBM3, GPU-0000, 31, 71.22 W, 0, No
1, NVIDIA H100 80GB HBM3, GPU-0001, 30, 70.85 W, 0, No
"""
_EVERY = {
    "timestamp": "2026/09/01 20:47:29.320", "driver_version": "610.43.02", "kmd_version": "610.43.02", "count": "1",
    "name": "NVIDIA H200", "uuid": "GPU-0001", "pci.bus_id": "00000000:83:00.0", "pcie.link.gen.hostmax": "[N/A]",
    "index": "0", "display_mode": "[Requested functionality has been deprecated]", "driver_model.current": "[N/A]",
    "inforom.pwr": "[N/A]", "inforom.checksum_validation": "valid", "gpu_recovery_action": "None",
    "gom.current": "[N/A]", "fan.speed [%]": "[N/A]", "pstate": "P0",
    "clocks_event_reasons.hw_slowdown": "Not Active", "memory.total [MiB]": "143771 MiB",
    "utilization.gpu [%]": "0 %", "ecc.errors.uncorrected.volatile.device_memory": "[N/A]",
    "ecc.errors.uncorrected.volatile.sram": "0", "ecc.errors.uncorrected.volatile.total": "0",
    "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded": "No", "retired_pages.pending": "[N/A]",
    "remapped_rows.pending": "No", "remapped_rows.failure": "No", "temperature.gpu": "40",
    "temperature.memory": "39", "power.management": "[Requested functionality has been deprecated]",
    "power.draw [W]": "130.44 W", "module.power.limit [W]": "[N/A]",
    "clocks.applications.graphics [MHz]": "[Requested functionality has been deprecated]",
    "mig.mode.current": "Disabled", "fabric.state": "Completed", "fabric.status": "Success",
    "fabric.health.summary": "N/A", "fabric.health.bandwidth": "N/A", "platform.chassis_serial_number": "",
    "hostname": "[N/A]", "bbx.time_run [seconds]": "13572765 seconds",
}  # fmt: skip


def _every(**changed: str) -> str:
    """Each field that driver 610 offers of the kinds that matter; a change names the field with __ for the dot."""
    row = {**_EVERY, **{name.replace("__", "."): value for name, value in changed.items()}}
    return ", ".join(row) + "\n" + ", ".join(row.values()) + "\n"


def _fabric_xml(bandwidth: str, health: str = "") -> str:
    own = (
        "<fabric>\n   <state>Completed</state>\n   <status>Success</status>\n   <health>\n"
        f"    <summary>{health or 'Healthy'}</summary>\n    <bandwidth>{bandwidth}</bandwidth>\n"
        "    <route_unhealthy>False</route_unhealthy>\n    <incorrect_configuration>None</incorrect_configuration>\n"
        "   </health>\n  </fabric>\n  <processes>"
    )
    return XML.replace("<processes>", own)


def _fabric_text(route: str) -> str:
    return TEXT.replace(
        "    Processes ",
        "    Fabric\n        State                             : Completed\n"
        "        Status                            : Success\n        Health\n"
        f"            Bandwidth                     : N/A\n            Route Unhealthy               : {route}\n"
        "    Processes ",
    )


ERRORS = "".join(
    f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-000{gpu})\n"
    + "".join(
        f"\t Link {link}: {what}: 0\n"
        for link in range(3)
        for what in ("Replay Errors", "Recovery Errors", "CRC Errors")
    )
    for gpu in range(2)
)
NODE = """apiVersion: v1
kind: Node
metadata:
  labels:
    kubernetes.io/hostname: gpu-node-1
    nvidia.com/gpu.count: "8"
    nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
  name: gpu-node-1
spec:
  taints:
  - effect: NoSchedule
    key: nvidia.com/gpu
    value: present
status:
  allocatable:
    cpu: "127"
    ephemeral-storage: "18650540123"
    hugepages-1Gi: "0"
    memory: 2113360620Ki
    nvidia.com/gpu: "8"
    pods: "110"
  capacity:
    cpu: "128"
    ephemeral-storage: 19650540Ki
    hugepages-1Gi: "0"
    memory: 2113463020Ki
    nvidia.com/gpu: "8"
    pods: "110"
  conditions:
  - lastHeartbeatTime: "2026-11-30T10:00:00Z"
    message: kubelet has sufficient memory available
    reason: KubeletHasSufficientMemory
    status: "False"
    type: MemoryPressure
  - message: kubelet is posting ready status
    reason: KubeletReady
    status: "True"
    type: Ready
  nodeInfo:
    kubeletVersion: v1.31.2
"""
KEYS = "".join(
    f"lldp.{port}.via=LLDP\nlldp.{port}.rid=4\nlldp.{port}.age=0 day\nlldp.{port}.chassis.mac=02:00:00:00:00:01\n"
    f"lldp.{port}.chassis.name=leaf-1\nlldp.{port}.port.ifname=swp{place}\nlldp.{port}.port.ttl=120\n"
    for place, port in enumerate(("p0", "p1"))
)
LIDS = "".join(
    f"link mlx5_{place}/1 subnet_prefix fe80:: lid {place + 7} sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP\n"
    for place in range(2)
)
DEVINFO = "".join(
    f"hca_id:\tmlx5_{place}\n\ttransport:\tInfiniBand (0)\n\tphys_port_cnt:\t1\n\t\tport:\t1\n"
    "\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t4096 (5)\n\t\t\tlink_layer:\tInfiniBand\n\n"
    for place in range(2)
)
NETDEVS = "mlx5_0 port 1 ==> ibp24s0 (Up)\nmlx5_1 port 1 ==> ibp41s0 (Up)\n"
BAR = "-" * 79 + "\n"
PLAIN = (
    BAR
    + "LLDP neighbors:\n"
    + "".join(
        f"{BAR}Interface:    {port}, via: LLDP, RID: 4, Time: 1 day, 03:21:35\n  Chassis:\n"
        f"    ChassisID:    mac 02:00:00:00:00:01\n    SysName:      leaf-1\n  Port:\n"
        f"    PortID:       ifname swp{place}\n    TTL:          120\n"
        for place, port in enumerate(("p0", "p1"))
    )
    + BAR
)
TWO_LISTED = "GPU 0: NVIDIA B200 (UUID: GPU-a)\nGPU 1: NVIDIA B200 (UUID: GPU-b)\n"

PTP = "".join(
    f"ptp4l[{second}.1]: master offset         {second % 7} s2 freq   -1234 path delay       200\n"
    for second in range(4)
)
_RESULTS = [{"gpu_ids": str(gpu), "status": "Pass"} for gpu in range(4)]
DIAG = {
    "DCGM GPU Diagnostic": {
        "test_categories": [
            {
                "category": "Hardware",
                "tests": [
                    {"name": "GPU Memory", "results": [{"gpu_ids": str(gpu), "status": "Pass"} for gpu in range(4)]}
                ],
            }
        ]
    },
    "version": "3.3.9",
}
ALLTOALL = (
    "# nThread 1 nGpus 2 minBytes 1073741824 maxBytes 2147483648 step: 2(factor) warmup iters: 1 iters: 20"
    " agg iters: 1 validation: 1 graph: 0\n# Using devices\n"
    + "".join(f"#  Rank  {rank} Group  0 Pid 1 on n device  {rank} [0x0{rank}] NVIDIA H100\n" for rank in range(2))
    + "#       size    count   type   redop  root   time   algbw   busbw #wrong   time   algbw   busbw #wrong\n"
    + " 1073741824  134217728  float  none  -1  2800.0  383.48  191.74  0  2810.0  382.11  191.06  N/A\n"
)
ABORTED = "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n"

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("chosen fields", "nvidia-smi", QUERY, "pass", ""),
    ("chosen fields without units", "nvidia-smi", QUERY.replace(" W,", ","), "pass", ""),
    ("a chosen field that is unknown", "nvidia-smi", QUERY.replace("70.85 W", "[N/A]"), "incomplete", "power"),
    (
        "a chosen field that the driver cannot read",
        "nvidia-smi",
        QUERY.replace(" 30,", " [Unknown Error],"),
        "fail",
        "Unknown",
    ),
    ("an error among the chosen fields", "nvidia-smi", QUERY.replace("70.85 W, 0", "70.85 W, 2"), "fail", "volatile"),
    ("a remap that waits among them", "nvidia-smi", QUERY.replace("0, No\n1", "0, Yes\n1"), "fail", "pending"),
    ("chosen fields, one GPU lost", "nvidia-smi", QUERY.replace("1, NVIDIA", "2, NVIDIA"), "incomplete", "missing"),
    ("chosen fields, another unit", "nvidia-smi", QUERY.replace("71.22 W", "71.22 mW"), "incomplete", "mW"),
    ("every field there is", "nvidia-smi", _every(), "pass", ""),
    (
        "many ECC errors in SRAM",
        "nvidia-smi",
        _every(ecc__errors__uncorrected__aggregate__sram__thresholdExceeded="Yes"),
        "fail",
        "thresholdExceeded",
    ),
    ("a driver that asks for a reboot", "nvidia-smi", _every(gpu_recovery_action="Node Reboot"), "fail", "Node Reboot"),
    ("an InfoROM that is broken", "nvidia-smi", _every(inforom__checksum_validation="invalid"), "fail", "inforom"),
    ("a fabric that is not ready", "nvidia-smi", _every(fabric__state="In Progress"), "fail", "fabric.state"),
    ("a fabric with less bandwidth", "nvidia-smi", _every(fabric__health__bandwidth="Degraded"), "fail", "bandwidth"),
    (
        "a healthy fabric",
        "nvidia-smi",
        _every(fabric__health__summary="Healthy", fabric__health__bandwidth="Full"),
        "pass",
        "",
    ),
    (
        "rows of which nothing is known",
        "nvidia-smi",
        _every(remapped_rows__pending="[N/A]", remapped_rows__failure="[N/A]"),
        "incomplete",
        "retired_pages",
    ),
    ("a temperature that is a word", "nvidia-smi", _every(temperature__gpu="abc"), "incomplete", "temperature"),
    (
        "a counter without its sum",
        "nvidia-smi",
        _every(ecc__errors__uncorrected__volatile__total="[N/A]"),
        "incomplete",
        "device_memory",
    ),
    ("the table of driver 610", "nvidia-smi", TABLE_610, "pass", ""),
    ("the table with a GPU in MIG mode", "nvidia-smi", IN_PARTS, "pass", ""),
    ("errors of a MIG device", "nvidia-smi", IN_PARTS.replace("60      0", "60      2"), "fail", "2 uncorrected"),
    ("MIG mode without its devices", "nvidia-smi", IN_PARTS.replace(_MIG_ROW, ""), "incomplete", "not counted"),
    ("the table with ECC off", "nvidia-smi", TABLE_610.replace("  0 |", "Off |"), "incomplete", "ECC is Off"),
    ("the long form of driver 610", "nvidia-smi", TEXT_610, "pass", ""),
    (
        "a driver that has only its newer name",
        "nvidia-smi",
        TEXT.replace("Driver Version   ", "KMD Version      "),
        "pass",
        "",
    ),
    ("a fabric in full health", "nvidia-smi", _fabric_xml("Full"), "pass", ""),
    ("a fabric with degraded links", "nvidia-smi", _fabric_xml("Degraded"), "fail", "bandwidth is Degraded"),
    ("a fabric of limited capacity", "nvidia-smi", _fabric_xml("Full", "Limited Capacity"), "fail", "Limited"),
    ("a fabric without health", "nvidia-smi", _fabric_text("N/A"), "pass", ""),
    ("a fabric with a lost route", "nvidia-smi", _fabric_text("True"), "fail", "route_unhealthy"),
    ("only the names of chosen fields", "nvidia-smi", QUERY.partition("\n")[0] + "\n", "incomplete", "no GPU"),
    ("error counters of links", "nvidia-smi", ERRORS, "pass", ""),
    (
        "a link that replays",
        "nvidia-smi",
        ERRORS.replace("Replay Errors: 0", "Replay Errors: 7", 1),
        "incomplete",
        "Replay",
    ),
    (
        "a counter of a link lost",
        "nvidia-smi",
        ERRORS.replace("\t Link 2: CRC Errors: 0\n", "", 1),
        "incomplete",
        "17 of 18",
    ),
    ("a list of GPUs", "nvidia-smi", TWO_LISTED, "pass", ""),
    ("a node in YAML", "k8s", NODE, "pass", ""),
    (
        "a node in YAML that lost a GPU",
        "k8s",
        NODE.replace('gpu: "8"\n    pods: "110"\n  cap', 'gpu: "7"\n    pods: "110"\n  cap'),
        "fail",
        "7 of 8",
    ),
    ("a node in YAML that is not ready", "k8s", NODE.replace('status: "True"', 'status: "False"'), "fail", "Ready"),
    ("a node in YAML, cut", "k8s", NODE.partition("  - message: kubelet is")[0], "incomplete", "Ready"),
    (
        "a list of nodes in YAML",
        "k8s",
        "apiVersion: v1\nitems:\n- " + NODE.replace("\n", "\n  ").rstrip() + "\nkind: List\n",
        "pass",
        "",
    ),
    ("a clock by PTP", "time-sync", PTP, "pass", ""),
    ("a servo that is not locked", "time-sync", PTP.replace(" s2 ", " s1 "), "fail", "not locked"),
    ("far from its master", "time-sync", PTP.replace("offset         3", "offset  12345678"), "fail", "limit"),
    ("a diagnostic of DCGM 3.3", "dcgm-diag-json", json.dumps(DIAG), "pass", ""),
    (
        "a test skipped on one GPU of four",
        "dcgm-diag-json",
        json.dumps(DIAG).replace("Pass", "Skip", 1),
        "not-run",
        "skipped on GPU 0",
    ),
    (
        "errors of an AMD GPU",
        "dmesg",
        "[  1.000001] amdgpu 0000:05:00.0: 1 uncorrectable hardware errors detected in umc block\n[  2.1] end\n",
        "fail",
        "uncorrectable",
    ),
    ("a collective that was aborted", "nccl-tests", ALLTOALL + ABORTED, "tool-error", "MPI_ABORT"),
    ("links of InfiniBand", "ibstat", LIDS, "pass", ""),
    ("adapters by ibv_devinfo", "ibstat", DEVINFO, "pass", ""),
    ("an adapter that is down by ibv_devinfo", "ibstat", DEVINFO.replace("ACTIVE (4)", "DOWN (1)", 1), "fail", "DOWN"),
    ("a port that is down by ibdev2netdev", "ibstat", NETDEVS.replace("Up", "Down", 1), "fail", "DOWN"),
    ("neighbours as keys", "lldp", KEYS, "pass", ""),
    ("a neighbour without its port", "lldp", KEYS.replace("lldp.p1.port.ifname=swp1\n", ""), "incomplete", "port"),
    ("neighbours for people", "lldp", PLAIN, "pass", ""),
    ("neighbours for people, cut", "lldp", PLAIN[: -len(BAR)], "incomplete", "closes"),
)
