"""More forms of tools that test a host and its links, in the form of `trap_cases`: each word is by content alone."""

from __future__ import annotations

import json

from tests.contract.content.trap_cases import HEALTHY, swap

BW = HEALTHY["perftest"]
ASKED = "stress-ng: info:  [411] setting to a 20 second run per stressor\n" + HEALTHY["stress-ng"]
WHOLE = ASKED.replace("a 20 second", "a 10 second")
TALLY = (
    "stress-ng: info:  [7] setting to a 1 min run per stressor\nstress-ng: info:  [7] dispatching hogs: 4 cpu\n"
    "stress-ng: info:  [7] skipped: 0\nstress-ng: info:  [7] passed: 4: cpu (4)\nstress-ng: info:  [7] failed: 0\n"
    "stress-ng: info:  [7] successful run completed in 1 min, 0.01 secs\n"
)
SOURCES = """210 Number of sources = 2
MS Name/IP address         Stratum Poll Reach LastRx Last sample
===============================================================================
#* PHC0                          0   3   377    11    -63ns[ +758ns] +/- 1711ns
^- ntp.example.org               2   6   377   111    -31ms[  -31ms] +/-  116ms
"""
NTPQ = """     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
*time.example.or .GPS.            1 u   35   64  377    0.345   -0.012   0.034
"""
PTP = "ptp4l[9.1]: master offset         -5 s2 freq   -1234 path delay       234\n"
ROW = "C0000202,192.0.2.2,3,1796068251.1,0.000004709,0.000004989,0.000021751,2.1,0.0,0.0,0.0004,0.0185,256.9,Normal\n"
ATA = """smartctl 7.1 2019-12-30 r5022 [x86_64-linux-5.4.0] (local build)

=== START OF INFORMATION SECTION ===
Device Model:     EXAMPLE HDD
Serial Number:    S3
Firmware Version: AX001U

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

General SMART Values:
Error logging capability:        (0x01)	Error logging supported.

ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   100   100   036    Pre-fail  Always       -       0
194 Temperature_Celsius     0x0022   036   040   000    Old_age   Always       -       36 (0 19 0 0)
197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       0

SMART Error Log Version: 1
No Errors Logged
"""
SAS = """smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)

=== START OF INFORMATION SECTION ===
Vendor:               SEAGATE
Product:              ST1800MM
Revision:             N003
Serial number:        S4
SMART Health Status: OK
Elements in grown defect list: 0

Error counter log:
           Errors Corrected by           Total   Correction     Gigabytes    Total
read:   1521076288        0         0  1521076288          0      25920.949           0
write:         0        0         0         0          0       1543.290           0
"""
RDMA = [
    {"ifindex": i, "ifname": f"mlx5_{i}", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP"} for i in (0, 1)
]
FIO = """a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=15098: Mon Nov 30 20:22:07 2026
  read: IOPS=12.3k, BW=48.2MiB/s (50.5MB/s)(38.0MiB/1001msec)
    clat percentiles (usec):
     | 99.00th=[ 2638], 99.50th=[ 3949], 99.90th=[10814], 99.95th=[11731],

Run status group 0 (all jobs):
   READ: bw=48.2MiB/s (50.5MB/s), 48.2MiB/s-48.2MiB/s (50.5MB/s-50.5MB/s), io=38.0MiB (39.8MB), run=1001-1001msec
"""


def perftest_json(**more: float) -> str:
    """What --out_json writes; it names no unit."""
    result = {"MsgSize": 65536, "n_iterations": 1000, "BW_peak": 0.0, "BW_average": 392.92, "MsgRate": 0.749435}
    info = {"test": "RDMA_Write_BW", "Device": "mlx5_0", "Number_of_qps": 1, "Mtu": 4096, "Link_type": "IB"}
    return json.dumps({"test_info": info, "results": result | more})


def kube(conditions: dict[str, str], **gpus: str) -> str:
    """A node with these conditions and GPU resources."""
    resources = {"cpu": "96", "memory": "2113474Mi", "pods": "110", "ephemeral-storage": "1Ti", "hugepages-2Mi": "0"}
    resources |= {"nvidia.com/" + name.replace("_", "-"): count for name, count in gpus.items()}
    return json.dumps(
        {
            "kind": "Node",
            "metadata": {"name": "gpu-node-1"},
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [{"type": kind, "status": status} for kind, status in conditions.items()],
            },
        }
    )


CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("a stress run that was interrupted", "stress-ng", ASKED, "incomplete", "10 of 20 s"),
    ("a stress run that lasted", "stress-ng", WHOLE, "pass", ""),
    ("a stress run with times", "stress-ng", WHOLE.replace("ng: ", "ng: 20:13:40.98 "), "pass", ""),
    (
        "a brief log of stress-ng",
        "stress-ng",
        "".join(line.split("] ", 1)[1] for line in WHOLE.splitlines(keepends=True)),
        "pass",
        "",
    ),
    ("a tally in place of metrics", "stress-ng", TALLY, "pass", ""),
    ("a tally with a failure", "stress-ng", TALLY.replace("failed: 0", "failed: 1: cpu (1)"), "fail", "1 stressors"),
    (
        "neither metrics nor tally",
        "stress-ng",
        "".join(line for line in TALLY.splitlines(keepends=True) if "hogs" in line or "run" in line),
        "incomplete",
        "nothing tells",
    ),
    (
        "no stressor at all",
        "stress-ng",
        "stress-ng: info:  [4] disabled 'smi' as it may hang or reboot the machine\n"
        "stress-ng: error: [4] No stress workers invoked\n",
        "not-run",
        "smi",
    ),
    (
        "a stressor that the machine killed",
        "stress-ng",
        WHOLE.replace("[411] for", "[411] process 9 (stress-ng-vm) terminated on signal: 7 (SIGBUS)\nx: for"),
        "fail",
        "signal: 7",
    ),
    ("a hardware clock as the source", "time-sync", SOURCES, "pass", ""),
    ("a server of stratum 0", "time-sync", SOURCES.replace("#* PHC0", "^* host"), "incomplete", "never reached"),
    (
        "no source at all",
        "time-sync",
        SOURCES.replace("= 2", "= 0").partition("#*")[0],
        "fail",
        "no source",
    ),
    ("chronyc for programs", "time-sync", ROW, "pass", ""),
    ("chronyc for programs, far off", "time-sync", ROW.replace("0.000004709", "-0.012"), "fail", "limit"),
    ("ntpq", "time-sync", NTPQ, "pass", ""),
    (
        "ntpq follows its own clock",
        "time-sync",
        NTPQ.replace("*time.example.or .GPS. ", "*LOCAL(0)        .LOCL."),
        "fail",
        "no source",
    ),
    (
        "ptp4l lost its master after the last offset",
        "time-sync",
        PTP + "ptp4l[9.2]: port 1 (eth0): SLAVE to MASTER on ANNOUNCE_RECEIPT_TIMEOUT_EXPIRES\n",
        "fail",
        "lost its master",
    ),
    (
        "ptp4l found its master before the last offset",
        "time-sync",
        "ptp4l[9.0]: port 1 (eth0): LISTENING to MASTER on ANNOUNCE_RECEIPT_TIMEOUT_EXPIRES\n" + PTP,
        "pass",
        "",
    ),
    (
        "both directions are counted together",
        "perftest",
        BW.replace("Write BW", "Write Bidirectional BW")
        .replace("383.50", "767.00")
        .replace("382.50", "765.00")
        .replace("0.045597", "0.091195"),
        "pass",
        "",
    ),
    (
        "both directions of a slow link",
        "perftest",
        BW.replace("Write BW", "Write Bidirectional BW")
        .replace("383.50", "241.00")
        .replace("382.50", "240.00")
        .replace("0.045597", "0.028610"),
        "incomplete",
        "120.0 Gb/s",
    ),
    (
        "the second of two ports is slow",
        "perftest",
        BW + BW.replace("383.50", "121.00").replace("382.50", "120.00").replace("0.045597", "0.014305"),
        "incomplete",
        "120.0 Gb/s",
    ),
    (
        "a CPU below its highest frequency",
        "perftest",
        swap("perftest", ("Mpps]\n", "Mpps]\nConflicting CPU frequency values detected: 1000.0 != 1304.7.\n")),
        "pass",
        "frequency",
    ),
    ("perftest's document", "perftest", perftest_json(), "pass", ""),
    ("perftest's document in MB/s", "perftest", perftest_json(BW_average=46840.0), "pass", ""),
    ("perftest's document contradicts itself", "perftest", perftest_json(MsgRate=0.5), "incomplete", "disagree"),
    ("a SATA drive as text", "smartctl", ATA, "pass", ""),
    (
        "a SATA drive that reallocates",
        "smartctl",
        ATA.replace("036    Pre-fail  Always       -       0", "036    Pre-fail  Always       -       8"),
        "incomplete",
        "reallocated",
    ),
    (
        "a SATA attribute below its threshold",
        "smartctl",
        ATA.replace("Always       -       0", "Always   FAILING_NOW   0", 1),
        "fail",
        "Reallocated",
    ),
    ("a SATA text that ends in its table", "smartctl", ATA.partition("197 ")[0], "incomplete", "missing"),
    ("a SAS drive as text", "smartctl", SAS, "pass", ""),
    (
        "a SAS drive with a write error",
        "smartctl",
        SAS.replace("1543.290           0", "1543.290           2"),
        "incomplete",
        "uncorrected write",
    ),
    ("rdma's document", "ibstat", json.dumps(RDMA), "pass", ""),
    (
        "rdma's document with a port down",
        "ibstat",
        json.dumps(RDMA).replace("LINK_UP", "POLLING", 1),
        "fail",
        "POLLING",
    ),
    (
        "links in a pod",
        "ibstat",
        "0/1: mlx5_0/1: state ACTIVE physical_state LINK_UP\n1/1: mlx5_1/1: state ACTIVE physical_state LINK_UP\n",
        "pass",
        "",
    ),
    (
        "a link that lost its device",
        "ibstat",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n"
        "link mlx5_1/1 state ACTIVE physical_state LINK_UP\n",
        "incomplete",
        "mlx5_1",
    ),
    (
        "ibdev2netdev -v",
        "ibstat",
        "0000:18:00.0 mlx5_0 (MT4129 - MCX7) ConnectX-7 card fw 28.39.1002 port 1 (ACTIVE) ==> ib0 (Up)\n",
        "pass",
        "",
    ),
    (
        "a bond is slower than the rails",
        "ibstat",
        HEALTHY["ibstat"]
        + HEALTHY["ibstat"]
        .partition("CA 'mlx5_1'")[0]
        .replace("mlx5_0", "mlx5_bond_0")
        .replace("Rate: 400", "Rate: 100"),
        "pass",
        "",
    ),
    (
        "drives by the kernel's name",
        "lsblk",
        '{"blockdevices": [{"kname": "sda", "type": "disk", "size": 480},'
        ' {"kname": "zram0", "type": "disk", "size": 0}, {"kname": "ram0", "type": "disk", "size": 8}]}',
        "pass",
        "",
    ),
    (
        "a mirror is listed under each drive",
        "lsblk",
        "".join(f'NAME="sd{name}" TYPE="disk" SIZE="480"\nNAME="md0" TYPE="raid1" SIZE="480"\n' for name in "ab"),
        "pass",
        "",
    ),
    ("a call that the drive does not know", "fio", swap("fio", ('"error": 0', '"error": 25')), "tool-error", "25"),
    ("fio for people", "fio", FIO, "incomplete", "direct=1"),
    (
        "fio for people, with an error",
        "fio",
        FIO.replace("err= 0", "err= 5 (file:io_u.c:1787, error=Input/output error)"),
        "fail",
        "error 5",
    ),
    ("every GPU resource is 0", "k8s", kube({"Ready": "True"}, gpu="0"), "incomplete", "counts 0"),
    ("whole GPUs are 0 where they are split", "k8s", kube({"Ready": "True"}, gpu="0", mig_1g="7"), "pass", ""),
    ("a kubelet that is silent", "k8s", kube({"Ready": "Unknown"}, gpu="8"), "fail", "Ready"),
    (
        "a problem detector's condition",
        "k8s",
        kube({"Ready": "True", "FrequentKubeletRestart": "True"}, gpu="8"),
        "fail",
        "FrequentKubeletRestart",
    ),
    ("a condition that is good when true", "k8s", kube({"Ready": "True", "EtcdIsVoter": "True"}, gpu="8"), "pass", ""),
)
