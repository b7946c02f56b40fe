"""Healthy outputs of tools, written by hand after their formats, one or more for each kind of file.

They are what fuzzing damages. `rows` is a pattern of the lines that carry the result: losing one, doubling one, or
spoiling a number or unit in one must never leave a pass. `counts` are pairs of texts: the first replaced by the
second is a wrong count.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.data import content_seeds_amd as amd
from tests.data import content_seeds_fabric as fabric
from tests.data import content_seeds_json as documents
from tests.data import content_seeds_smi as smi
from tests.data import content_seeds_text as texts


class Seed(NamedTuple):
    """One healthy file."""

    name: str
    kind: str
    text: str
    rows: str
    counts: tuple[tuple[str, str], ...] = ()
    noise: bool = True
    """Whether lines of another program may stand between its lines (not inside a JSON or XML document)."""
    damages: tuple[str, ...] = ("cut", "drop", "double", "not_a_number", "other_unit", "wrong_count")
    """What can be noticed in this kind: a log is an open stretch, whose end and words say nothing of loss."""
    cut_from: int = 1
    """A file that is cut before this is a whole one of another command."""
    cut_after: str = ""
    """Up to here a cut must show; what follows the last of it is decoration."""
    whole_before: str = ""
    """A list without an end mark, cut right before this, is a whole shorter list: only a count given beside tells."""


SEEDS = (
    Seed(
        "ibnetdiscover",
        "ibnetdiscover",
        fabric.FABRIC,
        r"^\[|^Switch|^Ca",
        (('Switch\t64 "S-fc6a1c0300000001', 'Switch\t1 "S-fc6a1c0300000001'),),
        cut_after="4xNDR",
    ),
    Seed(
        "amd-smi",
        "amd-smi",
        amd.amd_metric(),
        r'"(?:gpu|width|value|unit|\w+_count|\w+_status)":',
        noise=False,
    ),
    Seed(
        "transferbench",
        "transferbench",
        amd.peers(),
        r"^ +[CG]PU \d\d  ->|^Averages|^Unidir",
        cut_after="31.62     49.",
    ),
    Seed(
        "nccl",
        "nccl-tests",
        texts.nccl(),
        r"^ +\d+ +\d+ +float|^# Avg|^# Out of|^# nThread",
        (("Rank  7", "Rank  8"), ("maxBytes 8388608", "maxBytes 16777216")),
        cut_after="Avg bus bandwidth    : ",
    ),
    Seed(
        "nvbandwidth",
        "nvbandwidth",
        texts.BANDWIDTH,
        r"^ \d |^SUM|^memcpy",
        (("792.00", "793.00"),),
        cut_after="system topolog",
    ),
    Seed(
        "dcgm-table",
        "dcgm-diag-text",
        texts.dcgm_table(),
        r"\| Pass (?!- G)|Version|IDs",
        (("2330,2330,2330,2330", "2330,2330,2330,2330,2330"),),
        cut_after="Targeted Stress",
    ),
    Seed(
        "ibstat",
        "ibstat",
        texts.ibstat(),
        r"State|Physical|Rate|CA type|Number|Port 1",
        (("Number of ports: 1", "Number of ports: 2"),),
        whole_before="CA 'mlx5_",
        cut_after="Port GUID: 0x0200000000000031",
    ),
    Seed("gpu-copy", "gpu-copy", texts.gpu_copy(), r"gpu", cut_after="gpu1_to_gpu0_read"),
    Seed("gpu-burn", "gpu-burn", texts.gpu_burn(), r"OK$", (("Tested 2", "Tested 4"),), cut_after="GPU 1: "),
    Seed("smi-table", "nvidia-smi", texts.table(), r"H100|MiB", cut_after="No running"),
    Seed("smi-nvlink", "nvidia-smi", texts.NVLINK, r"Link", cut_from=50, cut_after="Link 17: 26.562 GB"),
    Seed("perftest", "perftest", texts.perftest(), r"#bytes|^ 1048576|Mtu|qps", cut_after=" 1048576    5000"),
    Seed(
        "hpl",
        "hpl",
        texts.HPL,
        r"^WR|PASSED|Finished|tests completed|^T/V",
        (("Finished      1", "Finished      2"),),
        cut_after="End of Te",
    ),
    Seed(
        "stream",
        "stream",
        texts.STREAM,
        r"^(?:Copy|Scale|Add|Triad):|Validates|Array size|^Function",
        (("counted = 16", "counted = 8"),),
        cut_after="Solution Valid",
    ),
    Seed(
        "stress-ng",
        "stress-ng",
        texts.STRESS,
        r"(?:cpu|matrix) +\d+ +1|dispatching|successful|bogo ops real",
        cut_after="successful run completed in ",
    ),
    Seed(
        "chrony",
        "time-sync",
        texts.CHRONY,
        r"System time|Leap|Stratum|Last|RMS|Root",
        cut_after="Leap status     : Norma",
    ),
    Seed("tpm", "tpm", texts.PCRS, r"    [0247] :", cut_after="    7 : 0x88A5"),
    Seed(
        "nvcre",
        "active-suite",
        texts.REPORT,
        r"Status|GB/s|Nodes|Duration",
        (("Nodes/Job: 4", ""),),
        noise=False,
        cut_after="65",
    ),
    Seed("kmsg", "dmesg", texts.KMSG, r"^6,10(?:0[2-9]|10),", noise=False, damages=("drop", "double")),
    Seed(
        "k8s",
        "k8s",
        texts.DESCRIBE,
        r"nvidia|cpu|memory|pods",
        (("Allocatable:\n  cpu:                127", "Allocatable:\n  cpu:                NaN"),),
        cut_after="nvidia.com/gpu:     8\n  po",
    ),
    Seed("edac", "host-inventory", texts.EDAC, r"count", cut_after="mc0/ue_noinfo_count"),
    Seed("fabric", "fabric-manager", texts.FABRIC, r"running", noise=False, damages=()),
    Seed(
        "smi-query",
        "nvidia-smi",
        smi.TEXT,
        r"^(?:Driver|Attached)|^    (?!Processes)\w.* : |^        \w.*: \d|Slowdown|Pending|Failure",
        (("Attached GPUs                             : 2", "Attached GPUs                             : 4"),),
        cut_after="Processes          ",
    ),
    Seed(
        "smi-xml",
        "nvidia-smi",
        smi.XML,
        r"^ <(?:driver|attached)|_link_|slowdown>|remapped_row_|MiB| W<| C<|serial|uuid|vbios",
        (("<attached_gpus>2", "<attached_gpus>4"),),
        noise=False,
        cut_after="</nvidia_smi_l",
    ),
    *documents.SEEDS(Seed),
)
