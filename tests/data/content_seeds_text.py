"""Healthy outputs of tools as text, written by hand after their formats; `content_seeds` says what they are for."""

from __future__ import annotations


def nccl() -> str:
    """One healthy output."""
    lines = [
        "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    lines += [
        f"#  Rank  {rank} Group  0 Pid  100{rank} on gpu-node-1 device  {rank} [0x0{rank}] NVIDIA H100 80GB HBM3"
        for rank in range(8)
    ]
    lines += [
        "NCCL version 2.27.3+cuda12.8",
        "#",
        "#                                            out-of-place                       in-place",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong "
        "    time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    total = 0.0
    for power, time in ((20, 100.0), (21, 120.0), (22, 150.0), (23, 200.0)):
        size = 2**power
        algorithm = round(size / time / 1000, 2)
        bus = round(size / time / 1000 * 1.75, 2)
        total += 2 * bus
        half = f"{time:8.2f} {algorithm:7.2f} {bus:7.2f}      0"
        lines.append(f"{size:12d} {size // 4:12d}     float     sum      -1 {half} {half}")
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {total / 8:.4f}", "#"]
    return "\n".join(lines) + "\n"


_DCGM_ROW = "| {:25} | {:46} |"


def dcgm_table() -> str:
    """One healthy output."""
    border = "+---------------------------+------------------------------------------------+"
    lines = [
        "Successfully ran diagnostic for group.",
        border,
        _DCGM_ROW.format("Diagnostic", "Result"),
        "+===========================+================================================+",
        "|-----  Metadata  ----------+------------------------------------------------|",
        _DCGM_ROW.format("DCGM Version", "3.3.9"),
        _DCGM_ROW.format("Driver Version Detected", "550.54.15"),
        _DCGM_ROW.format("GPU Device IDs Detected", "2330,2330,2330,2330"),
        "|-----  Deployment  --------+------------------------------------------------|",
    ]
    lines += [
        _DCGM_ROW.format(name, "Pass")
        for name in (
            "Denylist",
            "NVML Library",
            "CUDA Main Library",
            "Permissions and OS Blocks",
            "Persistence Mode",
            "Environment Variables",
            "Page Retirement/Row Remap",
            "Graphics Processes",
            "Inforom",
        )
    ]
    lines += [
        "+-----  Integration  -------+------------------------------------------------+",
        _DCGM_ROW.format("PCIe", "Pass - All"),
        "+-----  Hardware  ----------+------------------------------------------------+",
        _DCGM_ROW.format("GPU Memory", "Pass - All"),
        "+-----  Stress  ------------+------------------------------------------------+",
        _DCGM_ROW.format("Targeted Stress", "Pass - GPUs: 0, 1, 2, 3"),
        border,
    ]
    return "\n".join(lines) + "\n"


def ibstat() -> str:
    """One healthy output."""
    blocks = []
    for number in range(4):
        blocks.append(f"""CA 'mlx5_{number}'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tHardware version: 0
\tNode GUID: 0x02000000000000{number}1
\tSystem image GUID: 0x02000000000000{number}1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: {number + 10}
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0x02000000000000{number}1
\t\tLink layer: InfiniBand
""")
    return "".join(blocks)


def gpu_copy() -> str:
    """One healthy output."""
    names = [f"cpu_to_gpu{gpu}_by_dma_under_numa0 26.2{gpu}" for gpu in range(2)]
    names += [f"gpu{gpu}_to_cpu_by_dma_under_numa0 25.8{gpu}" for gpu in range(2)]
    names += [f"gpu{one}_to_gpu{1 - one}_{how}_by_dma 275.{one}" for one in range(2) for how in ("write", "read")]
    return "\n".join(names) + "\n"


def gpu_burn() -> str:
    """One healthy output."""
    lines = [f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: GPU-000{gpu})" for gpu in range(2)]
    lines += [
        f"{percent}%  proc'd: {done} (16900 Gflop/s) - {done} (17010 Gflop/s)   errors: 0 - 0   temps: 60 C - 59 C "
        for percent, done in (("50.0", 2261), ("100.0", 4522))
    ]
    return "\n".join([*lines, "Killing processes.. done", "", "Tested 2 GPUs:", "\tGPU 0: OK", "\tGPU 1: OK"]) + "\n"


def table() -> str:
    """One healthy output."""
    bar = "+-----------------------------------------+------------------------+----------------------+"
    lines = [
        "+-----------------------------------------------------------------------------------------+",
        "| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |",
        bar,
    ]
    for gpu in range(2):
        lines += [
            f"|   {gpu}  NVIDIA H100 80GB HBM3          On  |   00000000:1{gpu}:00.0 Off |                    0 |",
            f"| N/A   2{gpu + 4}C    P0             7{gpu}W /  700W |       1MiB /  81559MiB |      0%      Default |",
            "|                                         |                        |             Disabled |",
            bar,
        ]
    return "\n".join([*lines, "", "| Processes: |", "|  No running processes found |", "+------------------+"]) + "\n"


def perftest() -> str:
    """One healthy output."""
    rate = 382.5  # Gb/s at 1 MiB: 382.5e9 / 8 / 1048576 = 45597 messages a second
    return f"""---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x01 QPN 0x0108 PSN 0xe562d0
 remote address: LID 0x02 QPN 0x0108 PSN 0xf670e8
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    5000             {rate + 1:.2f}             {rate:.2f}              0.045597
---------------------------------------------------------------------------------------
"""


NVLINK = "".join(
    f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-000{gpu})\n"
    + "".join(f"\t Link {link}: 26.562 GB/s\n" for link in range(18))
    for gpu in range(2)
)
HPL = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
N      :   20000
NB     :     384
PMAP   : Row-major process mapping
P      :       1
Q      :       2
PFACT  :   Crout
NBMIN  :       4
NDIV   :       2
RFACT  :   Right
BCAST  :   1ring
DEPTH  :       1
SWAP   : Mix (threshold = 64)
ALIGN  : 8 double precision words
- Computational tests pass if scaled residuals are less than                16.0
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       20000   384     1     2              10.00             5.3339e+02
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.10000000e-03 ...... PASSED
================================================================================

Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
"""
STREAM = """-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 100000000 (elements), Offset = 0 (elements)
Memory per array = 762.9 MiB (= 0.7 GiB).
Total memory required = 2288.8 MiB (= 2.2 GiB).
Each kernel will be executed 10 times.
-------------------------------------------------------------
Number of Threads requested = 16
Number of Threads counted = 16
-------------------------------------------------------------
   (= 8000 clock ticks)
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          160000.0     0.010100     0.010000     0.010200
Scale:         160000.0     0.010100     0.010000     0.010200
Add:           200000.0     0.012100     0.012000     0.012200
Triad:         200000.0     0.012100     0.012000     0.012200
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
"""
STRESS = """stress-ng: info:  [411] dispatching hogs: 2 cpu, 1 matrix
stress-ng: metrc: [411] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [411]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [411] cpu               10000     10.00     19.80      0.00      1000.00         505.05
stress-ng: metrc: [411] matrix            52000     10.00      9.90      0.00      5200.00        5252.53
stress-ng: info:  [411] for a 10.00s run time:
stress-ng: info:  [411]      20.00s available CPU time
stress-ng: info:  [411]      19.80s user time   ( 99.00%)
stress-ng: info:  [411]       0.10s system time (  0.50%)
stress-ng: info:  [411]      19.90s total time  ( 99.50%)
stress-ng: info:  [411] load average: 1.90 1.20 0.80
stress-ng: info:  [411] successful run completed in 10.00s
"""
CHRONY = """Reference ID    : C0000202 (192.0.2.2)
Stratum         : 3
Ref time (UTC)  : Mon Nov 30 11:24:08 2026
System time     : 0.000001234 seconds fast of NTP time
Last offset     : +0.000000512 seconds
RMS offset      : 0.000002100 seconds
Frequency       : 12.345 ppm slow
Residual freq   : +0.001 ppm
Skew            : 0.020 ppm
Root delay      : 0.000512000 seconds
Root dispersion : 0.000101000 seconds
Update interval : 64.2 seconds
Leap status     : Normal
"""
PCRS = "".join(["  sha256:\n", *(f"    {index} : 0x{(index + 1) * 0x11:02X}{'A5' * 31}\n" for index in range(8))])
REPORT = """╔════════════════════════════════════════════════════════════════╗
║                      Certification Report                      ║
╚════════════════════════════════════════════════════════════════╝

  Name:      cert
  Platform:  aws
  GPU:       gb200
  Nodes:     4

┌────────────────────────────────────────────────────────────────┐
│  communication/nccl-all-reduce                                 │
├────────────────────────────────────────────────────────────────┤
│  Status:    Succeeded                                          │
│  Duration:  6m 47s                                             │
│  Nodes/Job: 4                                                  │
│  Jobs:      1                                                  │
│  MNNVL:     Enabled                                            │
│                                                                │
│  Bandwidth:                                                    │
│    Size       AlgBW        BusBW        Samples                │
│    16 GB      400.00 GB/s  750.00 GB/s  65                     │
└────────────────────────────────────────────────────────────────┘
"""
FABRIC = """[Nov 30 2026 10:00:00] [INFO] [tid 100] Fabric Manager version 550.90.07 is running
[Nov 30 2026 10:00:01] [INFO] [tid 100] successfully configured all the available GPUs and NVSwitches
"""
KMSG = "".join(
    f"6,{1000 + record},{2000000 + record},-;nvidia-nvswitch{record % 4}: open (major=510)\n" for record in range(12)
)
DESCRIBE = """Name:               gpu-node-1
Capacity:
  cpu:                128
  ephemeral-storage:  19650540Ki
  hugepages-1Gi:      0
  memory:             2113463020Ki
  nvidia.com/gpu:     8
  pods:               110
Allocatable:
  cpu:                127
  ephemeral-storage:  18650540Ki
  hugepages-1Gi:      0
  memory:             2113360620Ki
  nvidia.com/gpu:     8
  pods:               110
"""
BANDWIDTH = """nvbandwidth Version: v0.8
Driver Version: 550.54.15

Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:3b:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.10     54.90

SUM host_to_device_memcpy_ce 110.00

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    396.10
 1    395.90       N/A

SUM device_to_device_memcpy_read_ce 792.00

NOTE: The reported results may not reflect the full capabilities of the platform.
Performance can vary with software drivers, hardware clocks, and system topology.
"""
EDAC = "".join(
    f"sys/devices/system/edac/mc/mc{mc}/{name}: 0\n"
    for mc in range(1)
    for name in ("ce_count", "ce_noinfo_count", "csrow0/ce_count", "csrow0/ue_count", "ue_count", "ue_noinfo_count")
)
