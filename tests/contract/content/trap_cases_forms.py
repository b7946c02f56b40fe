"""Other releases and other forms of the same tools, in the form of `trap_cases`: each word is by content alone."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases import HEALTHY, swap

MLXLINK = """
Operational Info
----------------
State                              : Active
Physical state                     : LinkUp
Speed                              : 100G
Width                              : 4x
FEC                                : Standard RS-FEC - RS(528,514)
Loopback Mode                      : No Loopback
Auto Negotiation                   : ON

Module Info
-----------
Identifier                         : QSFP28
Temperature [C]                    : 49 [-10..80]
Voltage [mV]                       : 3189.4 [3100..3500]
Bias Current [mA]                  : 9.210,9.264,9.054,9.142 [7..11]
Rx Power Current [dBm]             : 1.945,1.892,2.167,2.025 [-5.003..3.998]
Tx Power Current [dBm]             : 0.867,1.139,1.011,1.069 [-3.468..3.998]
Module FW Fault                    : 0
DataPath FW Fault                  : 0
Tx Fault [per lane]                : 0,0,0,0
Rx LOS [per lane]                  : 0,0,0,0
Rx CDR LOL [per lane]              : 0,0,0,0

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : 25074.8
Effective Physical Errors          : 0
Effective Physical BER             : \x1b[32m15E-255\x1b[0m
Raw Physical Errors Per Lane       : 0,0,0,0
Link Down Counter                  : 0
Link Error Recovery Counter        : 0
Raw Physical BER                   : 2E-9
"""
_MODULE = "Temperature|Voltage|Bias|Power|Fault|Tx|Rx"
COPPER = "\n".join(
    f"{line.split(':')[0]}: N/A" if line.split(" ")[0] in _MODULE.split("|") or "Fault" in line else line
    for line in MLXLINK.split("\n")
)
PAIRS = "".join(
    f'NAME="/dev/nvme{drive}n1" TYPE="disk" SIZE="3200631791616" ROTA="0" SERIAL="S{drive}" MODEL="M   " PKNAME=""\n'
    for drive in range(3)
)
BLOCKS = """NAME        MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINTS
loop0         7:0    0 63.9M  1 loop  /snap/core20/2318
nvme0n1     259:0    0  3.5T  0 disk
├─nvme0n1p1 259:1    0  512M  0 part  /boot/efi
└─nvme0n1p2 259:2    0  3.5T  0 part  /
nvme1n1     259:3    0  3.5T  0 disk
"""
GPU_STREAM = (
    'Device 0: "NVIDIA B200"  148 SMs(10.0)  Memory: 4000MHz x 8192-bit = 8192 GB/s PEAK   ECC is ON\n'
    + "".join(
        f"STREAM_{kernel}_float_buffer_4294967296_block_{block}\t{8192 * share / 100:.2f}\t{share:.2f}\n"
        for kernel in ("COPY", "SCALE", "ADD", "TRIAD")
        for block, share in ((128, 83.25), (256, 81.5))
    )
)


def two_runs() -> str:
    """The logs of client and server in one file, line by line."""
    lines = HEALTHY["perftest"].splitlines(keepends=True)
    rows = [line for line in lines if not line.startswith(" 1048576")]
    return "".join(line + line for line in rows[:-1]) + " 1048576    5000  383.50 382.50 0.045597\n" * 2 + rows[-1]


LATENCY = (
    HEALTHY["perftest"].split(" #bytes")[0].replace("RDMA_Write BW Test", "RDMA_Write Latency Test")
    + " #bytes        #iterations       t_avg[usec]    tps average\n"
    + " 2             0               1.62           308641.98\n"
    + "-" * 87
    + "\n"
)


def scsi(**more: Any) -> str:
    """A SAS drive as smartctl 7.4 gives it."""
    errors = {"total_uncorrected_errors": 0, "gigabytes_processed": "1.0"}
    return json.dumps(
        {
            "smartctl": {"version": [7, 4], "exit_status": 0},
            "device": {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
            "scsi_vendor": "SEAGATE",
            "scsi_product": "ST1800MM",
            "scsi_revision": "N003",
            "serial_number": "S1",
            "smart_status": {"passed": True},
            "scsi_grown_defect_list": 0,
            "scsi_error_counter_log": {"read": errors, "write": errors},
            **more,
        }
    )


def sata(**raw: int) -> str:
    """A SATA drive with the attributes that count."""
    table = [
        {"id": number, "name": name, "when_failed": "", "raw": {"value": raw.get(name, 0)}}
        for number, name in ((5, "Reallocated_Sector_Ct"), (197, "Current_Pending_Sector"))
    ]
    head = {
        "smartctl": {"version": [7, 2], "exit_status": 0},
        "device": {"name": "/dev/sdb", "protocol": "ATA"},
        "model_name": "SAMSUNG MZ7L3480",
        "serial_number": "S2",
        "firmware_version": "JXTC404Q",
        "smart_status": {"passed": True},
    }
    return json.dumps({**head, "ata_smart_attributes": {"table": table}})


SMARTCTL = """smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)

=== START OF INFORMATION SECTION ===
Model Number:                       SAMSUNG MZWLR3T8HBLS-00007
Serial Number:                      S6EXNE0R000001
Firmware Version:                   MPK92B5Q

=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x00
Temperature:                        33 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    1%
Data Units Read:                    1,234,567 [632 GB]
Data Units Written:                 2,345,678 [1.20 TB]
Controller Busy Time:               120
Power Cycles:                       28
Power On Hours:                     9,187
Unsafe Shutdowns:                   12
Media and Data Integrity Errors:    0
Error Information Log Entries:      0
Warning  Comp. Temperature Time:    0
Critical Comp. Temperature Time:    0
"""
NVME = """Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
critical_warning                    : 0
temperature                         : 34 C
available_spare                     : 100%
available_spare_threshold           : 10%
percentage_used                     : 0%
data_units_read                     : 1,234
data_units_written                  : 5,678
controller_busy_time                : 9
power_cycles                        : 21
power_on_hours                      : 4,321
unsafe_shutdowns                    : 15
media_errors                        : 0
num_err_log_entries                 : 0
Warning Temperature Time            : 0
Critical Composite Temperature Time : 0
"""
TIMESYNC = """       Server: 192.0.2.2 (ntp.example.org)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
         Leap: normal
      Version: 4
      Stratum: 2
    Reference: C0000201
    Precision: 1us (-24)
Root distance: 1.2ms (max: 5s)
       Offset: -120us
        Delay: 1.9ms
       Jitter: 2.1ms
 Packet count: 812
    Frequency: +11.2ppm
"""
STRESS = HEALTHY["stress-ng"].splitlines(keepends=True)
BURN = (
    HEALTHY["gpu-burn"]
    .replace(
        "100.0%  proc'd: 4522 (16900 Gflop/s) - 4522 (17010 Gflop/s)   errors: 0 - 0",
        "100.0%  proc'd: 4522 (16900 Gflop/s) - 2261 (0 Gflop/s)   errors: 0 - -1  (DIED!)",
    )
    .replace("GPU 1: OK", "GPU 1: FAULTY")
)
VERBOSE = json.dumps(
    {
        "nvbandwidth": {
            "version": "v0.6",
            "testcases": [
                {
                    "name": "device_to_device_memcpy_read_ce",
                    "status": "Passed",
                    "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
                    "bandwidth_matrix": [["N/A", "396.1"], ["395.9", "N/A"]],
                    "sum": 792.0,
                    "min": 0.0,
                    "max": 396.1,
                    "average": 396.0,
                }
            ],
        }
    }
)
BETWEEN_TESTS = HEALTHY["nvbandwidth"].partition("Running device_to_device")[0]
LATENCY_MATRIX = (
    HEALTHY["nvbandwidth"]
    .replace(
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)",
    )
    .replace("device_to_device_memcpy_read_ce", "device_to_device_latency_sm")
)

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("the text of mlxlink", "mlxlink", MLXLINK, "pass", ""),
    (
        "a lane without light",
        "mlxlink",
        MLXLINK.replace("Rx LOS [per lane]                  : 0,0,0,0", "Rx LOS [per lane]                  : 0,0,1,0"),
        "fail",
        "Rx LOS",
    ),
    ("bias beyond its limits", "mlxlink", MLXLINK.replace("9.264", "12.5"), "fail", "Bias"),
    ("a text without its counters", "mlxlink", MLXLINK.partition("Physical Counters")[0], "incomplete", "Counters"),
    ("a copper cable", "mlxlink", COPPER, "pass", ""),
    (
        "a device that cannot be opened",
        "mlxlink",
        '-E- Failed to open device: "mlx5_9", No such device\n',
        "tool-error",
        "open",
    ),
    ("lsblk in pairs", "lsblk", PAIRS, "pass", ""),
    ("a drive missing among pairs", "lsblk", PAIRS.replace("nvme1n1", "nvme5n1"), "incomplete", "nvme"),
    ("lsblk's table", "lsblk", BLOCKS, "pass", ""),
    (
        "a read-only drive in the table",
        "lsblk",
        BLOCKS.replace("3.5T  0 disk\n├", "3.5T  1 disk\n├"),
        "fail",
        "read-only",
    ),
    ("gpu-stream on one GPU", "stream", GPU_STREAM, "pass", ""),
    ("gpu-stream cut", "stream", GPU_STREAM[:-70], "incomplete", ""),
    ("client and server in one log", "perftest", two_runs(), "pass", ""),
    ("latency for a duration", "perftest", LATENCY, "pass", ""),
    (
        "no server",
        "perftest",
        "Couldn't connect to 192.0.2.1:18515\nUnable to init the socket connection\n",
        "tool-error",
        "connect",
    ),
    ("a SAS drive", "smartctl", scsi(), "pass", ""),
    ("a SAS drive with defects", "smartctl", scsi(scsi_grown_defect_list=7), "incomplete", "7 grown defects"),
    ("a SAS drive without counters", "smartctl", scsi(scsi_error_counter_log={}), "incomplete", "missing"),
    ("a SATA drive", "smartctl", sata(), "pass", ""),
    ("a SATA drive with pending sectors", "smartctl", sata(Current_Pending_Sector=3), "incomplete", "pending"),
    ("the text of smartctl", "smartctl", SMARTCTL, "pass", ""),
    (
        "a text that passes without spare",
        "smartctl",
        SMARTCTL.replace("Spare:                    100%", "Spare:                    4%"),
        "fail",
        "spare",
    ),
    ("a text that is cut", "smartctl", SMARTCTL.partition("Media and")[0], "incomplete", "missing"),
    ("nvme smart-log", "smartctl", NVME, "pass", ""),
    (
        "nvme smart-log with a warning",
        "smartctl",
        NVME.replace("critical_warning                    : 0", "critical_warning                    : 0x4"),
        "fail",
        "critical warning",
    ),
    ("timesyncd", "time-sync", TIMESYNC, "pass", ""),
    ("timesyncd far off", "time-sync", TIMESYNC.replace("-120us", "+12.1ms"), "fail", "limit"),
    ("timesyncd without an answer", "time-sync", TIMESYNC.replace("812", "0"), "fail", "0 packets"),
    ("timedatectl show", "time-sync", "Timezone=Etc/UTC\nNTP=yes\nNTPSynchronized=no\n", "fail", "NTPSynchronized=no"),
    (
        "stress-ng without times",
        "stress-ng",
        "".join(
            line for line in STRESS if not any(word in line for word in ("%)", "available", "average", "run time"))
        ),
        "pass",
        "",
    ),
    ("a burn that died", "gpu-burn", BURN, "fail", "died"),
    ("a minimum that counts what is not applicable", "nvbandwidth", VERBOSE, "pass", ""),
    ("cut between two tests", "nvbandwidth", BETWEEN_TESTS, "incomplete", "closes a run"),
    ("latency between GPUs", "nvbandwidth", LATENCY_MATRIX, "pass", ""),
    (
        "no copy between GPUs",
        "gpu-copy",
        "".join(line for line in HEALTHY["gpu-copy"].splitlines(keepends=True) if "cpu" in line),
        "incomplete",
        "no copy",
    ),
    (
        "counts of remapped rows without a state",
        "gpu-metrics",
        HEALTHY["prometheus"].replace("ROW_REMAP_FAILURE", "UNCORRECTABLE_REMAPPED_ROWS"),
        "incomplete",
        "repair",
    ),
    (
        "a job with a list of percentiles",
        "fio",
        swap("fio", ('"bs": "4k"', '"bs": "4k", "percentile_list": "99"'), ('     "1.000000": 50010,\n', "")),
        "pass",
        "",
    ),
)
