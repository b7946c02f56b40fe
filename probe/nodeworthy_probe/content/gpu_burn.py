"""gpu-burn: progress of each GPU, errors per interval, and the summary at the end.

The error counter starts anew each interval, so all intervals count; it is printed as a signed number
of 32 bits, so many errors read as a negative count. A GPU whose process died prints what was left in
memory, which counts nothing. Without the summary, without 100 %, or with fewer GPUs in it than were
tested, the burn did not end. Source: wilicc/gpu-burn, gpu_burn-drv.cpp and issues 12, 52, 69.
"""

from __future__ import annotations

import re

from .documents import note_duplicates, note_gaps
from .sheet import Sheet

TOOL = "gpu-burn"
_DEVICE = re.compile(r"^GPU (\d+): (.+?) \(UUID: (\S+)\)", re.MULTILINE)
_PROGRESS = re.compile(r"(?P<percent>[\d.]+)%\s+proc'd: (?P<done>.*?)\s+errors: (?P<errors>.*?)\s+temps: "
                       r"(?P<temps>[^%\n]*?)"
                       r"(?=\s*(?:[\d.]+%\s|power: |\n|$|\r))")  # fmt: skip
_PERCENT = re.compile(r"\d{1,3}(?:\.\d+)?")
_RATE = re.compile(r"^(\d+) \((\d+) Gflop/s\)$")
_ERRORS = re.compile(r"^(-?\d{1,18})(?:\s*\((WARNING!|DIED!)\))?$")
_BETWEEN = re.compile(r" - |(?<=\))- ")
_TEMPERATURE = re.compile(r"^(\d+) C$")
_UNKNOWN = "--"
"""A temperature that nvidia-smi did not tell; it says nothing of the burn."""
_TESTED = re.compile(r"Tested (\d+) GPUs?:")
_RESULT = re.compile(r"^\s+GPU (\d+): (OK|FAULTY)\s*$", re.MULTILINE)
_TROUBLE = re.compile(r"(Couldn't init.*|.*(?:DIED|No clients are alive|out of memory|Failure during compute).*)")


def read(text: str, sheet: Sheet) -> None:
    """Read progress and summary."""
    devices = {int(index): name for index, name, _ in _DEVICE.findall(text)}
    for index, name in devices.items():
        sheet.text(f"gpu/{index}", "model", name)
    note_duplicates(sheet, [uuid for _, _, uuid in _DEVICE.findall(text)], "GPU")
    head, _, tail = text.partition("Tested ")
    progress = list(_PROGRESS.finditer(head.replace("\r", "\n")))
    errors = _progress(progress, sheet)
    summary = _summary(f"Tested {tail}" if tail else "", devices, sheet)
    _last(progress, summary, sheet)
    for gpu, count in enumerate(errors):
        sheet.number(f"gpu/{gpu}", "errors", count, "count", statistic="sum")
        if count:
            sheet.note("correctness/wrong", f"gpu/{gpu}", f"{count} compute errors in all intervals")
    if trouble := _TROUBLE.search(head):
        sheet.note("tool/failed", "node", trouble[1])


def rates(text: str) -> list[tuple[float, list[int]]]:
    """Return how far the burn was (%) and the rate of each GPU (Gflop/s), line by line, as far as they can be read."""
    found = []
    for line in _PROGRESS.finditer(text.partition("Tested ")[0].replace("\r", "\n")):
        cells = [_RATE.match(cell.strip()) for cell in line["done"].split(" - ")]
        if all(cells) and _PERCENT.fullmatch(line["percent"]):
            found.append((float(line["percent"]), [int(cell[2]) for cell in cells if cell]))
    return found


def _progress(progress: list[re.Match[str]], sheet: Sheet) -> list[int]:
    errors: list[int] = []
    done_before: tuple[str, str] | None = None
    for line in progress:
        cells = [_ERRORS.match(cell.strip()) for cell in _BETWEEN.split(line["errors"])]
        if None in cells:
            sheet.note("row/unreadable", "file", f"errors cannot be read: {line['errors'][:80]}")
            continue
        if not all(_RATE.match(cell.strip()) for cell in line["done"].split(" - ")):
            sheet.note("row/unreadable", "file", f"progress cannot be read: {line['done'][:80]}")
        errors += [0] * (len(cells) - len(errors))
        if (line["done"], line["errors"]) != done_before:
            for gpu, cell in enumerate(cells):
                count = _count(cell)
                if done_before is None and count is not None:
                    sheet.number(f"gpu/{gpu}", "errors", count, "count", statistic="first")
                errors[gpu] += count or 0
                if count is None:
                    sheet.note("hardware/died", f"gpu/{gpu}", "the burning process died")
        done_before = (line["done"], line["errors"])
    return errors


def _count(cell: re.Match[str] | None) -> int | None:
    """How many errors a cell tells; None for a process that died."""
    if cell is None or cell[2] == "DIED!" or cell[1] == "-1":
        return None
    return int(cell[1]) % 2**32


def _last(progress: list[re.Match[str]], summary: dict[int, str], sheet: Sheet) -> None:
    if not progress:
        sheet.note("document/cut", "file", "no line of progress")
        return
    last = progress[-1]
    if float(last["percent"]) < 100:
        sheet.note("document/cut", "file", f"the burn stops at {last['percent']} %")
    rates = [_RATE.match(cell.strip()) for cell in last["done"].split(" - ")]
    cells = [cell.strip() for cell in last["temps"].split(" - ")]
    temperatures = [_TEMPERATURE.match(cell) for cell in cells]
    if summary and len({len(rates), len(temperatures), len(summary)}) != 1:
        sheet.note("row/missing", "file", f"progress of {len(rates)} GPUs, results of {len(summary)}")
    for gpu, rate in enumerate(rates):
        speed = sheet.number(f"gpu/{gpu}", "compute_rate", rate[2] if rate else None, "Gflop/s")
        if speed == 0:
            sheet.note("invalid/nothing-done", f"gpu/{gpu}", "0 Gflop/s at the end: nothing was computed")
    for gpu, (cell, found) in enumerate(zip(cells, temperatures, strict=True)):
        if cell != _UNKNOWN:
            sheet.number(f"gpu/{gpu}", "temperature", found[1] if found else None, "C")


def _summary(tail: str, devices: dict[int, str], sheet: Sheet) -> dict[int, str]:
    tested = _TESTED.search(tail)
    results = [(int(gpu), word) for gpu, word in _RESULT.findall(tail + "\n")]
    if tested is None:
        sheet.note("document/cut", "file", "the summary is missing")
        return {}
    note_duplicates(sheet, [f"gpu/{gpu}" for gpu, _ in results], "the result of")
    note_gaps(sheet, [gpu for gpu, _ in results], "gpu")
    if len(results) != int(tested[1]) or (devices and len(devices) != len(results)):
        sheet.note(
            "row/missing", "file", f"{len(results)} results for {tested[1]} tested of {len(devices)} listed GPUs"
        )
    for gpu, word in results:
        sheet.number(f"gpu/{gpu}", "burn_ok", float(word == "OK"), "bool")
        if word != "OK":
            sheet.note("hardware/faulty", f"gpu/{gpu}", f"GPU {gpu}: {word}")
    return dict(results)
