"""The XML form, document types 11 to 13, as names joined with dots."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from .gpu_facts import GpuFacts
from .sheet import Sheet

_DOCTYPE = re.compile(r"<!DOCTYPE[^>]*>")
_VERSION = re.compile(r"nvsmi_device_v(\d+)\.dtd")
_MOST_BYTES = 64 * 1024 * 1024
_PROCESSES = ("processes", "accounted_processes", "supported_clocks")


def facts(text: str, sheet: Sheet) -> GpuFacts | None:
    """The facts of every GPU, or None with a note that says why there are none."""
    start = text.find("<?xml")
    body = text[max(start, 0) :]
    if start < 0:
        body = text[max(text.find("<nvidia_smi_log"), 0) :]
    version = _VERSION.search(body)
    if "<!ENTITY" in body or len(body) > _MOST_BYTES:
        sheet.note("document/unreadable", "file", "the document defines entities or is larger than any of nvidia-smi")
        return None
    try:
        # Entities, the danger of untrusted XML, were refused above; the document type is cut away.
        root = ElementTree.fromstring(_DOCTYPE.sub("", body).strip())  # noqa: S314
    except ElementTree.ParseError:
        sheet.note("document/cut", "file", "the XML document is cut or garbled")
        return None
    if version is None:
        sheet.note("row/missing", "file", "the document type with its version is missing")
    sheet.text("node", "document_type", f"v{version[1]}" if version else None)
    names = (("kmd_version", "driver_version"), ("cuda_umd_version", "cuda_version"))
    driver, cuda = (root.findtext(new) or root.findtext(old) for new, old in names)
    result = GpuFacts(root.findtext("attached_gpus"), driver and driver.split(" [")[0], cuda and cuda.split(" [")[0])
    for gpu in root.findall("gpu"):
        values: dict[str, str] = {"bus_id": gpu.get("id", "")}
        for child in gpu:
            if child.tag not in _PROCESSES:
                _flatten(child, child.tag, values, sheet)
        result.gpus.append(values)
    return result


def _flatten(element: ElementTree.Element, path: str, values: dict[str, str], sheet: Sheet) -> None:
    children = list(element)
    tags = [child.tag for child in children]
    if not children:
        if path in values:
            sheet.note("document/duplicate", values["bus_id"], f"{path} is there twice")
        values[path] = (element.text or "").strip()
    for place, child in enumerate(children):
        # Parts of one kind (MIG devices) are told apart by place; a value that is there twice is a repeated line.
        own = f"{child.tag}[{place}]" if len(child) and tags.count(child.tag) > 1 else child.tag
        if len(path) < 200:
            _flatten(child, f"{path}.{own}", values, sheet)
