"""Checks of a lifecycle table as a graph: what makes a table unsafe, each problem as one sentence that names the row.

The service check searches all states (milestone, scopes in force), where a row may grant or void a scope and where any
scope may lapse at any time (expiry, a voided dossier): no such path may enter a schedulable milestone without both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.guards import APPROVING, GUARDS, SCOPES_REQUIRED
from nodeworthy.lifecycle.rows import CERTIFICATE, STAY, TELL_OPERATOR, Milestone, Transition

Milestones = Sequence[Milestone]
Transitions = Sequence[Transition]
State = tuple[str, frozenset[Scope]]
BOTH = frozenset(Scope)


def problems(milestones: Milestones, transitions: Transitions) -> tuple[str, ...]:
    """Return every problem of a table, the first kind that fails first; empty for a safe one."""
    found: list[str] = []
    for check in CHECKS:
        found.extend(check(milestones, transitions))
        if found and check in _FOUNDATION:
            break
    return tuple(found)


def names_are_sound(milestones: Milestones, _transitions: Transitions) -> Iterator[str]:
    """Milestones are unique and exactly one is initial."""
    for name, count in Counter(row.name for row in milestones).items():
        if count > 1:
            yield f"Milestone `{name}` stands in the table {count} times: keep one."
    if sum(row.initial for row in milestones) != 1:
        yield "Exactly one milestone must be `initial: true`: mark the one in which a declared node begins."


def rows_name_what_exists(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """Rows name known milestones, guards and scopes."""
    known = {row.name for row in milestones}
    for row in transitions:
        named = f"Transition `{row.row}`"
        for end in {row.from_, row.to} - known:
            yield f"{named} names the milestone `{end}`, which is not in the table: add or correct it."
        for guard in set(row.guards) - set(GUARDS):
            yield f"{named} names the guard `{guard}`, which does not exist: use one of {', '.join(GUARDS)}."
        for void in set(row.voids) - {*Scope, CERTIFICATE}:
            yield f"{named} voids `{void}`: only hardware, platform and certificate can be voided."


def events_are_unambiguous(_milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """From one milestone an event leads to one milestone."""
    for (from_, event), count in Counter((row.from_, row.event) for row in transitions).items():
        if count > 1:
            yield f"Event `{event}` leads from `{from_}` to {count} milestones: keep one row."


def all_are_reachable(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """Every milestone is reached by a path whose guards can be satisfied."""
    seen = {name for name, _scopes in _states(milestones, transitions)}
    for row in milestones:
        if row.name not in seen:
            yield f"Milestone `{row.name}` cannot be reached from the initial one: add a transition to it or remove it."


def all_can_be_left(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """Every milestone that is not final has a way out, and a final one has none."""
    left = {row.from_ for row in transitions if row.to != row.from_}
    for row in milestones:
        if row.final and row.name in left:
            yield f"Milestone `{row.name}` is final and has a way out: remove `final` or the transition."
        if not row.final and row.name not in left:
            yield f"Milestone `{row.name}` cannot be left and is not final: add a transition from it."


def deadlines_have_a_rule(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """A deadline, or the reason for none; and next steps that exist."""
    edges = {(row.from_, row.event): row for row in transitions}
    for row in milestones:
        named = f"Milestone `{row.name}`"
        if row.deadline.default is None and not row.deadline.because:
            yield f"{named} has no deadline and no `because`: give it a time or the reason why it needs none."
        if row.at_deadline != TELL_OPERATOR and (row.name, row.at_deadline) not in edges:
            yield f"{named} ends its deadline with `{row.at_deadline}`, an event that does not leave it: add that row."
        if row.if_interrupted == STAY:
            continue
        edge = edges.get((row.name, row.if_interrupted))
        if edge is None:
            yield f"{named} is interrupted by `{row.if_interrupted}`, an event that does not leave it: add that row."
        elif edge.guards:
            yield f"Transition `{edge.row}` follows an interruption and has guards: a lost boot is a fact, remove them."


def risky_rows_need_their_approval(_milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """High and final risk need a named approval, and a guard that lets nobody past without it."""
    for row in transitions:
        if not row.risk.needs_approval:
            continue
        if not row.approval:
            yield f"Transition `{row.row}` has the risk `{row.risk}` and names no approval: say which it needs."
        if not APPROVING & set(row.guards):
            yield (
                f"Transition `{row.row}` has the risk `{row.risk}` and no guard that asks for its approval: add "
                f"{' or '.join(sorted(APPROVING))}."
            )


def grants_are_guarded(_milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """A row that is led to by a judgement demands that judgement."""
    for row in transitions:
        if row.grants is not None and row.grants not in _required(row):
            yield f"Transition `{row.row}` grants {row.grants} without the guard `{row.grants}_qualified`: add it."


def taints_match_schedulability(milestones: Milestones, _transitions: Transitions) -> Iterator[str]:
    """Only a schedulable milestone lets pods in."""
    for row in milestones:
        if not row.schedulable and not row.projection.keeps_pods_out:
            yield f"Milestone `{row.name}` is not schedulable and its projection has no NoSchedule taint: add one."
        if row.schedulable and (row.projection.keeps_pods_out or row.projection.cordon):
            yield f"Milestone `{row.name}` is schedulable and its projection keeps pods out: remove what does."


def service_needs_both_scopes(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """No path enters a schedulable milestone without both scopes in force."""
    schedulable = {row.name for row in milestones if row.schedulable}
    if any(row.initial and row.schedulable for row in milestones):
        yield "The initial milestone is schedulable: a node that nobody has seen must not get work."
    states = _states(milestones, transitions)
    for row in transitions:
        if row.to not in schedulable:
            continue
        after = {_after(row, valid) for name, valid in states if name == row.from_ and _open(row, valid)}
        missing = sorted({scope for kept in after for scope in BOTH - kept})
        if missing:
            scopes = " and ".join(missing)
            yield f"Transition `{row.row}` lets a node into service without a valid {scopes} qualification: guard it."


def path_is_one_chain(milestones: Milestones, transitions: Transitions) -> Iterator[str]:
    """Rows with a stage form one chain from the initial milestone to a schedulable one."""
    staged = [row for row in transitions if row.stage]
    for from_, count in Counter(row.from_ for row in staged).items():
        if count > 1:
            yield f"Milestone `{from_}` has {count} transitions with a stage: onboarding is one path, keep one of them."
            return
    at = next(row.name for row in milestones if row.initial)
    following = {row.from_: row for row in staged}
    walked = 0
    while at in following and walked < len(staged):
        at = following[at].to
        walked += 1
    schedulable = {row.name for row in milestones if row.schedulable}
    if walked != len(staged) or at not in schedulable:
        yield f"The rows with a stage are not one chain from the initial milestone into service: it ends at `{at}`."


Check = Callable[[Milestones, Transitions], Iterator[str]]
_FOUNDATION: tuple[Check, ...] = (names_are_sound, rows_name_what_exists, events_are_unambiguous)
CHECKS: tuple[Check, ...] = (
    *_FOUNDATION,
    all_are_reachable,
    all_can_be_left,
    deadlines_have_a_rule,
    risky_rows_need_their_approval,
    grants_are_guarded,
    taints_match_schedulability,
    service_needs_both_scopes,
    path_is_one_chain,
)


def _states(milestones: Milestones, transitions: Transitions) -> frozenset[State]:
    """Search every (milestone, scopes in force) that any order of events, lapses and judgements can reach."""
    start: State = (next(row.name for row in milestones if row.initial), frozenset())
    seen = {start}
    todo = [start]
    while todo:
        name, scopes = todo.pop()
        moves = [(row.to, _after(row, scopes)) for row in transitions if row.from_ == name and _open(row, scopes)]
        lapses = [(name, frozenset(kept)) for size in range(len(scopes)) for kept in combinations(scopes, size)]
        for state in (*moves, *lapses):
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return frozenset(seen)


def _required(row: Transition) -> frozenset[Scope]:
    return frozenset(SCOPES_REQUIRED[guard] for guard in row.guards if guard in SCOPES_REQUIRED)


def _open(row: Transition, scopes: frozenset[Scope]) -> bool:
    granted = frozenset() if row.grants is None else frozenset((row.grants,))
    return _required(row) <= scopes | granted


def _after(row: Transition, scopes: frozenset[Scope]) -> frozenset[Scope]:
    granted = frozenset() if row.grants is None else frozenset((row.grants,))
    return (scopes | granted) - row.voided_scopes
