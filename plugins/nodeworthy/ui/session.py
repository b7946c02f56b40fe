"""In whose name the command line acts: a user of Airflow's, or a person who broke the glass.

With Airflow's address the command goes through our pages there: Airflow proves who it is, and the roles decide as on a
page. Without it, whoever has the ledger's URL may do anything to it; so that the audit tells, `--break-glass NAME`
names the person and is written down as that, with the system's user.
"""

from __future__ import annotations

import argparse
import getpass
import os
from typing import Final

from nodeworthy.adapters.airflow_rest import AirflowRest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.roles import Permission, broke_glass
from nodeworthy.wiring import setting, wiring

BASE_URL: Final = "AIRFLOW__API__BASE_URL"


def session() -> AirflowRest:
    """Return a session with Airflow as the user of the settings; the password is asked for where none is set."""
    url = setting("AIRFLOW_URL", os.environ.get(BASE_URL))
    token = setting("AIRFLOW_TOKEN", "")
    if token:
        return AirflowRest(url, token=token)
    user = setting("AIRFLOW_USER", getpass.getuser())
    password = setting("AIRFLOW_PASSWORD", "") or getpass.getpass(f"Password of Airflow's user {user}: ")
    return AirflowRest(url, user=user, password=password)


def may_break_glass(parser: argparse.ArgumentParser) -> None:
    """Add the argument by which a command acts on the ledger itself."""
    told = "act on the ledger itself, in this person's name, when Airflow is away; the audit says so"
    parser.add_argument("--break-glass", metavar="NAME", default="", help=told)


def acting(given: argparse.Namespace, permission: Permission) -> AirflowRest | str:
    """Return a session with Airflow, or under --break-glass the person as the audit writes it.

    Raises Refused for a name without a role that may, and where neither way is open.
    """
    if given.break_glass:
        person = wiring().library.roles().require_named(permission, given.break_glass)
        return broke_glass(person.name, getpass.getuser())
    if not setting("AIRFLOW_URL", os.environ.get(BASE_URL, "")):
        raise Refused(
            "Nobody knows who you are: set NODEWORTHY_AIRFLOW_URL to act as your user of Airflow's, or name yourself "
            "with --break-glass NAME, which the audit keeps."
        )
    return session()
