"""The faults that the combined rule looks for: data of a frozen reference, or of `include/statistics/combined.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.qualification.documents import figure, refuse_unknown_keys

_MODEL_KEYS = ("amounts_percent", "whole_node_share", "intermittent_share", "limit", "subsystem_weights")


@dataclass(frozen=True, slots=True)
class FaultModel:
    """The faults that are looked for, and the likelihood ratio above which a node is flagged."""

    amounts_percent: tuple[float, ...]
    whole_node_share: float
    intermittent_share: float
    limit: float
    subsystem_weights: Mapping[str, float] = field(default_factory=dict)
    """How often each subsystem (test) is to blame, relative to the others; 1 where nothing is known."""

    def document(self) -> dict[str, Any]:
        """Return the model as it stands in a file."""
        return {
            "amounts_percent": list(self.amounts_percent),
            "whole_node_share": self.whole_node_share,
            "intermittent_share": self.intermittent_share,
            "limit": self.limit,
            "subsystem_weights": dict(self.subsystem_weights),
        }


def fault_model(document: Mapping[str, Any], where: str = "the fault model") -> FaultModel:
    """Read a fault model. Raises Permanent for what is missing, unknown or no number."""
    refuse_unknown_keys(document, _MODEL_KEYS, where)
    amounts = tuple(float(amount) for amount in document.get("amounts_percent") or ())
    if not amounts or min(amounts) <= 0:
        raise Permanent(f"{where}: `amounts_percent` must hold losses above 0 per cent: write the faults to look for.")
    return FaultModel(
        amounts_percent=amounts,
        whole_node_share=figure(document, "whole_node_share", where),
        intermittent_share=figure(document, "intermittent_share", where),
        limit=figure(document, "limit", where),
        subsystem_weights=dict(document.get("subsystem_weights", {})),
    )
