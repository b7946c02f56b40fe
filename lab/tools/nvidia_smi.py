"""nvidia-smi: ``-L``, the default table, ``-q -x``, ``nvlink -s`` and ``topo -m``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lab.tools.nvidia_smi_xml import render as render_xml
from lab.tools.view import NodeView, Output

_NO_DEVICE = "No devices were found\n"


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Dispatch to a view."""
    if not view.gpus:
        return Output(_NO_DEVICE, 6, 0.3)
    if arguments[:1] == ["-L"]:
        return Output("".join(f"{_title(number, gpu)}\n" for number, gpu in enumerate(view.gpus)), seconds=0.3)
    if arguments[:2] in (["nvlink", "-s"], ["nvlink", "--status"]):
        return Output(_nvlink(view), seconds=0.4)
    if arguments[:2] == ["topo", "-m"]:
        return Output(_topology(view), seconds=0.4)
    if "-q" in arguments and "-x" in arguments:
        return Output(render_xml(view), seconds=1.2)
    if not arguments:
        return Output(_table(view), seconds=0.8)
    return Output("", 2, error=f"Invalid combination of input arguments: {' '.join(arguments)}\n")


def _title(number: int, gpu: dict[str, Any]) -> str:
    return f"GPU {number}: {gpu['name']} (UUID: {gpu['uuid']})"


def _nvlink(view: NodeView) -> str:
    lines: list[str] = []
    for number, gpu in enumerate(view.gpus):
        lines.append(_title(number, gpu))
        for link in gpu.get("nvlinks", []):
            speed = f"{link['speed_mb_s'] / 1000:g} GB/s" if link["up"] else "<inactive>"
            lines.append(f"\t Link {link['link']}: {speed}")
    return "\n".join(lines) + "\n"


def _topology(view: NodeView) -> str:
    count = len(view.gpus)
    half = (count + 1) // 2
    lines = ["\t" + "\t".join([*(f"GPU{number}" for number in range(count)), "CPU Affinity", "NUMA Affinity",
                               "GPU NUMA ID"])]  # fmt: skip
    for row in range(count):
        cells = [" X " if row == column else _hop(view, row, column) for column in range(count)]
        socket = 0 if row < half else 1
        lines.append("\t".join([f"GPU{row}", *cells, ("0-47,96-143", "48-95,144-191")[socket], str(socket), "N/A"]))
    lines += ["", "Legend:", "", "  X    = Self",
              "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
              "  NV#  = Connection traversing a bonded set of # NVLinks"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _hop(view: NodeView, row: int, column: int) -> str:
    active = min(sum(link["up"] for link in view.gpus[place].get("nvlinks", [])) for place in (row, column))
    return f"NV{active}" if active else "SYS"


def _table(view: NodeView) -> str:
    driver, cuda = str(view.image.get("driver", "")), str(view.image.get("cuda", ""))
    now = datetime.fromisoformat(str(view.document["now"]))
    bar = "+-----------------------------------------+------------------------+----------------------+"
    lines = [
        now.strftime("%a %b %e %H:%M:%S %Y"),
        "+-----------------------------------------------------------------------------------------+",
        f"| NVIDIA-SMI {driver:<23}Driver Version: {driver:<15}CUDA Version: {cuda:<9}|",
        "|-----------------------------------------+------------------------+----------------------+",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|=========================================+========================+======================|",
    ]
    for number, gpu in enumerate(view.gpus):
        lines += [*_table_rows(number, gpu), bar]
    return "\n".join(lines) + "\n"


def _table_rows(number: int, gpu: dict[str, Any]) -> list[str]:
    mode = "On" if gpu.get("persistence_mode") else "Off"
    mig = "Enabled" if gpu.get("mig") else "Disabled"
    power = f"{round(gpu['power_watts'])}W / {round(gpu['power_limit_watts']):>4}W"
    memory = f"1MiB / {gpu['memory_total_mib']:>6}MiB"
    return [
        f"| {number:>3}  {gpu['name']:<29}{mode:>4}  | {gpu['pci_bus_id']:>18} Off |{gpu['ecc_uncorrected']:>21} |",
        f"| N/A  {gpu['temperature_celsius']:>3}C    P0    {power:>20} | {memory:>22} |      0%      Default |",
        f"|{'':41}|{'':24}|{mig:>21} |",
    ]  # fmt: skip
