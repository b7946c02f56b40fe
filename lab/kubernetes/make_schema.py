"""Writes schema.json: the fields of the served built-in types, taken from the official client's models.

Run `python -m lab.kubernetes.make_schema` after an upgrade of the `kubernetes` package. The server reads only the
file, so that it need not import the client (1 s of CPU and tens of MB).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOTS = (
    *("V1Node", "V1Namespace", "V1Pod", "CoreV1Event", "EventsV1Event", "V1ConfigMap", "V1Secret", "V1ServiceAccount"),
    *("V1Service", "V1PersistentVolumeClaim", "V1DaemonSet", "V1ReplicaSet", "V1Deployment", "V1StatefulSet", "V1Job"),
    *("V1Lease", "V1PodDisruptionBudget", "V1PriorityClass", "V1Eviction", "V1Binding", "V1DeleteOptions"),
    "V1ResourceSlice",
    *("V1SelfSubjectAccessReview", "V1SelfSubjectReview", "AuthenticationV1TokenRequest"),
)
TARGET = Path(__file__).parent / "schema.json"


def fields_of(models: Any, name: str) -> dict[str, str]:
    """JSON field name -> type as the client writes it."""
    model = getattr(models, name)
    return {model.attribute_map[attribute]: kind for attribute, kind in model.openapi_types.items()}


def collect() -> dict[str, dict[str, str]]:
    """All types that the roots reach."""
    from kubernetes.client import models

    found: dict[str, dict[str, str]] = {}
    todo = [*ROOTS]
    while todo:
        name = todo.pop()
        if name in found or not hasattr(models, name):
            continue
        found[name] = fields_of(models, name)
        todo += [word for kind in found[name].values() for word in re.findall(r"[A-Z]\w+", kind)]
    return dict(sorted(found.items()))


if __name__ == "__main__":
    TARGET.write_text(json.dumps(collect(), separators=(",", ":")) + "\n", encoding="utf-8")
