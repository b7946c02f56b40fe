"""The unmodified pynvml binding on the lab's driver library.

Runs in a process of its own, because the library is given to the binding when Python starts. The
same questions are asked of a real driver when ``NODEWORTHY_TEST_NVML`` is set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.contract.tools.conftest import IMAGE
from tests.data import node_views

QUESTIONS = """
import json, sys
import pynvml
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(1)
def ask(function, *arguments):
    try:
        return function(*arguments)
    except pynvml.NVMLError as error:
        return type(error).__name__
fields = pynvml.nvmlDeviceGetFieldValues(handle, [82, 91, 230, 161])
answers = {
    "count": pynvml.nvmlDeviceGetCount(),
    "name": ask(pynvml.nvmlDeviceGetName, handle),
    "pci": ask(lambda: pynvml.nvmlDeviceGetPciInfo(handle).busId),
    "device": ask(lambda: hex(pynvml.nvmlDeviceGetPciInfo(handle).pciDeviceId)),
    "memory": ask(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total // 1048576),
    "width": ask(pynvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
    "links": [ask(pynvml.nvmlDeviceGetNvLinkState, handle, link) for link in (0, 3, 18)],
    "remapped": ask(pynvml.nvmlDeviceGetRemappedRows, handle),
    "ecc": ask(pynvml.nvmlDeviceGetTotalEccErrors, handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 0),
    "fields": [[field.fieldId, field.nvmlReturn, field.value.uiVal] for field in fields],
    "unknown_function": ask(pynvml.nvmlDeviceGetSupportedClocksEventReasons, handle),
    "bad_index": ask(pynvml.nvmlDeviceGetHandleByIndex, 99),
}
pynvml.nvmlShutdown()
answers["after_shutdown"] = ask(pynvml.nvmlDeviceGetCount)
json.dump(answers, sys.stdout)
"""


def _ask(folder: Path, view: dict[str, Any], code: str = QUESTIONS) -> dict[str, Any]:
    view_path = node_views.write_node(folder, view)
    environment = {**os.environ, "PYTHONPATH": str(IMAGE / "site"), "NODEWORTHY_LAB_VIEW": str(view_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_the_binding_reads_the_view(tmp_path: Path) -> None:
    """Identity, structs of several versions, counters, links and field values."""
    links = [{"link": link, "up": link != 3, "speed_mb_s": 26562} for link in range(18)]
    gpus = [node_views.gpu(index, nvlinks=links, pcie_width=8, ecc_uncorrected=2) for index in range(8)]

    answers = _ask(tmp_path, node_views.view(gpus=gpus))

    assert answers == {
        "count": 8,
        "name": "NVIDIA H100 80GB HBM3",
        "pci": "00000000:3B:00.0",
        "device": "0x233010de",
        "memory": 81559,
        "width": 8,
        "links": [1, 0, "NVMLError_InvalidArgument"],
        "remapped": [0, 0, 0, 0],
        "ecc": 2,
        "fields": [[82, 0, 40], [91, 0, 18], [230, 0, 0], [161, 3, 0]],  # 3 is NVML_ERROR_NOT_SUPPORTED
        "unknown_function": "NVMLError_FunctionNotFound",
        "bad_index": "NVMLError_InvalidArgument",
        "after_shutdown": "NVMLError_Uninitialized",
    }


def test_a_gpu_that_is_not_there_is_not_enumerated(tmp_path: Path) -> None:
    """The others move up, as in a real driver."""
    gpus = [node_views.gpu(index, present=index != 0) for index in range(8)]

    answers = _ask(tmp_path, node_views.view(gpus=gpus))

    assert (answers["count"], answers["pci"]) == (7, "00000000:4C:00.0")


def test_other_libraries_load_as_usual(tmp_path: Path) -> None:
    """Only the driver's library is replaced, and only once pynvml is imported."""
    code = (
        "import ctypes, json\nbefore = ctypes.CDLL\nimport pynvml\n"
        "libc = ctypes.CDLL(None)\nprint(json.dumps({'same': before is ctypes.CDLL, 'pid': libc.getpid() > 0}))"
    )

    assert _ask(tmp_path, node_views.view(), code) == {"same": False, "pid": True}


def test_an_image_without_a_driver_has_no_nvml(tmp_path: Path) -> None:
    """NVML cannot start; the snapshot says so and ends with 1."""
    code = (
        "import json, pynvml\ntry:\n    pynvml.nvmlInit()\n    error = None\n"
        "except pynvml.NVMLError as problem:\n    error = type(problem).__name__\nprint(json.dumps({'error': error}))"
    )

    assert _ask(tmp_path, node_views.view(image=None), code) == {"error": "NVMLError_DriverNotLoaded"}
