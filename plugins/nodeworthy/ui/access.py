"""Who may use our pages: Airflow's permission first, our own role second; both must allow."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException

from nodeworthy.errors import NodeworthyError
from nodeworthy.lifecycle.roles import Permission, Person


def require(user: Any, permission: Permission) -> Person:
    """Return who a user of Airflow's is here; answer 403, with the sentence that says why, without a role that may."""
    from nodeworthy.wiring import wiring

    try:
        return wiring().library.roles().require(permission, str(user.get_id()), str(user.get_name()))
    except NodeworthyError as error:
        raise HTTPException(403, error.sentence) from error


def may(user: Any, permission: Permission) -> bool:
    """Tell whether a user has a role that may."""
    from nodeworthy.wiring import wiring

    roles = wiring().library.roles()
    return roles.may(roles.person(str(user.get_id()), str(user.get_name())), permission)
