"""What a reading needs to know besides the tool's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nodeworthy_probe.parsers.kernel_log import normal_pci
from nodeworthy_probe.plan import Plan, TestSpec
from nodeworthy_probe.records import Reading


@dataclass(frozen=True)
class Context:
    """The plan, the test at hand and which GPU sits at which PCI address (from NVML)."""

    plan: Plan
    test: TestSpec
    gpu_by_pci: Mapping[str, int] = field(default_factory=dict)

    @property
    def expected_gpus(self) -> range:
        """Indexes of the GPUs that the plan expects."""
        return range(self.plan.expected_gpus)

    def gpus(self, seen: int) -> range:
        """Indexes of the expected GPUs and of those seen beyond them."""
        return range(max(self.plan.expected_gpus, seen))


Interpreter = Callable[[str, Context], Reading]


def component_at(pci: str | None, context: Context) -> str:
    """``gpu/3`` for a PCI address that NVML named, ``pci/0000:1b:00`` otherwise."""
    if pci is None:
        return "node"
    index = context.gpu_by_pci.get(normal_pci(pci) or "")
    return f"gpu/{index}" if index is not None else f"pci/{pci}"
