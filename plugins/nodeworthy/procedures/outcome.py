"""How a procedure ends, when it does not raise: the work is proven, or the world needs time.

`Waiting` means "come back": nothing is lost if nobody does, because the procedure looks at the world when it is called
again. What a procedure waits for is a small document that `ready` can answer with cheap reads alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The procedure's aim is proven. `summary` is one line for the operator; `facts` are what was proven."""

    summary: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Call again when `ready(check)` holds or `deadline` (aware UTC) has passed; look every `poll`."""

    what: str
    poll: timedelta
    deadline: datetime
    check: Mapping[str, Any]
