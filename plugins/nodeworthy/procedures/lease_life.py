"""How long a lease lives without a heartbeat, as the pool's policy says.

Whoever works renews it at each step, and what waits renews it from there, so that the life need not be as long as the
work: it is how long a node stays blocked behind a run that died.
"""

from __future__ import annotations

from datetime import timedelta

from nodeworthy.errors import Permanent
from nodeworthy.ports import Work


def lease_life(pool: str, work: Work) -> timedelta:
    """Return the life of a lease on a node of this pool. Permanent when no policy names it."""
    life = work.library.policy(pool).get("deadlines", {}).get("lease")
    if not isinstance(life, timedelta):
        raise Permanent(
            f"The policy of pool {pool} names no `lease` in `deadlines`: add it to its file or to default.yaml."
        )
    return life
