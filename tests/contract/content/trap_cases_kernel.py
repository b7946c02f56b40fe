"""What a kernel says of lost and broken hardware without an Xid, or with one in another spelling."""

from __future__ import annotations

from tests.contract.content.trap_cases import kernel

LOST = """[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0
               NVRM: (PCI ID: 10de:26b5) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
"""
JOURNAL = "".join(f"Feb 14 05:03:42 gpu-1 kernel: {line[15:]}\n" for line in LOST.splitlines())
KERNEL_LINES = (
    ("no driver for a GPU", "NVRM: The NVIDIA probe routine failed for 1 device(s).", "fail", "probe"),
    ("a port cut off", "pcieport 0000:53:10.0: DPC: containment event, status:0x1f01 source:0x0000", "fail", "DPC"),
    ("a device that is gone", "pcieport 0000:53:10.0: pciehp: Slot(10): Card not present", "fail", "Card"),
    (
        "an uncorrected machine check",
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: be00000000010091",
        "fail",
        "Bank 7",
    ),
    (
        "a corrected machine check",
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010091",
        "pass",
        "",
    ),
    ("a severe event of the firmware", "{1}[Hardware Error]: event severity: recoverable", "fail", "severity"),
    ("a crash", "BUG: unable to handle page fault for address: ffffb3f80ed0c000", "fail", "page fault"),
    ("a stalled core", "rcu: INFO: rcu_sched self-detected stall on CPU", "fail", "stall"),
    (
        "a program that crashed",
        "pt_main_thread[25]: segfault at 7f79 ip 0007 sp 0007 error 4 in libnccl.so.2",
        "pass",
        "",
    ),
    ("a drive with errors", "I/O error, dev nvme1n1, sector 4096 op 0x0:(READ)", "fail", "nvme1n1"),
    (
        "an Xid of a MIG instance",
        "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9).",
        "fail",
        "Xid 94",
    ),
    (
        "an Xid of a compute instance",
        "NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 13, pid=9, name=a, Graphics Exception",
        "pass",
        "",
    ),
    (
        "an Xid that names its cause",
        "NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 00000001 caused by previous Xid 149",
        "fail",
        "Xid 149",
    ),
)
CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("a GPU lost in words", "dmesg", LOST, "fail", "Xid 79"),
    ("a GPU lost in words, in a journal", "dmesg", JOURNAL, "fail", "Xid 79"),
    *((name, "dmesg", kernel(line), word, says) for name, line, word, says in KERNEL_LINES),
)
