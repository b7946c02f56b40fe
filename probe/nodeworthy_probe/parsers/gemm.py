"""SuperBench's cublaslt_gemm: one line of m, n, k, batch, time (us) and rate (TFLOPS), with tabs between.

The rate must follow from the sizes and the time: 2k-1 operations for each of the m x n results. Source:
microsoft/superbenchmark, micro benchmark cublaslt_gemm.
"""

from __future__ import annotations

import re

from nodeworthy_probe.content.sheet import Sheet

from .numbers import close, finite

_ROW = re.compile(r"^(\d{1,7})\t(\d{1,7})\t(\d{1,7})\t(\d{1,4})\t(\S+)\t(\S+)$", re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Add the rate to the sheet, or a note that says why it is not believed."""
    if not text.endswith("\n"):
        sheet.note("document/cut", "gpu", "the output stops in the middle of a line")
    rows = _ROW.findall(text)
    if len(rows) != 1:
        sheet.note("document/unreadable", "gpu", f"{len(rows)} lines of figures where one was expected")
        return
    sizes, (time, rate) = [int(word) for word in rows[0][:4]], (finite(word) for word in rows[0][4:])
    if time is None or rate is None or time <= 0:
        sheet.note("value/not-a-number", "gpu", f"time {rows[0][4]}, rate {rows[0][5]}")
        return
    m, n, k, batch = sizes
    own = m * n * (2 * k - 1) * max(batch, 1) / time / 1e6
    if not close(rate, own, 2e-3):
        sheet.note("document/contradiction", "gpu", f"{rate:g} TFLOPS where sizes and time give {own:g}")
        return
    sheet.number("gpu", "gemm_rate", rate, "TFLOPS")
