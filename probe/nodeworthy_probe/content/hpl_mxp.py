"""HPL-MxP: the mixed-precision Linpack, whose report is lines of NAME = VALUE in place of HPL's table.

The rate that counts is GFLOPS, which includes the refinement; LU GFLOPS leaves it out. A run counts only with its
normalised residual, which the tool itself calls PASSED or FAILED.
"""

from __future__ import annotations

import re

from .sheet import Sheet

_MARK = re.compile(r"HPL-MxP|HPL-AI|^\*+ Matrix Generation \*+|L-infinite residual", re.MULTILINE)
_SIZE = re.compile(r"\bN\s*=\s*(\d{1,9}),\s*NB\s*=\s*(\d{1,6}),\s*NPROW\s*=\s*(\d{1,6}),\s*NPCOL\s*=\s*(\d{1,6})")
_RATE = re.compile(r"(?<!LU )\bGFLOPS\s*=\s*(\S+?),?\s+per GPU\s*=\s*(\S+)")
_LU_RATE = re.compile(r"\bLU GFLOPS\s*=\s*(\S+?),?\s+per GPU\s*=\s*(\S+)")
_RESIDUAL = re.compile(r"^[ \t]*\|\|Ax-b\|\|_oo\s*/.*=\s*(\S+) \.+ (PASSED|FAILED)\s*$", re.MULTILINE)
_VERSION = re.compile(r"HPL-MxP-NVIDIA ([\d.]+)")


def is_mxp(text: str) -> bool:
    """Whether the text is HPL-MxP's and holds no table of HPL's."""
    return bool(_MARK.search(text)) and not re.search(r"^T/V\s+N\s+NB", text, re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Read size, rates and residual; each must be there as often as the others."""
    sheet.tool = "hpl-mxp"
    version = _VERSION.search(text)
    sheet.version = version[1] if version else None
    sizes, rates, residuals = _SIZE.findall(text), _RATE.findall(text), _RESIDUAL.findall(text)
    for size, rate in zip(sizes, rates, strict=False):
        details = dict(zip(("n", "nb", "p", "q"), map(int, size), strict=True))
        whole = sheet.number("node", "compute_rate", rate[0], "Gflop/s", parameters=details)
        each = sheet.number("node", "compute_rate_per_gpu", rate[1], "Gflop/s", parameters=details)
        if whole and each and abs(whole / (details["p"] * details["q"] * each) - 1) > 0.01:
            sheet.note("document/contradiction", "node", "the rate of all GPUs is not the sum of theirs")
    for rate in _LU_RATE.findall(text):
        sheet.number("node", "lu_rate", rate[0], "Gflop/s")
    for value, word in residuals:
        sheet.number("node", "residual", value, "ratio")
        if word == "FAILED":
            sheet.note("correctness/wrong", "node", f"the residual {value} {word}")
    if not len(sizes) == len(rates) == len(residuals) or not rates:
        sheet.note(
            "document/cut", "file", f"{len(sizes)} sizes, {len(rates)} rates and {len(residuals)} residuals are there"
        )
