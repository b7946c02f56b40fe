"""Reads the rules of housekeeping (`include/housekeeping.yaml`), checked against their schema."""

from __future__ import annotations

from pathlib import Path

from nodeworthy.adapters.library_yaml_files import read
from nodeworthy.adapters.library_yaml_values import duration
from nodeworthy.lifecycle.upkeep import Kept, Rules

FOR_EVER = "for_ever"


def read_rules(include: Path) -> Rules:
    """Return the rules in force. Raises Permanent with file and line when they are broken."""
    document = read(include / "housekeeping.yaml", include / "schemas", "housekeeping-1")
    reconcile, retention = document["reconcile"], document["retention"]
    return Rules(
        absent_limit_percent=float(reconcile["absent_limit_percent"]),
        absent_limit_nodes=reconcile["absent_limit_nodes"],
        silent_after=duration(reconcile["silent_after"]),
        writes_per_run=reconcile["writes_per_run"],
        audit_round=duration(document["audit"]["round"]),
        audit_whole=duration(document["audit"]["whole"]),
        checkpoint_every=duration(document["audit"]["checkpoint"]),
        leaks_round=duration(document["leaks"]["round"]),
        leaks_hold=document["leaks"]["hold"],
        lemons_every=duration(document["lemons"]["every"]),
        retention_every=duration(retention["every"]),
        remove=retention["remove"],
        evidence=tuple(
            Kept(
                row["name"],
                row["pattern"],
                None if row["keep"] == FOR_EVER else duration(row["keep"]),
                row.get("outcome", ""),
            )
            for row in retention["classes"]
        ),
    )
