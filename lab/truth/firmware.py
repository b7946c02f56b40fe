"""Which firmware a node runs: active versions, and staged ones that a reset or an AC cycle brings to life."""

from __future__ import annotations

from collections.abc import Mapping

from lab.truth.platforms import Activation, Platform

# What wakes a staged version: removing standby power wakes everything, a reset only what needs no more than that.
_WOKEN_BY: Mapping[str, frozenset[str]] = {
    "reset": frozenset({"reset"}),
    "ac-cycle": frozenset({"reset", "ac-cycle", "self"}),
    "self": frozenset({"self"}),
}


class Firmware:
    """The firmware of one node; only what differs from the platform's set is stored."""

    __slots__ = ("_active", "_platform", "_staged")

    def __init__(self, platform: Platform, behind: Mapping[str, str]) -> None:
        unknown = sorted(set(behind) - set(platform.firmware))
        if unknown:
            raise ValueError(f"Platform {platform.name} has no firmware item {unknown[0]}; look into its data file.")
        self._platform = platform
        self._active = dict(behind)
        self._staged: dict[str, tuple[str, Activation]] = {}

    def version(self, item: str) -> str:
        """The version that runs now; KeyError for an unknown item."""
        return self._active.get(item) or self._platform.firmware[item].version

    def staged(self, item: str) -> str | None:
        """The version that waits for activation."""
        entry = self._staged.get(item)
        return entry[0] if entry else None

    def stage(self, item: str, version: str, activation: Activation) -> None:
        """Write `version` beside the running one."""
        self._staged[item] = (version, activation)

    def drop(self, item: str) -> None:
        """Forget a staged version: the image was accepted and then thrown away."""
        self._staged.pop(item, None)

    def activate(self, by: Activation) -> tuple[str, ...]:
        """Bring to life what `by` wakes; returns the items whose version changed."""
        woken = [item for item, (_, activation) in self._staged.items() if activation in _WOKEN_BY[by]]
        for item in woken:
            self._active[item] = self._staged.pop(item)[0]
        return tuple(woken)
