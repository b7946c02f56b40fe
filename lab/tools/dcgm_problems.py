"""What the diagnostic finds: the problems a fault names, and those that follow from the GPUs' state.

Ids, severities and categories are DCGM's own (dcgm_errors.h of 4.6.0): 1 MONITOR, 2 ISOLATE,
4 TRIAGE, 5 CONFIG, 6 RESET.
"""

from __future__ import annotations

from typing import Any

from lab.tools.view import NodeView

_CATEGORIES = {29: 8, 85: 10, 80: 10, 4: 10, 14: 11}


def category_of(error_id: int) -> int:
    """DCGM's category number of an error id; 15 (other hardware) for those not listed here."""
    return _CATEGORIES.get(error_id, 15)


def problems(view: NodeView) -> list[dict[str, Any]]:
    """All problems, by the number that DCGM gives a GPU (its place among those enumerated)."""
    places = {place: number for number, place in enumerate(view.indexes)}
    named = [{**problem, "gpu": places.get(problem["gpu"], problem["gpu"])}
             for problem in view.document.get("dcgm", {}).get("problems", [])
             if problem.get("status") == "Fail"]  # fmt: skip
    for number, gpu in enumerate(view.gpus):
        named += _of_gpu(number, gpu)
    return named


def _of_gpu(number: int, gpu: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    remap = gpu.get("remap", {})
    if not gpu.get("persistence_mode", True):
        text = (f'Persistence Mode: Persistence mode for GPU {number} is disabled. Enable persistence mode by running '
                '"nvidia-smi -i <gpuId> -pm 1 " as root.')  # fmt: skip
        found.append(_problem(number, 29, 5, text, "Persistence Mode"))
    if remap.get("pending"):
        text = f"GPU {number} has uncorrectable memory errors and row remappings are pending"
        found.append(_problem(number, 85, 6, text, "Page Retirement/Row Remap"))
    if remap.get("failure"):
        text = (
            f"GPU {number} had uncorrectable memory errors and row remapping failed. Run a field diagnostic on the GPU."
        )
        found.append(_problem(number, 80, 6, text, "Page Retirement/Row Remap"))
    if gpu.get("ecc_uncorrected"):
        text = f"{gpu['ecc_uncorrected']} double bit ECC error(s) were detected on GPU {number}."
        found.append(_problem(number, 4, 2, text, "Inforom"))
    if gpu.get("throttle_reasons"):
        reached = gpu["power_limit_watts"] * 0.8
        text = f"Max power of {reached:.1f} did not reach desired power minimum of {gpu['power_limit_watts']:.1f}"
        found.append({**_problem(number, 63, 4, text, ""), "test": "targeted_power"})
    for link in gpu.get("nvlinks", []):
        if not link["up"]:
            text = f"GPU {number}'s NvLink link {link['link']} is currently down."
            found.append(_problem(number, 14, 4, text, "Inforom"))
    return found


def _problem(number: int, error_id: int, severity: int, text: str, old_test: str) -> dict[str, Any]:
    return {"test": "software", "gpu": number, "status": "Fail", "error_id": error_id, "error_severity": severity,
            "error_category": category_of(error_id), "text": text, "old_test": old_test}  # fmt: skip
