"""Taints and tolerations: who may be placed on a node, and who must leave it."""

from __future__ import annotations

from collections.abc import Iterable

from lab.kubernetes.resources import Json

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def tolerates(toleration: Json, taint: Json) -> bool:
    """Whether one toleration covers one taint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(pod: Json, taints: Iterable[Json], effects: tuple[str, ...]) -> Json | None:
    """The first taint with one of `effects` that the pod does not tolerate."""
    tolerations = pod["spec"].get("tolerations") or []
    for taint in taints:
        if taint["effect"] in effects and not any(tolerates(item, taint) for item in tolerations):
            return taint
    return None


def stay_seconds(pod: Json, taints: list[Json]) -> float | None:
    """How long a pod may stay under NoExecute taints: None for ever, 0 not at all."""
    strict = [taint for taint in taints if taint["effect"] == "NoExecute"]
    if untolerated(pod, strict, ("NoExecute",)):
        return 0.0
    limits = []
    for taint in strict:
        covering = [item for item in pod["spec"].get("tolerations") or [] if tolerates(item, taint)]
        seconds = [item["tolerationSeconds"] for item in covering if item.get("tolerationSeconds") is not None]
        if seconds:
            limits.append(float(max(min(seconds), 0)))
    return min(limits) if limits else None


def with_taint(taints: list[Json], key: str, effect: str, time_added: str | None = None) -> list[Json]:
    """The list with one more taint, unless it is there."""
    if any((item["key"], item["effect"]) == (key, effect) for item in taints):
        return taints
    taint: Json = {"key": key, "effect": effect}
    return [*taints, {**taint, "timeAdded": time_added} if time_added else taint]


def without_taint(taints: list[Json], key: str) -> list[Json]:
    """The list without a key."""
    return [item for item in taints if item["key"] != key]
