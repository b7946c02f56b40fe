"""Roles: who may do what is decided by rows alone, and nobody without a row may anything."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.policy import ApprovalRule
from nodeworthy.lifecycle.policy_error import PolicyError
from nodeworthy.lifecycle.roles import Permission, Roles

DOCUMENT = {
    "roles": {"reader": ["read"], "operator": ["read", "approve"]},
    "people": [
        {"name": "ada", "id": "7", "roles": ["operator"]},
        {"name": "bob", "roles": ["operator"]},
        {"name": "eve", "id": "9", "roles": ["reader"]},
    ],
}
ROLES = Roles.from_document(DOCUMENT)


def test_an_id_decides_where_a_row_has_one() -> None:
    """Who renames himself to ada is not ada, and ada under another name still is."""
    assert ROLES.person("8", "ada") is None
    found = ROLES.person("7", "ada lovelace")
    assert found is not None
    assert found.name == "ada"


def test_a_name_decides_where_a_row_has_no_id() -> None:
    """bob is known by his name alone, whatever his id."""
    found = ROLES.person("12", "bob")
    assert found is not None
    assert found.name == "bob"


def test_a_stranger_and_a_reader_are_refused_with_a_sentence() -> None:
    """Each sentence names the user, what he may not, and the next step."""
    with pytest.raises(
        Refused, match=r"Airflow's user mallory stands in no row of include/roles.yaml and may not hold"
    ):
        ROLES.require(Permission.HOLD, "1", "mallory")
    with pytest.raises(Refused, match=r"eve has no role that may approve \(these have: operator\)"):
        ROLES.require(Permission.APPROVE, "9", "eve")
    assert ROLES.require(Permission.READ, "9", "eve").name == "eve"


def test_only_who_is_named_by_the_rule_and_may_approve_answers() -> None:
    """A rule that names a reader gives him no permission to approve."""
    rule = ApprovalRule(roles=("operator",), people=("eve",), answers=1, expiry=timedelta(days=1))
    assert [one.name for one in ROLES.answerers(rule)] == ["ada", "bob"]


@pytest.mark.parametrize(
    ("people", "place"),
    [
        ([{"name": "ada", "roles": ["boss"]}], ("people", 0, "roles")),
        ([{"name": "ada", "roles": []}, {"name": "ada", "roles": []}], ("people", 1)),
        ([{"name": "ada", "id": "7", "roles": []}, {"name": "bob", "id": "7", "roles": []}], ("people", 1)),
    ],
    ids=["unknown role", "name twice", "id twice"],
)
def test_rows_that_contradict_are_refused_with_their_place(people: list[object], place: tuple[object, ...]) -> None:
    """An unknown role, and a user in two rows."""
    with pytest.raises(PolicyError) as caught:
        Roles.from_document({**DOCUMENT, "people": people})
    assert caught.value.place == place
