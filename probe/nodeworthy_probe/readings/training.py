"""A short training over a group: who computes late, how long a step takes, and the rate that comes of it."""

from __future__ import annotations

from statistics import median
from typing import Any

from nodeworthy_probe.parsers import nccl_log, train_step
from nodeworthy_probe.parsers.train_step import Rank
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_ROWS = (("compute_lag", "ms", "max"), ("step_time", "ms", "median"), ("model_rate", "TFLOPS", "median"),
         ("losses_not_finite", "count", "single"), ("ranks", "count", "single"))  # fmt: skip


def read(text: str, context: Context) -> Reading:
    """Five rows of the group; without a whole run over exactly its nodes and GPUs all of them are missing.

    ``compute_lag`` is how much longer the slowest rank computes than the middle one, before any of them waits for
    another; its parameters name that rank's node and GPU.
    """
    training = train_step.parse(text)
    problem = training.problem or _elsewhere(training.ranks, context)
    if problem or training.parameters is None:
        nothing = tuple(missing("node", name, unit, statistic=kind) for name, unit, kind in _ROWS)
        return Reading(nothing, problem=problem)
    slowest = max(training.ranks, key=lambda rank: rank.compute_ms)
    usual = median(rank.compute_ms for rank in training.ranks)
    step = median(rank.step_ms for rank in training.ranks)
    values = (
        slowest.compute_ms - usual,
        step,
        training.flops_per_step / step / 1e9,
        float(sum(rank.loss is None for rank in training.ranks)),
        float(len(training.ranks)),
    )
    parameters: dict[str, Any] = dict(training.parameters)
    late = {**parameters, "slowest_node": slowest.node, "slowest_gpu": slowest.gpu}
    transport = nccl_log.transport(text)
    rows = tuple(
        Measurement("node", name, value, unit, kind, parameters=late if name == "compute_lag" else parameters,
                    transport=transport)
        for (name, unit, kind), value in zip(_ROWS, values, strict=True)
    )  # fmt: skip
    line = (
        f"{len(training.ranks)} ranks: step {step:.1f} ms, {values[2]:.0f} TFLOPS a GPU; gpu/{slowest.gpu} of "
        f"{slowest.node} computes {values[0]:.1f} ms longer than the middle one"
    )
    return Reading(rows, versions=training.versions or {}, transport=transport, lines=(line,))


def _elsewhere(ranks: tuple[Rank, ...], context: Context) -> str | None:
    group = context.plan.group
    asked = {(node, gpu) for node in (group.nodes if group else (context.plan.node,)) for gpu in context.expected_gpus}
    found = [(rank.node, rank.gpu) for rank in ranks]
    if len(found) == len(asked) and set(found) == asked:
        return None
    return f"its {len(found)} ranks are not one on each of the {len(asked)} GPUs of the group"
