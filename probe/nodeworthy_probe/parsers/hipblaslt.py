"""hipblaslt-bench: a line of names and a line of figures below it, separated by commas; older ones with ``[0]`` before.

The rate must follow from the sizes and the time: 2 operations for each product. Rates are printed in GFLOPS. Source:
ROCm/hipBLASLt, docs on hipblaslt-bench; microsoft/superbenchmark, test_hipblaslt_function.py.
"""

from __future__ import annotations

from nodeworthy_probe.content.sheet import Sheet

from .json_document import whole
from .numbers import close, finite

_RATE, _TIME = "hipblaslt-Gflops", "us"
_SIZES = ("m", "n", "k", "batch_count")


def read(text: str, sheet: Sheet) -> None:
    """Add the rate in TFLOPS to the sheet, or a note that says why it is not believed."""
    lines = text.splitlines()
    heads = [place for place, line in enumerate(lines) if _RATE in line]
    if len(heads) != 1 or heads[0] + 1 >= len(lines):
        sheet.note("document/unreadable", "gpu", f"{len(heads)} tables of figures where one was expected")
        return
    names = [name.strip() for name in lines[heads[0]].partition("transA")[2].split(",")]
    values = [value.strip() for value in lines[heads[0] + 1].split(",")]
    row = dict(zip(["transA", *names[1:]], values, strict=False))
    sizes = [whole(row.get(name)) for name in _SIZES]
    rate, time = finite(row.get(_RATE)), finite(row.get(_TIME))
    if len(values) != len(names) or rate is None or not time or None in sizes:
        sheet.note("value/not-a-number", "gpu", f"rate {row.get(_RATE)}, time {row.get(_TIME)}")
        return
    m, n, k, batch = (size or 0 for size in sizes)
    own = 2 * m * n * k * max(batch, 1) / time / 1e3
    if not close(rate, own, 1e-2):
        sheet.note("document/contradiction", "gpu", f"{rate:g} GFLOPS where sizes and time give {own:g}")
        return
    sheet.number("gpu", "gemm_rate", rate / 1000, "TFLOPS")
