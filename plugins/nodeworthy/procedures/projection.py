"""Projection: Kubernetes shows the milestone that the ledger holds.

Whoever moved a node calls `show` right after; what a dead process left is delivered by reconciliation from the same
outbox. Read anew from the ledger each time, so that a late caller shows where the node stands now and not where it
brought it; the number of the move keeps an overtaken writer out.
"""

from __future__ import annotations

from nodeworthy.ports import Work


def show(name: str, work: Work) -> None:
    """Make a node's Node object show its milestone and write that down. Re-entrant. Permanent when there is no Node."""
    due = work.ledger.due(name)
    if due is None:
        return
    work.cluster.follow(name, work.library.lifecycle().projection(due.milestone), due)
    work.ledger.delivered({name: due.revision})
