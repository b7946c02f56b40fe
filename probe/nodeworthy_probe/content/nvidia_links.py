"""Lists of GPUs (``-L``) and what ``nvidia-smi nvlink`` prints below them: ``-s``, ``-R`` and ``-e``.

A GPU whose links are all down has no link lines: a sentence stands there instead. Boards that use
only some of their links (NVL, PCIe) show the others as inactive, the same ones on every GPU. From
Blackwell on the error counters have other names, and the first FEC bucket counts sound codewords.
"""

from __future__ import annotations

import re

from .documents import note_duplicates, note_gaps
from .sheet import Sheet

_LISTED = re.compile(r"^GPU (\d+): (.+?) \(UUID: (\S+)\)\s*$")
_LINK = re.compile(r"^\s+Link (\d+): (.*?)\s*$")
_REMOTE = re.compile(r"Remote Device \S+: Link -?\d+")
_NO_LINKS = re.compile(r"^NVML: Unable to retrieve NVLink information as all links are in[Aa]ctive")
_FEWER_BY_DESIGN = re.compile(r"\bNVL\b|PCIe")
_LINK_ERRORS = re.compile(r"^\s+Link (\d+): ([A-Z]\w*(?: \w+)*(?: - \d+)?): (\S+)\s*$")
_NO_COUNT_OF_ERRORS = re.compile(r"_ber$|^nvlink_fec_errors_")
_SWITCHED = re.compile(r"SXM|HBM3|H200|B[23]00")


def _list(lines: list[str], sheet: Sheet) -> None:
    """``-L``: the GPUs and nothing else, as other tools list them too before they say more."""
    _listed(lines, sheet)
    for line in lines:
        if line.strip() and not line.startswith((" ", "\t", "GPU ")):
            sheet.note("row/unreadable", "file", f"a line is no part of a list of GPUs: {line[:80]}")


def _listed(lines: list[str], sheet: Sheet) -> None:
    gpus = [found for line in lines if (found := _LISTED.match(line))]
    for gpu in gpus:
        sheet.text(f"gpu/{gpu[1]}", "model", gpu[2])
    note_duplicates(sheet, [gpu[3] for gpu in gpus], "the GPU")
    note_duplicates(sheet, [gpu[1] for gpu in gpus], "GPU number")
    note_gaps(sheet, [int(gpu[1][:4]) for gpu in gpus], "gpu")
    sheet.number("node", "gpus", len(gpus), "count")
    for line in lines:
        own = _LISTED.match(line) or _LINK.match(line) or line.lstrip().startswith("MIG ")
        if re.match(r"GPU |\s+\S", line) and not own:
            sheet.note("row/unreadable", "file", line)


def _nvlink_errors(lines: list[str], sheet: Sheet) -> None:
    """``nvlink -e``: counters since the driver was loaded, so one that is not zero needs a second look."""
    sheet.tool = "nvidia-smi nvlink -e"
    _listed(lines, sheet)
    gpu, seen = "", []
    for line in lines:
        if listed := _LISTED.match(line):
            gpu = f"gpu/{listed[1]}"
        elif (found := _LINK_ERRORS.match(line)) and gpu:
            metric = "nvlink_" + found[2].lower().replace(" ", "_")
            seen.append((gpu, found[1], metric))
            count = sheet.number(gpu, metric, found[3], "count", parameters={"link": int(found[1][:4])})
            if count and not _NO_COUNT_OF_ERRORS.search(metric):
                sheet.note(
                    "counter/nonzero", gpu, f"link {found[1]}: {found[2]} is {count:g}: a rise needs two samples"
                )
        elif line.strip():
            sheet.note("row/unreadable", gpu or "file", f"a line cannot be read: {line[:80]}")
    note_duplicates(sheet, [" ".join(key) for key in seen], "the counter")
    gpus = sum(bool(_LISTED.match(line)) for line in lines)
    if gpus == 1:
        sheet.note("row/missing", "file", "one GPU with NVLinks and nothing that they could lead to")
    expected = gpus * len({key[1] for key in seen}) * len({key[2] for key in seen})
    if len(set(seen)) != expected or not seen:
        sheet.note("row/missing", "file", f"{len(set(seen))} of {expected} counters are there")


def _nvlink(lines: list[str], sheet: Sheet) -> None:
    sheet.tool = "nvidia-smi nvlink"
    _listed(lines, sheet)
    models = {f"gpu/{listed[1]}": listed[2] for line in lines if (listed := _LISTED.match(line))}
    links = _collect(lines, sheet)
    most = max((len(own) for own in links.values()), default=0)
    if len(links) == 1:
        sheet.note("row/missing", "file", "one GPU with NVLinks and nothing that they could lead to")
    unused = _unused(links, models)
    for component, own in links.items():
        _gpu_links(component, {link: own[link] for link in own if link not in unused}, most - len(unused), sheet)
        note_gaps(sheet, own, f"{component}/link")
        _all_down(component, own, most, models[component], len(links), sheet)
    if unused:
        sheet.note("note/nvlinks-unused", "node", f"every GPU leaves links {sorted(unused)} unused, as its board does")


def _collect(lines: list[str], sheet: Sheet) -> dict[str, dict[int, str]]:
    links: dict[str, dict[int, str]] = {}
    gpu = ""
    for line in lines:
        if listed := _LISTED.match(line):
            gpu = f"gpu/{listed[1]}"
            links.setdefault(gpu, {})
        elif (link := _LINK.match(line)) and gpu:
            if int(link[1][:4]) in links[gpu]:
                sheet.note("document/duplicate", gpu, f"link {link[1]} is there twice")
            links[gpu][int(link[1][:4])] = link[2]
        elif re.match(r"\s+\S|GPU", line):
            sheet.note("row/unreadable", gpu or "file", f"a line cannot be read: {line[:80]}")
    return links


def _unused(links: dict[str, dict[int, str]], models: dict[str, str]) -> set[int]:
    """The links that a board of its kind does not wire: inactive on every GPU, and not all of them."""
    down = [{link for link, words in own.items() if "inactive" in words.lower()} for own in links.values()]
    same = len(down) > 1 and all(one == down[0] for one in down) and all(map(_FEWER_BY_DESIGN.search, models.values()))
    return down[0] if same and len(down[0]) < len(next(iter(links.values()))) else set()


def _all_down(component: str, own: dict[int, str], most: int, model: str, gpus: int, sheet: Sheet) -> None:
    """A GPU without one link: down if others have links or if its board always has; else there may be no bridge."""
    if own or gpus < 2:
        return
    switched = _SWITCHED.search(model) and not _FEWER_BY_DESIGN.search(model)
    code = "hardware/nvlink-down" if most or switched else "row/missing"
    sheet.note(code, component, f"all NVLinks of {component} are inactive")


def _gpu_links(component: str, own: dict[int, str], most: int, sheet: Sheet) -> None:
    speeds, remote = {}, 0
    for number, words in own.items():
        found = re.fullmatch(r"([\d.]+) GB/s", words)
        if found:
            speeds[number] = float(found[1])
        elif _REMOTE.fullmatch(words):
            remote += 1
        elif "inactive" in words.lower():
            sheet.note("hardware/nvlink-down", component, f"link {number} is {words}")
        else:
            code = "value/unit" if re.match(r"[\d.]+ \S+$", words) else "value/not-a-number"
            sheet.note(code, component, f"link {number} is {words or 'empty'}")
    sheet.number(component, "nvlinks_up", len(speeds) + remote, "count")
    if speeds:
        sheet.number(component, "nvlink_speed", min(speeds.values()), "GB/s", statistic="min")
    if len(own) < most:
        sheet.note("row/missing", component, f"{len(own)} links where others have {most}")
    if len(set(speeds.values())) > 1:
        sheet.note("hardware/nvlink-slow", component, f"links differ in speed: {sorted(set(speeds.values()))} GB/s")


FORMS = ((_LINK_ERRORS, _nvlink_errors), (_LINK, _nvlink), (_NO_LINKS, _nvlink), (_LISTED, _list))
