"""The time that a pod has for its plan, and what of it second tries may use.

First tries always fit: whoever wrote the plan saw to that. A second try begins only when it could run into its time-out
and all first tries behind it could run into theirs without the pod's time running out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .plan import Plan, TestSpec


@dataclass
class Budget:
    """Seconds from the first test to the end of the last; None where the plan sets no limit."""

    within_seconds: float | None
    owed_seconds: float = 0.0
    """What the first tries of the tests behind the present one may take."""
    now: Callable[[], float] = time.monotonic
    _began: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    @classmethod
    def of(cls, plan: Plan) -> Budget:
        """The budget of a plan that begins now."""
        return cls(plan.within_seconds, sum(map(first_tries, plan.tests)))

    def begin(self, spec: TestSpec) -> None:
        """Take up the next test: its first tries are owed no longer."""
        self.owed_seconds -= first_tries(spec)

    def allows(self, seconds: float) -> bool:
        """Whether so much more time of the present test leaves enough for all that come."""
        if self.within_seconds is None:
            return True
        return self.now() - self._began + seconds + self.owed_seconds <= self.within_seconds


def first_tries(spec: TestSpec) -> float:
    """How long a test may take when nothing is tried again, in seconds."""
    return spec.timeout_seconds * spec.repeats
