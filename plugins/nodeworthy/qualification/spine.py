"""Who spoils a collective over many domains: each domain by itself first, then one healthy node of each together.

A domain is a rack or an NVLink clique. Its nodes are screened among themselves, all domains side by side, so that one
bad node costs its own domain its halves and nobody else anything. Then the first good node of each domain stands for
it in one collective over the spine. When that fails it is halved as well; who is found so is not blamed at once, since
it was well at home: a second good node of its domain is tested with others. When that one passes, the first is to
blame; when it fails too, what joins the domain to the others is (a leaf's uplinks), and no node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nodeworthy.qualification.screening import Group, Outcome, Screening, Trial


@dataclass
class Stages:
    """The search over domains, in up to three stages; ask and answer it as a `Screening`."""

    groups: Sequence[Group]
    """The first groups, one a domain."""
    smallest: int = 2
    homes: Mapping[str, str] = field(default_factory=dict)
    """The domain of each node, for padding; the groups may be smaller."""
    spine: bool = True
    """Whether the domains are tested together too; without it this is their screening and nothing more."""
    _stages: list[Screening] = field(init=False)

    def __post_init__(self) -> None:
        self._stages = [Screening(self.groups, smallest=self.smallest, homes=self.homes)]

    def next_round(self) -> tuple[Trial, ...]:
        """Return the trials that can run side by side now; those of the next stage when this one is over."""
        trials = self._stages[-1].next_round()
        while not trials and (later := self._next_stage()) is not None:
            self._stages.append(later)
            trials = later.next_round()
        return trials

    def take(
        self, passed: Sequence[bool | None], measured: Sequence[bool] = (), faulty: Sequence[Collection[str]] = ()
    ) -> None:
        """Take in the answers of the last round, as `Screening.take`."""
        self._stages[-1].take(passed, measured, faulty)

    @property
    def tests(self) -> int:
        """How many groups were tested."""
        return sum(stage.tests for stage in self._stages)

    def outcome(self) -> Outcome:
        """Return what is known so far."""
        found = [stage.outcome() for stage in self._stages]
        first, later = found[0], found[1:]
        whole = replace(first, tests=self.tests, rounds=sum(one.rounds for one in found))
        return self._with_spine(whole, later) if later else whole

    def _with_spine(self, first: Outcome, later: Sequence[Outcome]) -> Outcome:
        """Lay what the later stages found over the outcome of the first."""
        across, good = later[0], set(self._stages[0].good)
        seconds = {node: self._second(node) for node in across.culprits}
        tried = self._stages[2] if len(later) > 1 else None
        cleared = set(tried.good) if tried is not None else set()
        failed = set(tried.outcome().culprits) - tried.faulty if tried is not None else set()
        apart = [node for node, second in seconds.items() if second in failed]
        own = [node for stage in self._stages[1:] for node in stage.faulty]
        blamed = [node for node, second in seconds.items() if second in cleared and node not in own]
        left = [node for node, second in seconds.items() if second not in cleared | failed]
        stands_for = {
            node: seconds[one] if seconds.get(one, "") in cleared else one
            for one in self._representatives()
            for node in self._domain_of(one)
            if node in good
        }
        return replace(
            first,
            culprits=(*first.culprits, *own, *blamed),
            between=(*first.between, *across.between),
            unconfirmed=(*first.unconfirmed, *across.unconfirmed, *left),
            untested=(*first.untested, *across.untested),
            apart=tuple(self._domain_of(node) for node in apart),
            stands_for=stands_for,
        )

    def _next_stage(self) -> Screening | None:
        if not self.spine or len(self._stages) == 3:
            return None
        if len(self._stages) == 1:
            standing = self._representatives()
            return Screening([standing], smallest=self.smallest, across=True) if len(standing) > 1 else None
        across = self._stages[1]
        seconds = [second for node in across.outcome().culprits if (second := self._second(node))]
        if not seconds:
            return None
        return Screening([(node,) for node in seconds], across.good, self.smallest, across=True)

    def _representatives(self) -> Group:
        """Return the first good node of each domain that has any."""
        good = set(self._stages[0].good)
        found = (next((node for node in group if node in good), "") for group in self.groups)
        return tuple(node for node in found if node)

    def _second(self, node: str) -> str:
        """Return another good node of the same domain, empty when there is none."""
        good = set(self._stages[0].good)
        return next((one for one in self._domain_of(node) if one != node and one in good), "")

    def _domain_of(self, node: str) -> Group:
        return next(group for group in self.groups if node in group)
