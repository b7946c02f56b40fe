"""A pool's policy: modes, defaults that are safe, and mistakes that are named with file and line."""

from __future__ import annotations

import pickle
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.budget import Dimension, Limit
from nodeworthy.lifecycle.policy import Action, Mode, Policy
from nodeworthy.lifecycle.policy_error import PolicyError
from nodeworthy.lifecycle.rows import Deadline

INCLUDE = Path(__file__).parents[3] / "include"


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(INCLUDE, tmp_path / "include"))


def shipped(pool: str = "default") -> Policy:
    """Return a policy that ships."""
    return Policy.from_document(YamlLibrary(INCLUDE).policy(pool))


def test_the_shipped_policy_touches_no_customer_by_itself() -> None:
    """Drain, wipe and RMA are observed, admission is approved, work on nodes in bring-up runs."""
    policy = shipped()
    assert {action: policy.mode(action) for action in Action} == {
        Action.DRAIN: Mode.OBSERVE,
        Action.WIPE: Mode.OBSERVE,
        Action.RMA: Mode.OBSERVE,
        Action.ADMIT: Mode.APPROVE,
        Action.FIRMWARE: Mode.AUTO,
        Action.RESET: Mode.AUTO,
        Action.REIMAGE: Mode.AUTO,
    }
    assert policy.strictest(Action.RESET, Action.ADMIT) is Mode.APPROVE
    assert policy.strictest(Action.ADMIT, Action.DRAIN) is Mode.OBSERVE
    assert policy.brake is not None
    assert policy.budgets.limits[Dimension.RACK] == Limit(nodes=1)


def test_what_a_policy_does_not_say_is_the_safe_thing() -> None:
    """Unnamed classes are observed, no budget lets nothing out, no windows are no hindrance."""
    policy = Policy.from_document({"pool": "bare", "actions": {"reset": "auto"}})
    assert policy.mode(Action.DRAIN) is Mode.OBSERVE
    assert policy.budgets.limits == {Dimension.POOL: Limit(nodes=0)}
    with pytest.raises(Permanent, match="no approval rule `drain` and no `default`"):
        policy.approval("drain")


def test_a_pool_inherits_the_sections_that_it_leaves_out(include: Path) -> None:
    """A pool's own budgets replace the default's; its brake, which it does not name, is the default's."""
    path = include / "policies" / "lab.yaml"
    path.write_text(path.read_text() + "budgets: {pool: 3}\n")
    policy = Policy.from_document(YamlLibrary(include).policy("lab"))
    assert policy.budgets.limits == {Dimension.POOL: Limit(nodes=3)}
    assert policy.brake == shipped().brake
    assert YamlLibrary(include).policy("lab")["deadlines"]["lease"] == timedelta(minutes=30)


def test_a_pool_names_only_the_deadlines_in_which_it_differs(include: Path) -> None:
    """The lease's life and the other milestones stay as `default.yaml` has them; a SKU may have its own time."""
    default = include / "policies" / "default.yaml"
    default.write_text(default.read_text() + "  verified: P4D\n")
    path = include / "policies" / "lab.yaml"
    path.write_text(path.read_text() + "deadlines:\n  standby: {default: P9D, skus: {h200-sxm-8: P3D}}\n")
    document = YamlLibrary(include).policy("lab")
    policy = Policy.from_document(document)
    assert document["deadlines"]["lease"] == timedelta(minutes=30)
    assert policy.deadlines == {
        "verified": Deadline(timedelta(days=4)),
        "standby": Deadline(timedelta(days=9), {"h200-sxm-8": timedelta(days=3)}),
    }


def test_a_pools_time_goes_before_the_lifecycles() -> None:
    """For all SKUs it replaces every other time, for one SKU only that one's."""
    day = timedelta(days=1)
    table = Deadline(2 * day, {"big": 5 * day})
    assert [table.overridden(Deadline(day)).of(sku) for sku in ("big", "small")] == [day, day]
    one = table.overridden(Deadline(None, {"small": 9 * day}))
    assert [one.of(sku) for sku in ("big", "small", "other")] == [5 * day, 9 * day, 2 * day]
    assert table.overridden(None) is table


def test_two_people_answer_where_the_rule_says_so() -> None:
    """Retirement needs two operators; a rule that names people lets no other answer."""
    rule = shipped().approval("retire")
    assert (rule.needs_two, rule.expiry) == (True, timedelta(days=1))
    assert rule.may_answer("ada", frozenset({"operator"}))
    assert not rule.may_answer("ada", frozenset({"viewer"}))
    assert not shipped().approval("anything else").needs_two


APPENDED = (
    ("budgets: {pool: 3%%}", 0, "budgets.pool"),
    ("budgets:\n  rack: 1\n  planet: 2", 2, "planet"),
    ("windows:\n  time_zone: Mars/Olympus", 1, "no time zone `Mars/Olympus`"),
    ("windows:\n  open:\n    - {rule: FREQ=HOURLY, from: 2026-12-01T22:00, lasts: PT1H}", 2, "within a day"),
    ("approvals:\n  rma:\n    answers: 2", 2, "nobody may answer"),
    ("approvals:\n  rma: {people: [ada], answers: 2}", 1, "2 different people must answer and 1 may"),
    ("deadlines: {drained: PT0S}", 0, "PT0S"),
    ("deadlines:\n  lease: PT1H\n  drainned: P1D", 2, "there is no milestone `drainned` to have a deadline"),
    ("deadlines: {retired: P1D}", 0, "there is no milestone `retired` to have a deadline"),
    ("deadlines:\n  drained:\n    skus: {h999: P1D}", 2, "there is no SKU `h999`"),
    (
        "brake:\n  {window: PT1H, gpu_days_per_fault: 9, gpus_per_node: 8, tolerated_factor: 4, at_least: 3,\n"
        "   false_trips_per_month: 0.01, clear_after: PT4H, together: PT2H}",
        2,
        "`together` is longer",
    ),
)


@pytest.mark.parametrize(("text", "down", "words"), APPENDED, ids=[words for _, _, words in APPENDED])
def test_a_wrong_policy_is_refused_with_file_and_line(include: Path, text: str, down: int, words: str) -> None:
    """What is wrong is named where it stands, whether the schema or the reader finds it."""
    path = include / "policies" / "lab.yaml"
    first = path.read_text().count("\n") + 1
    path.write_text(f"{path.read_text()}{text}\n")
    with pytest.raises(Permanent) as refused:
        YamlLibrary(include).policy("lab")
    assert words in refused.value.sentence
    named = [f"{path}, line {line}: " in refused.value.sentence for line in range(first, first + down + 1)]
    assert any(named), refused.value.sentence


def test_no_policy_can_forbid_isolation(include: Path) -> None:
    """Isolation is no class of action: a policy that names it is refused at its line."""
    path = include / "policies" / "lab.yaml"
    path.write_text(path.read_text().replace("  rma: observe\n", "  isolate: observe\n"))
    with pytest.raises(Permanent, match=r"line [0-9]+: actions: .*'isolate' was unexpected"):
        YamlLibrary(include).policy("lab")


def test_an_error_survives_the_way_between_processes() -> None:
    """A policy's error keeps its place when it is pickled."""
    again = pickle.loads(pickle.dumps(PolicyError("no", ("budgets", "pool"))))
    assert (again.sentence, again.place) == ("no", ("budgets", "pool"))
