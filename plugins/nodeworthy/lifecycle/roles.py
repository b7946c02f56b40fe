"""Who may do what: Airflow's users, the roles they have here, and what each role may.

Airflow answers who somebody is and what its own permissions allow; this says what Nodeworthy allows on top. Nobody who
stands in no row may anything. A worker learns of an answer only the user's id and name, so both decide alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.policy import ApprovalRule
from nodeworthy.lifecycle.policy_error import PolicyError

BREAK_GLASS: Final = " (break glass, "


def broke_glass(person: str, system_user: str) -> str:
    """Return how the audit names a person who acted on the ledger itself, where nobody proves who it was."""
    return f"{person}{BREAK_GLASS}system user {system_user})"


def person_of(who: str) -> str:
    """Return the person behind a name in the audit."""
    return who.partition(BREAK_GLASS)[0]


class Permission(StrEnum):
    """What a role may allow."""

    READ = "read"
    TRIGGER = "trigger"
    APPROVE = "approve"
    HOLD = "hold"
    CHANGE_POLICY = "change_policy"


@dataclass(frozen=True, slots=True)
class Person:
    """One user. `id` is the user's id in Airflow, empty where the file names none."""

    name: str
    id: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class Roles:
    """All roles and people."""

    permissions: Mapping[str, frozenset[Permission]]
    people: tuple[Person, ...]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Roles:
        """Read the checked mapping. Raises PolicyError with the place of a row that contradicts another."""
        permissions = {name: frozenset(map(Permission, allowed)) for name, allowed in document["roles"].items()}
        people: list[Person] = []
        for number, row in enumerate(document["people"]):
            unknown = sorted(set(row["roles"]) - set(permissions))
            if unknown:
                raise PolicyError(f"the role {unknown[0]} stands in no row of `roles`", ("people", number, "roles"))
            person = Person(row["name"], row.get("id", ""), frozenset(row["roles"]))
            if any(person.name == one.name or (person.id and person.id == one.id) for one in people):
                raise PolicyError(
                    f"the name or id of {person.name} stands there twice; keep one row", ("people", number)
                )
            people.append(person)
        return cls(permissions, tuple(people))

    def person(self, user_id: str, name: str) -> Person | None:
        """Return the row of an Airflow user: by id where the row has one, else by name."""
        return next((one for one in self.people if (one.id == user_id if one.id else one.name == name)), None)

    def named(self, name: str) -> Person | None:
        """Return the row of a name: for what Airflow tells without an id."""
        return next((one for one in self.people if one.name == name), None)

    def may(self, person: Person | None, permission: Permission) -> bool:
        """Tell whether a person has a role with this permission."""
        return person is not None and any(permission in self.permissions[role] for role in person.roles)

    def require(self, permission: Permission, user_id: str, name: str) -> Person:
        """Return the row of a user who may. Raises Refused with a sentence for one who may not, or is unknown."""
        return self._allowed(self.person(user_id, name), permission, name)

    def require_named(self, permission: Permission, name: str) -> Person:
        """As `require`, for a user of whom Airflow tells the name alone."""
        return self._allowed(self.named(name), permission, name)

    def answerers(self, rule: ApprovalRule) -> tuple[Person, ...]:
        """Return who may answer a request under a rule: whom it names, with the permission to approve."""
        return tuple(
            one for one in self.people if rule.may_answer(one.name, one.roles) and self.may(one, Permission.APPROVE)
        )

    def _allowed(self, person: Person | None, permission: Permission, name: str) -> Person:
        if person is None:
            raise Refused(
                f"Airflow's user {name} stands in no row of include/roles.yaml and may not {_words(permission)}: add a "
                "row with a role."
            )
        if not self.may(person, permission):
            with_it = ", ".join(sorted(role for role, may in self.permissions.items() if permission in may))
            raise Refused(
                f"{name} has no role that may {_words(permission)} (these have: {with_it or 'none'}): ask who keeps "
                "include/roles.yaml."
            )
        return person


def _words(permission: Permission) -> str:
    return permission.value.replace("_", " ")
