"""Who spoils a collective over many nodes: group tests instead of pairs.

Each domain (rack, NVLink clique) is tested as one group, all in parallel; a group that fails is halved until single
nodes are left, small groups padded with nodes that are known to be good; each suspect is confirmed with another good
partner than the one that it failed with. A node is to blame only when it fails with a good partner; a group whose
halves all pass has a fault between them (a cable, a switch port), which is reported as such and blames no node. A group
that could not be tested, twice, is halved as well, so that one node without a network costs the others nothing. A node
that showed a fault of its own while its group was tested is out at once, and its group is tested again without it.

Nothing is run here: `Screening` says which groups to test next and takes in the answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

Group = tuple[str, ...]
_PAIR, _PAIRINGS = 2, 2


@dataclass(frozen=True, slots=True)
class Trial:
    """One group to test: the nodes that are asked about, and the good ones that pad the group."""

    suspects: Group
    padding: Group = ()
    across: bool = False
    """Whether its nodes stand for their domains, and what is asked is what lies between those."""

    @property
    def nodes(self) -> Group:
        """All nodes of the collective, in order."""
        return self.suspects + self.padding


@dataclass(frozen=True, slots=True)
class Outcome:
    """What screening found: culprits by name, groups that fail only as a whole, and how much it took."""

    culprits: Group
    between: tuple[Group, ...]
    tests: int
    rounds: int
    unconfirmed: Group = ()
    """Suspects for whom no good partner was left."""
    untested: Group = ()
    """Nodes whose group could not be tested, twice: nothing is known about them."""
    apart: tuple[Group, ...] = ()
    """Domains that are slow to all others while each of their nodes is well: their way out is to blame, no node."""
    stands_for: Mapping[str, str] = field(default_factory=dict)
    """By node, the one that was tested across domains for it and its like; empty where nobody was."""


def in_groups(nodes: Iterable[tuple[str, str]], largest: int) -> tuple[Group, ...]:
    """Return the first groups of `largest` nodes at most; nodes are (name, domain), and no group crosses a domain."""
    of_domain: dict[str, list[str]] = {}
    for name, domain in nodes:
        of_domain.setdefault(domain, []).append(name)
    return tuple(
        tuple(names[first : first + largest]) for names in of_domain.values() for first in range(0, len(names), largest)
    )


def domains(nodes: Sequence[str], labels: Mapping[str, str]) -> tuple[Group, ...]:
    """Return the first groups: by topology label; nodes without one in groups of about the root of their number."""
    labelled: dict[str, list[str]] = {}
    for node in nodes:
        if labels.get(node):
            labelled.setdefault(labels[node], []).append(node)
    rest = [node for node in nodes if not labels.get(node)]
    size = max(2, ceil(sqrt(len(rest))))
    unlabelled = [tuple(rest[first : first + size]) for first in range(0, len(rest), size)]
    return (*(tuple(group) for group in labelled.values()), *unlabelled)


@dataclass
class Screening:
    """The search. Ask `next_round`, run the trials, `take` the answers, until `next_round` is empty.

    `smallest` is the least number of nodes that the collective needs; groups below it are padded. `known_good` are
    nodes that passed elsewhere; every node of a group that passes becomes one. `homes` are the domains of nodes: who
    needs padding gets it from its own domain if that can be, and nobody who has neighbours there is to blame before it
    failed with one that is good, since with others the way out of the domain may be slow.
    """

    groups: Sequence[Group]
    known_good: Iterable[str] = ()
    smallest: int = 2
    across: bool = False
    homes: Mapping[str, str] = field(default_factory=dict)
    _good: dict[str, None] = field(init=False)
    _partners: dict[str, set[str]] = field(init=False, default_factory=dict)
    _padded_by: dict[str, set[str]] = field(init=False, default_factory=dict)
    _next: list[Trial] = field(init=False)
    _halves: dict[Group, tuple[Group, Group]] = field(init=False, default_factory=dict)
    _passed: set[Group] = field(init=False, default_factory=set)
    _confirming: set[str] = field(init=False, default_factory=set)
    _culprits: list[str] = field(init=False, default_factory=list)
    _unconfirmed: list[str] = field(init=False, default_factory=list)
    _waiting: list[Group] = field(init=False, default_factory=list)
    _again: set[Group] = field(init=False, default_factory=set)
    _untested: list[str] = field(init=False, default_factory=list)
    _pairings: dict[str, int] = field(init=False, default_factory=dict)
    faulty: set[str] = field(init=False, default_factory=set)
    """Culprits by a fault of their own."""
    tests: int = field(init=False, default=0)
    rounds: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._good = dict.fromkeys(self.known_good)
        self._next = []
        self._waiting = list(self.groups)

    def next_round(self) -> tuple[Trial, ...]:
        """Return the trials that can run side by side now: no node stands in two of them. Empty when all is known."""
        if not self._next:
            self._plan()
        return tuple(self._next)

    def take(
        self, passed: Sequence[bool | None], measured: Sequence[bool] = (), faulty: Sequence[Collection[str]] = ()
    ) -> None:
        """Take in the answers of the last round, in order. ValueError for another number of answers than trials.

        None means that a group was not tested: it says nothing about its nodes, is tried once more, and then halved.
        Where it was `measured` and only a baseline is missing, neither would say more: its nodes are left open.
        `faulty` are the nodes of each group that showed a fault of their own (an Xid, a counter that rose): they are
        out, and whatever the group measured, the others are tested again without them.
        """
        trials, self._next = self._next, []
        if len(passed) != len(trials):
            raise ValueError(f"{len(trials)} groups were to be tested, {len(passed)} answers came.")
        self.tests, self.rounds = self.tests + len(trials), self.rounds + 1
        known, out = measured or [False] * len(trials), faulty or [()] * len(trials)
        for trial, good, waits, bad in zip(trials, passed, known, out, strict=True):
            if bad:
                self._leave_out(trial, bad)
                continue
            if good is None and waits:
                self._untested += trial.suspects
                continue
            if good is None:
                self._try_again(trial.suspects)
                continue
            for node in trial.suspects:
                self._partners.setdefault(node, set()).update(set(trial.nodes) - {node})
                self._padded_by.setdefault(node, set()).update(trial.padding)
            self._settle(trial, good)

    @property
    def good(self) -> Group:
        """The nodes that passed in some group, or were known to be good before, in that order."""
        return tuple(node for node in self._good if node not in self._culprits)

    def outcome(self) -> Outcome:
        """Return what is known so far."""
        between = tuple(group for group, halves in self._halves.items() if set(halves) <= self._passed)
        left = tuple(self._unconfirmed), tuple(self._untested)
        return Outcome(tuple(self._culprits), between, self.tests, self.rounds, *left)

    def _leave_out(self, trial: Trial, bad: Collection[str]) -> None:
        for node in bad:
            self.faulty.add(node)
            self._good.pop(node, None)
            self._confirming.discard(node)
            self._culprits += [] if node in self._culprits else [node]
        rest = tuple(node for node in trial.suspects if node not in bad)
        self._waiting += [rest] if rest else []

    def _try_again(self, group: Group) -> None:
        if group not in self._again:
            self._again.add(group)
            self._waiting.append(group)
        elif len(group) > 1:
            self._waiting += _halved(group)
        else:
            self._untested += group

    def _settle(self, trial: Trial, good: bool) -> None:
        group = trial.suspects
        if good:
            self._passed.add(group)
            self._confirming -= set(group)
            self._good.update(dict.fromkeys(group))
        elif len(group) > 1:
            self._halves[group] = _halved(group)
            self._waiting += self._halves[group]
        elif group[0] in self._confirming:
            self._confirming.discard(group[0])
            self._culprits.append(group[0])
        else:
            self._confirming.add(group[0])
            self._waiting.append(group)

    def _plan(self) -> None:
        """Form as many trials as the good nodes can pad; what finds no partner waits for the next round."""
        free = list(self.good)
        left: list[Group] = []
        for group in self._waiting:
            padding = self._padding(group, free)
            if padding is None:
                left.append(group)
                continue
            free = [node for node in free if node not in padding]
            self._next.append(Trial(group, padding, self.across))
        self._waiting = left
        if not self._next and left:
            self._pair_up(left)
        if not self._next and left:
            self._give_up(left)

    def _pair_up(self, left: Sequence[Group]) -> None:
        """Where nobody is known to be good: let single nodes that wait find one among themselves, by two tries each."""
        free = [one for (one, *more) in left if not more and one not in self._confirming]
        free = [node for node in free if self._pairings.get(node, 0) < _PAIRINGS] if self.smallest == _PAIR else []
        while free:
            one = free.pop(0)
            other = next((node for node in free if not {(one, node), (node, one)} & set(self._halves)), None)
            if other is not None:
                free.remove(other)
                self._next.append(Trial((one, other), (), self.across))
        paired = [node for trial in self._next for node in trial.suspects]
        self._pairings.update({node: self._pairings.get(node, 0) + 1 for node in paired})
        self._waiting = [group for group in left if group[0] not in paired]

    def _padding(self, group: Group, free: Sequence[str]) -> Group | None:
        missing = max(0, self.smallest - len(group))
        if not missing:
            return ()
        others = [node for node in free if node not in group]
        if group[0] in self._confirming:
            # Never the partner that it failed with alone; if possible one that it was in no group with.
            padded_by = self._padded_by[group[0]]
            others = [node for node in others if node not in padded_by]
            others.sort(key=lambda node: node in self._partners[group[0]])
            if self._has_neighbours(group[0]) and not any(self._at_home(group[0], node) for node in padded_by):
                others = [node for node in others if self._at_home(group[0], node)]
        others.sort(key=lambda node: not self._at_home(group[0], node))
        return tuple(others[:missing]) if len(others) >= missing else None

    def _at_home(self, node: str, other: str) -> bool:
        return not self.homes or self.homes.get(node) == self.homes.get(other)

    def _has_neighbours(self, node: str) -> bool:
        return any(other != node and home == self.homes.get(node) for other, home in self.homes.items())

    def _give_up(self, left: list[Group]) -> None:
        self._unconfirmed += [node for group in left for node in group]
        self._waiting = []


def _halved(group: Group) -> tuple[Group, Group]:
    middle = (len(group) + 1) // 2
    return (group[:middle], group[middle:])
