"""The other forms of the tools under the same damage as the first ones: a few hundred mutations of each, in one go.

A list that has no end mark and no numbers cannot tell that its last entry was lost; such rows are not damaged here.
"""

from __future__ import annotations

import random

import pytest

from tests.contract.content import trap_cases_cluster as cluster
from tests.contract.content import trap_cases_forms as forms
from tests.contract.content import trap_cases_lists as lists
from tests.contract.content import trap_cases_parts as parts
from tests.contract.content import trap_cases_tools as tools
from tests.contract.content.damage import DESTRUCTIVE, NEUTRAL
from tests.contract.content.reading import judged
from tests.data import content_seeds_amd as amd
from tests.data.content_seeds import Seed

MUTATIONS = 150
INSIDE = ("double", "not_a_number", "other_unit", "wrong_count")
SEEDS = (
    Seed(
        "mlxlink text",
        "mlxlink",
        forms.MLXLINK,
        r"State|BER|Effective|Speed|Width|Temperature|LOS",
        cut_after="BER                   : 2E-",
    ),
    Seed("amd static", "amd-smi", amd.amd_static(), r'"(?:gpu|bdf|value|unit|oam_id|UMC)":', noise=False),
    Seed("amd pages", "amd-smi", amd.amd_bad_pages(), r'"(?:gpu|retired|pending|un_res)":', noise=False),
    Seed(
        "a2a",
        "transferbench",
        amd.all_to_all(),
        r"^GPU|^RTotal|^Average|^Summary",
        cut_after="Average   bandwidth (GPU Tim",
    ),
    Seed("lsblk pairs", "lsblk", forms.PAIRS, r"NAME", damages=INSIDE),
    Seed("lsblk table", "lsblk", forms.BLOCKS, r"^nvme|^NAME", damages=INSIDE),
    Seed(
        "gpu-stream", "stream", forms.GPU_STREAM, r"STREAM|Device", cut_after="TRIAD_float_buffer_4294967296_block_256"
    ),
    Seed(
        "smartctl text",
        "smartctl",
        forms.SMARTCTL,
        r"Spare|Warning|PASSED|Media|Percentage|Model|Serial",
        cut_after="Critical Comp. Temp",
    ),
    Seed("nvme text", "smartctl", forms.NVME, r"spare|warning  |media|percentage", cut_after="Critical Composite"),
    Seed("timesync", "time-sync", forms.TIMESYNC, r"Leap|Offset|Packet|Stratum", cut_after="Packet count"),
    Seed("latency", "perftest", forms.LATENCY, r"#bytes|^ 2 |Mtu|qps", cut_after=" 2        "),
    Seed("chosen fields", "nvidia-smi", cluster.QUERY, r"^\d|index", damages=INSIDE),
    Seed("link errors", "nvidia-smi", cluster.ERRORS, r"Link", cut_after="Link 2: CRC Err"),
    Seed("node yaml", "k8s", cluster.NODE, r"gpu:|cpu|memory: |pods|status: \"True\"|type: Ready", cut_after="nodeInf"),
    Seed(
        "lldp keys",
        "lldp",
        cluster.KEYS,
        r"ifname|chassis.name|ttl|via",
        cut_after="lldp.p1.port.ifname",
        whole_before="lldp.p1.via",
    ),
    Seed(
        "lldp plain",
        "lldp",
        cluster.PLAIN,
        r"PortID|SysName|Interface|TTL",
        cut_from=300,
        cut_after="TTL:          120\n---",
    ),
    Seed(
        "lscpu",
        "host-inventory",
        parts.LSCPU,
        r"^CPU\(s\)|per core|per socket|Socket|NUMA node",
        cut_after="NUMA node2",
    ),
    Seed("events", "host-inventory", lists.LOST + lists.BACK, r"Power", damages=("double", "not_a_number")),
    Seed("sensors", "host-inventory", lists.HOT.format("ok") + lists.MASK, r"CPU1", damages=("double", "not_a_number")),
    Seed("lshw xml", "host-inventory", lists.LSHW, r"node id", noise=False, cut_after="</node>"),
    Seed("nvme table", "lsblk", lists.NVME_TABLE, r"^/dev", damages=("double", "not_a_number")),
    Seed("nvme tree", "lsblk", lists.NVME_TREE, r"PhysicalSize", damages=("cut", "not_a_number")),
    Seed("offer", "k8s", lists.offer(), r"gpu-\d", damages=("cut",)),
    Seed("numactl", "host-inventory", parts.NUMACTL, r"^node \d|available", cut_after="1:  80"),
    Seed("lldp xml", "lldp", parts.XML, r"PortID|interface|lldp>", noise=False, cut_after="</interface>"),
    Seed("sata text", "smartctl", tools.ATA, r"PASSED|Model|Serial", damages=("double",)),
    Seed("sas text", "smartctl", tools.SAS, r"^read:|^write:|Status|Serial|defect", cut_after="write:  "),
    Seed("sources", "time-sync", tools.SOURCES, r"^#\*", damages=("drop", "double", "not_a_number")),
    Seed("stress brief", "stress-ng", tools.WHOLE, r"metrc: .* \d+\.|dispatching", cut_after="run completed in 1"),
    Seed("perftest json", "perftest", tools.perftest_json(), r"MsgRate", damages=("cut", "not_a_number")),
    Seed(
        "devinfo", "ibstat", cluster.DEVINFO, r"\tstate|hca_id|\tport:", whole_before="hca_id", cut_after="PORT_ACTIV"
    ),
)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_damage_never_passes_and_noise_changes_nothing(seed: Seed) -> None:
    """The same hundred and fifty mutations each time."""
    assert judged(seed.kind, seed.text).verdict.value == "pass"
    chance = random.Random(20261130)
    for _ in range(MUTATIONS):
        damage = chance.choice((*DESTRUCTIVE, *DESTRUCTIVE, *NEUTRAL))
        if damage in DESTRUCTIVE and damage.__name__ not in seed.damages:
            continue
        text = damage(seed, chance)
        if text is not None and text != seed.text:
            passed = judged(seed.kind, text).verdict.value == "pass"
            assert passed == (damage in NEUTRAL), f"{damage.__name__}: {text}"
