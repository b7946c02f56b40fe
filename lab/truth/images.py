"""Boot images as data: what a node runs after it has booted one of them (lab/data/images.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.truth import data


@dataclass(frozen=True, slots=True)
class Taint:
    """A Kubernetes taint that the image's kubelet registers with."""

    key: str
    effect: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One image. `boot_seconds` and `install_seconds` are lab time; an installing image becomes the disk image."""

    name: str
    uri: str
    kind: str
    os_image: str
    kernel: str
    driver: str
    cuda: str
    dcgm: str
    nccl: str
    fabric_manager: str
    kubelet_version: str
    boot_seconds: float
    install_seconds: float = 0.0
    install_to_disk: bool = False
    register_labels: Mapping[str, str] = field(default_factory=dict)
    register_taints: tuple[Taint, ...] = ()


def load_images() -> dict[str, Image]:
    """All shipped images by name."""
    rows = data.load("images.yaml")["images"]
    return {row["name"]: _image(row) for row in rows}


def _image(row: Mapping[str, object]) -> Image:
    values = dict(row)
    taints = values.pop("register_taints", None) or []
    assert isinstance(taints, list)
    return Image(register_taints=tuple(Taint(**taint) for taint in taints), **values)  # type: ignore[arg-type]
