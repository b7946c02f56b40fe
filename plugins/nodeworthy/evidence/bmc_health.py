"""What a BMC says of leaks, fans, power supplies and temperatures, as it was read.

Sources: DMTF DSP0268 (LeakDetector 1.1, LeakDetection 1.0, Fan 1.5, PowerSupply 1.6, Redundancy 1.5, Sensor 1.9, and
the deprecated Thermal 1.7 and Power 1.7).
"""

from __future__ import annotations

from dataclasses import dataclass

DRY = "ok"
BLIND = frozenset({"", "unavailable", "absent"})
"""States of a detector that say nothing of liquid."""
IN_USE = frozenset({"", "enabled", "standbyspare", "qualified", "updating"})
"""Status.State of a part that works or may stand by; a BMC that gives none is not held against the part."""
LINE_NORMAL = frozenset({"", "normal"})
"""LineInputStatus of a supply that has power."""


@dataclass(frozen=True, slots=True)
class Detector:
    """One leak detector; `state` is DetectorState (LeakDetected is a word of some vendors), else its health."""

    name: str
    kind: str
    state: str

    @property
    def blind(self) -> bool:
        """Whether it says nothing: not that there is a leak, and not that there is none."""
        return self.state.lower() in BLIND

    @property
    def wet(self) -> bool:
        """Whether it reports a leak, a small one (Warning) too."""
        return not self.blind and self.state.lower() != DRY


@dataclass(frozen=True, slots=True)
class Leaks:
    """Every leak detector that is served, and in words what was announced and could not be read."""

    detectors: tuple[Detector, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def wet(self) -> tuple[Detector, ...]:
        """The detectors that report a leak."""
        return tuple(one for one in self.detectors if one.wet)


@dataclass(frozen=True, slots=True)
class Machinery:
    """A fan or a power supply. `speed` is a fan's (None where unread), `line` a supply's LineInputStatus."""

    name: str
    uri: str
    state: str
    health: str
    speed: float | None = None
    line: str = ""

    @property
    def present(self) -> bool:
        """Whether it is in use, or stands by for it."""
        return self.state.lower() in IN_USE

    @property
    def works(self) -> bool:
        """Whether it is in use, turns or has its line, and does not call itself worse than Warning."""
        fails = self.health.lower() == "critical" or self.speed == 0 or self.line.lower() not in LINE_NORMAL
        return self.present and not fails


@dataclass(frozen=True, slots=True)
class Group:
    """A redundancy group: how many of its members, named by URI, must work."""

    name: str
    members: tuple[str, ...]
    needed: int
    state: str
    health: str


@dataclass(frozen=True, slots=True)
class Temperature:
    """One sensor in degrees Celsius, or the headroom to a limit, with the BMC's own critical and caution thresholds."""

    name: str
    celsius: float | None
    state: str
    health: str
    upper_critical: float | None = None
    upper_caution: float | None = None
    lower_critical: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What was read beside the leak detectors."""

    fans: tuple[Machinery, ...] = ()
    supplies: tuple[Machinery, ...] = ()
    groups: tuple[Group, ...] = ()
    temperatures: tuple[Temperature, ...] = ()
    gaps: tuple[str, ...] = ()
