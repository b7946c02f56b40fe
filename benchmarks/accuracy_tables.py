"""The result of the accuracy benchmark as tables that a person reads."""

from __future__ import annotations

from typing import Any


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of a result."""
    parts = [
        f"# Accuracy of the judgement, seed {result['seed']}",
        "",
        f"{result['nodes']} nodes with {result['metrics']} metrics each, made by `lab/corpus/` from "
        "`lab/data/corpus.yaml` (1 % noise from run to run, 0.3 % spread between healthy parts, 5 % bad nodes that "
        f"lose 1 to 6 %); recall by kind on {result['bad_nodes']} further nodes that are all bad. Reference: 200 "
        "healthy nodes measured before. Percentages are per node.",
        "",
        "## Strategies on the same nodes",
        "",
        *_fleet(result["fleet"]),
        "",
        "Material faults are those of 3 % and more; precision counts no smaller one as right. Wrong reason: the "
        "flagged node is bad, but not where the strategy points. Follow-up is L3 on every flagged node.",
        "",
        "## Beside the oracle",
        "",
        "The oracle knows every parameter of the corpus and flags healthy nodes as often as Nodeworthy does.",
        "",
        *_oracle(result["oracle"]),
        "",
        "## Through the judge itself",
        "",
        *_judged(result["judged"]),
        "",
        f"Took {result['seconds']} s.",
    ]
    return "\n".join(parts) + "\n"


def _judged(result: dict[str, Any]) -> list[str]:
    figures, of_bad_data = result["figures"], result["bad_data"]
    said = ", ".join(f"{what} {count} times" for what, count in sorted(of_bad_data.items()))
    wrongly = sum(count for what, count in of_bad_data.items() if what.partition(": ")[2] in ("fail", "pass"))
    return [
        f"{result['nodes']} nodes as documents with five runs, by Great Expectations and the checks of suite L1, "
        f"stalls by the shape of the iterations: recall {figures['recall_material']:.2f} % of faults of 3 % and more, "
        f"{figures['recall_small']:.1f} % of smaller ones, {figures['false_alarms']} false alarms, precision "
        f"{figures['precision_material']:.2f} %, wrong reason {figures['wrong_reason']:.2f} %.",
        "",
        f"Bad data on healthy nodes: {said}. Counted as a bad node, or passed: {wrongly}.",
    ]


def _fleet(rows: list[dict[str, Any]]) -> list[str]:
    head = (
        "| strategy | repeats | nodes | recall 3-6 % | recall 1-3 % | false alarms | precision 3-6 % | precision all "
        "| wrong reason | test GPU-h | follow-up GPU-h | of it wasted |"
    )
    lines = [head, "|" + "---|" * 12]
    for row in rows:
        cells = [
            row["strategy"],
            str(row["repeats"]),
            str(row["nodes"]),
            f"{row['recall_material']:.2f} %",
            f"{row['recall_small']:.1f} %",
            f"{row['false_alarms']} ({row['false_alarms_percent']:.3f} %)",
            f"{row['precision_material']:.2f} %",
            f"{row['precision_all']:.2f} %",
            f"{row['wrong_reason']:.2f} %",
            *(f"{row[hours]:.0f}" for hours in ("test_gpu_hours", "follow_up_gpu_hours", "wasted_gpu_hours")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _oracle(results: list[dict[str, Any]]) -> list[str]:
    lines = ["| repeats | kind | amount | nodes | recall | oracle | gap (points) |", "|" + "---|" * 7]
    for result in results:
        for row in result["by_kind"]:
            start = row["amount_from_percent"]
            lines.append(
                f"| {result['repeats']} | {row['kind']} | {start:.0f}-{start + 1:.0f} % | {row['nodes']} "
                f"| {row['recall']:.1f} % | {row['oracle']:.1f} % | {row['gap']:+.1f} +- {row['gap_error']:.1f} |"
            )
    worst = [(max(row["gap"] for row in one["by_kind"]), one) for one in results]
    lines.append("")
    lines += [
        f"With {one['repeats']} repeats the computed false-alarm rate is {one['false_alarms_percent']:.3f} % of "
        f"healthy nodes; the largest gap is {gap:+.1f} points."
        for gap, one in worst
    ]
    return lines
