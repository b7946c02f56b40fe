"""What judging costs: one Great Expectations validation of a wave of 64 nodes and of 16,384 GPUs, beside plain Python.

Time is processor time after imports; memory is the growth of the process's peak while judging. The named alternative,
in the same run on the same batch, is the product's reference implementation without Great Expectations.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from typing import Any

from nodeworthy.adapters.judge_gx import JudgeGx
from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.ports import JudgingBatch
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import Context, Row, build_rows

from benchmarks.judge_batch import METRICS, SKU, SLOW_NODE, Files, baselines, batch, suite
from benchmarks.results import write

GIB = 1 << 20  # ru_maxrss counts KiB


def _peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB


def _plainly(given: JudgingBatch, files: Files) -> list[Verdict]:
    rows = build_rows(Context(one, files.made, SKU, files.limits, "") for one in given.results)
    failed = failed_checks(rows, files.made.checks())
    by_node: dict[str, list[Row]] = {}
    for row in rows:
        by_node.setdefault(row.node, []).append(row)
    return [decide(Case(one, files.made, tuple(by_node[one.node]), failed)).verdict for one in given.results]


def _by_judge(given: JudgingBatch, files: Files) -> list[Verdict]:
    judgements, _ = JudgeGx(files).judge(given)  # type: ignore[arg-type]
    return [one.verdict for one in judgements]


def _measured(judged: Callable[[JudgingBatch, Files], list[Verdict]], given: JudgingBatch, files: Files) -> Any:
    before, began, cpu = _peak_gib(), time.perf_counter(), time.process_time()
    verdicts = judged(given, files)
    spent = (round(time.perf_counter() - began, 2), round(time.process_time() - cpu, 2))
    failing = [number for number, verdict in enumerate(verdicts) if verdict is not Verdict.PASS]
    if failing != [SLOW_NODE]:
        raise SystemExit(f"Judged wrongly: nodes {failing[:9]} failed, only node {SLOW_NODE} is slow.")
    return {"wall_seconds": spent[0], "cpu_seconds": spent[1], "peak_growth_gib": round(_peak_gib() - before, 2)}


def measure(sizes: Sequence[int], seed: int) -> dict[str, Any]:
    """Return the figures per size of the batch; a batch of ten nodes warms the library up."""
    files = Files(suite(), baselines())
    _by_judge(batch(10, seed), files)
    rows = []
    for nodes in sizes:
        given = batch(nodes, seed)
        by_judge = _measured(_by_judge, given, files)
        plainly = _measured(_plainly, given, files)
        ratio = round(by_judge["cpu_seconds"] / plainly["cpu_seconds"], 2)
        rows.append({"nodes": nodes, "gpus": nodes * SKU.gpus, "judge": by_judge, "plain": plainly, "ratio": ratio})
    return {"benchmark": "judge", "metrics": METRICS, "sizes": rows, "peak_gib": round(_peak_gib(), 2)}


def markdown(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    lines = [
        "# Cost of judging",
        "",
        f"{result['metrics']} metrics per GPU, 8 GPUs per node; from the probes' documents to judgements and evidence.",
        "",
        "| nodes | GPUs | wall | CPU | memory | plain Python, CPU | ratio |",
        "|" + "---|" * 7,
    ]
    for row in result["sizes"]:
        one = row["judge"]
        lines.append(
            f"| {row['nodes']} | {row['gpus']} | {one['wall_seconds']} s | {one['cpu_seconds']} s "
            f"| {one['peak_growth_gib']} GiB | {row['plain']['cpu_seconds']} s | {row['ratio']} |"
        )
    return "\n".join([*lines, "", f"Peak of the whole process: {result['peak_gib']} GiB."]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns 0, or ends with a sentence when a verdict is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks judge", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[64, 2048])
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--write", action="store_true", help="keep the result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = measure(given.nodes, given.seed)
    write(result, markdown(result), keep=given.write)
    return 0
