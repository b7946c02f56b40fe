"""TransferBench, text: the presets p2p and a2a and the tests of a configuration file, one of them or several in a file.

A table is believed when its own averages and totals agree with its cells, which is how a cut, a lost row and a spoiled
cell show. Averages over all pairs and totals of a column stand apart: they are three different figures.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import transferbench

from .sheet import Sheet

TOOL = "TransferBench"
_ERROR = re.compile(r"^.*\[ERROR\].*$|^.*\bHip ?[Ee]rror\b.*$|^.*hipError[A-Z]\w+.*$", re.MULTILINE)
_WRONG = re.compile(r"^.*(?:Unexpected mismatch|Expected .* \[[0-9A-Fa-fx]+\] but found).*$", re.MULTILINE)
_P2P = re.compile(r"^Unidirectional copy peak bandwidth", re.MULTILINE)
_A2A = re.compile(r"^Summary: \[", re.MULTILINE)
_TEST = re.compile(r"^\s*Test \d+:", re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Read whichever of the three forms the file has."""
    sheet.version = transferbench.version(text)
    for line in _WRONG.findall(text)[:4]:
        sheet.note("correctness/wrong", "node", line)
    for line in [line for line in _ERROR.findall(text) if not _WRONG.fullmatch(line)][:4]:
        sheet.note("tool/failed", "node", line)
    forms = {_P2P: _peers, _A2A: _all_to_all, _TEST: _transfers}
    found = [(pattern.findall(text), reader) for pattern, reader in forms.items()]
    for heads, reader in found:
        if heads:
            reader(text, sheet)
        if len(heads) > 1 and reader is not _transfers:
            sheet.note("document/duplicate", "file", f"{heads[0]} is there {len(heads)} times")
    if not any(heads for heads, _ in found) and not sheet.notes:
        what = "is cut" if sheet.version else "is no output of TransferBench"
        sheet.note("document/cut" if sheet.version else "document/unreadable", "file", f"the file {what}")
    elif sheet.version is None:
        sheet.note("document/cut", "file", "the line with the tool's version is missing")


def _refused(sheet: Sheet, problem: str) -> None:
    code = "document/contradiction" if "contradict" in problem else "document/cut"
    sheet.note("value/not-a-number" if "no number" in problem else code, "file", problem)


def _peers(text: str, sheet: Sheet) -> None:
    cells = transferbench.peers(text)
    if isinstance(cells, str):
        _refused(sheet, cells)
        return
    kinds = {"cpu->gpu": "host_to_device_bandwidth", "gpu->cpu": "device_to_host_bandwidth",
             "gpu->gpu": "device_to_device_bandwidth"}  # fmt: skip
    for (source, target), rate in cells.items():
        metric = kinds.get(f"{source[:3]}->{target[:3]}")
        if metric and source != target:
            sheet.number(source, metric, rate, "GB/s", statistic="single", parameters={"target": target})
        if rate is not None and rate <= 0:
            sheet.note("value/implausible", source, f"{source} to {target}: {rate:g} GB/s")


def _all_to_all(text: str, sheet: Sheet) -> None:
    found = transferbench.all_to_all(text)
    if isinstance(found, str):
        _refused(sheet, found)
        return
    sheet.number("node", "all_to_all_pair", found.average, "GB/s", statistic="mean")
    for (source, target), rate in found.pairs.items():
        sheet.number(f"gpu/{source}", "all_to_all_pair", rate, "GB/s", parameters={"target": f"gpu/{target}"})
        if rate <= 0:
            sheet.note("value/implausible", f"gpu/{source}", f"GPU {source} to GPU {target}: {rate:g} GB/s")
    for index, rate in found.received.items():
        sheet.number(f"gpu/{index}", "all_to_all_received", rate, "GB/s", statistic="sum")


def _transfers(text: str, sheet: Sheet) -> None:
    found = transferbench.transfers(text)
    if isinstance(found, str):
        _refused(sheet, found)
        return
    for one in found:
        sheet.number("node", "transfer_bandwidth", one.rate, "GB/s",
                     parameters={"test": one.test, "path": f"{one.source}->{one.executor}->{one.target}"})  # fmt: skip
        if one.rate <= 0:
            sheet.note(
                "value/implausible", "node", f"test {one.test}: {one.source} to {one.target} at {one.rate:g} GB/s"
            )
