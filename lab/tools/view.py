"""The node view that every fake tool renders, and the noise of real measurements.

Noise is a few tenths of a per cent, as between two runs on one healthy node, and is the same for
the same node, boot, test and attempt, so that a run of the lab can be repeated exactly.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any, NamedTuple

DEFAULT_VIEW = "/run/nodeworthy-lab/view.json"
_NOISE_SIGMA = 0.0015
_NOISE_LIMIT = 0.004


class Output(NamedTuple):
    """What a tool prints and how it ends; ``seconds`` is the real tool's run time."""

    text: str
    exit_code: int = 0
    seconds: float = 0.0
    error: str = ""
    uses_gpu: bool = False


class NodeView:
    """One ``lab.node-view/1`` document with the folder that it lies in."""

    def __init__(self, document: dict[str, Any], folder: Path) -> None:
        self.document = document
        self.folder = folder

    @property
    def gpus(self) -> list[dict[str, Any]]:
        """The GPUs that the driver enumerates, in PCI order."""
        return [gpu for gpu in self.document.get("gpus", []) if gpu.get("present", True)]

    @property
    def indexes(self) -> list[int]:
        """Positions of the enumerated GPUs in the view's bandwidth lists."""
        return [place for place, gpu in enumerate(self.document.get("gpus", [])) if gpu.get("present", True)]

    @property
    def image(self) -> dict[str, Any]:
        """Versions of the running image."""
        return dict(self.document.get("image") or {})

    @property
    def speed(self) -> float:
        """How much faster than real time the lab runs."""
        return max(float(self.document.get("speed", 1.0)), 0.001)

    def noise(self, test: str, attempt: int) -> random.Random:
        """A generator of noise that depends on node, boot, test and attempt alone."""
        key = (self.document.get("node"), self.document.get("boot_id"), test, attempt)
        return random.Random("/".join(map(str, key)))

    def attempt(self, test: str) -> int:
        """How often this test has run since boot, this time included; kept beside the view."""
        name = "".join(character if character.isalnum() else "-" for character in test)
        path = self.folder / "attempts" / f"{self.document.get('boot_id', 'boot')}-{name}"
        try:
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as stream:
                stream.write(b".")
            return path.stat().st_size
        except OSError:
            return 0


def load() -> NodeView:
    """The view named by ``NODEWORTHY_LAB_VIEW``, or the one at its usual place."""
    path = Path(os.environ.get("NODEWORTHY_LAB_VIEW") or DEFAULT_VIEW)
    return NodeView(json.loads(path.read_text("utf-8")), path.parent)


def disturbed(value: float, noise: random.Random) -> float:
    """``value`` as one measurement of it would read."""
    deviation = max(-_NOISE_LIMIT, min(_NOISE_LIMIT, noise.gauss(0.0, _NOISE_SIGMA)))
    return value * (1.0 + deviation)
