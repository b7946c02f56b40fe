"""Kills a procedure at any of its port calls, before or after the call took effect, as a killed process would be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nodeworthy.ports import Work

from tests.doubles.ports import Ports


class Killed(BaseException):
    """The process died here; no `except Exception` can hold it up."""


@dataclass
class Fuse:
    """Burns at the `at`-th port call; `after` lets that call take effect first. At 0 it never burns."""

    at: int = 0
    after: bool = False
    calls: int = 0

    def burn(self, call: Any) -> Any:
        """Make one port call, dying at the chosen one."""
        self.calls += 1
        if self.calls == self.at and not self.after:
            raise Killed
        result = call()
        if self.calls == self.at and self.after:
            raise Killed
        return result


class Fused:
    """Any port behind a fuse."""

    def __init__(self, target: Any, fuse: Fuse) -> None:
        self._target = target
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self._fuse.burn(lambda: found(*args, **kwargs))


class FusedDirectory:
    """A BMC directory whose sessions are behind the fuse too."""

    def __init__(self, target: Any, fuse: Fuse) -> None:
        self._target = target
        self._fuse = fuse

    @contextmanager
    def open(self, node: Any, sku: Any) -> Iterator[Any]:
        """Open a session through the fuse."""
        with self._fuse.burn(lambda: self._target.open(node, sku)) as bmc:
            yield Fused(bmc, self._fuse)


def fused(work: Work, fuse: Fuse) -> Work:
    """Return the same ports behind a fuse; reading the clock and the library cannot kill anybody."""
    return Ports(
        clock=work.clock,
        ledger=Fused(work.ledger, fuse),
        bmcs=FusedDirectory(work.bmcs, fuse),
        cluster=Fused(work.cluster, fuse),
        library=work.library,
        store=Fused(work.store, fuse),
        attestation=Fused(work.attestation, fuse),
        say=lambda line: fuse.burn(lambda: work.say(line)),
    )
