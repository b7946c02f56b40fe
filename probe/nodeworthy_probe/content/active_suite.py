"""Suites of others that report for themselves: NVCRE certification reports, OCI's GPU scanner.

A roll-up is not believed: each part is looked at. The key of a result includes whether MNNVL was
on; a switch without effect means that one of the two did not test what it claims.
"""

from __future__ import annotations

from . import active_suite_nvcre, active_suite_oci
from .documents import load_json
from .sheet import Sheet

TOOL = "active-suite"


def read(text: str, sheet: Sheet) -> None:
    """Read whichever report the file is."""
    if text.lstrip().startswith(("{", "[")):
        document = load_json(text, sheet)
        if active_suite_nvcre.is_report(document):
            active_suite_nvcre.read_json(document, sheet)
        else:
            active_suite_oci.read(document, sheet)
    elif "Certification Report" in text or "╔" in text:
        active_suite_nvcre.read_text(text, sheet)
    else:
        sheet.note("document/unreadable", "file", "the file is no report that is known")
