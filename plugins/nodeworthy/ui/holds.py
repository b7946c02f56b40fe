"""Holds from the page of a node: who may trigger `bring_up` and has a role to hold may put a hold on a node and end it.

The session is a cookie that a browser sends by itself, so a form must prove that it came from our page: it carries a
token that only the server can make, for this user, this node and this hour. A caller with a bearer token of its own (a
script) needs none, since no browser adds that header by itself.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import RedirectResponse

from nodeworthy.errors import NodeworthyError
from nodeworthy.lifecycle.records import Hold
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.ui import access

TRIGGERED: Final = "bring_up"
LONGEST_BODY_BYTES: Final = 16 * 1024
LONGEST_REASON: Final = 1000
SCOPES: Final = {"both": "automation and admission", "automation": "automation", "admission": "admission"}
_HOUR: Final = timedelta(hours=1)


def add_routes(pages: FastAPI) -> None:
    """Add the two routes, behind Airflow's permission to trigger and our role to hold."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import get_user, requires_access_dag

    def has_role(user: Any = Depends(get_user)) -> None:  # noqa: B008
        access.require(user, Permission.HOLD)

    may_hold = [Depends(requires_access_dag("POST", DagAccessEntity.RUN, TRIGGERED)), Depends(has_role)]

    async def place(name: str, request: Request, user: Any = Depends(get_user)) -> RedirectResponse:  # noqa: B008
        form = await _checked_form(name, request, user)
        return _answer(name, lambda ledger: ledger.hold(_hold(name, user.get_name(), form)))

    async def release(name: str, request: Request, user: Any = Depends(get_user)) -> RedirectResponse:  # noqa: B008
        await _checked_form(name, request, user)
        return _answer(name, lambda ledger: ledger.release_hold(name, who=user.get_name()))

    pages.post("/nodes/{name}/hold", dependencies=may_hold, response_model=None)(place)
    pages.post("/nodes/{name}/release", dependencies=may_hold, response_model=None)(release)


def may_hold(user: Any) -> bool:
    """Tell whether Airflow lets this user trigger `bring_up`, and a role of ours hold a node."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails

    entity, details = DagAccessEntity.RUN, DagDetails(id=TRIGGERED)
    allowed = get_auth_manager().is_authorized_dag(method="POST", access_entity=entity, details=details, user=user)
    return bool(allowed) and access.may(user, Permission.HOLD)


def section(name: str, holds: tuple[Hold, ...], user: Any) -> str:
    """Return the part of a node's page that shows its holds and, to who may, the form for another."""
    rows = "".join(
        f"<tr><td>{escape(one.scope)}</td><td>{escape(one.who)}</td><td>{_end(one)}</td><td>{escape(one.why)}</td></tr>"
        for one in holds
    )
    head = "<thead><tr><th>keeps off</th><th>who</th><th>until</th><th>why</th></tr></thead>"
    table = f"<table>{head}<tbody>{rows}</tbody></table>" if holds else "<p>None.</p>"
    return f"<h2>Holds</h2>{table}{_forms(name, bool(holds), user) if may_hold(user) else ''}"


def _forms(name: str, is_held: bool, user: Any) -> str:
    token = f'<input type="hidden" name="token" value="{form_token(user.get_id(), name, _now())}">'
    options = "".join(f'<option value="{scope}">{words}</option>' for scope, words in SCOPES.items())
    place = (
        f'<form method="post" action="{escape(name)}/hold">{token}'
        f'<label>Keep off <select name="scope">{options}</select></label> '
        '<label>until (UTC, empty: until released) <input type="datetime-local" name="until"></label> '
        f'<label>why <input name="why" required maxlength="{LONGEST_REASON}" size="50"></label> '
        '<button type="submit">Hold this node</button></form>'
    )
    release = (
        f'<form method="post" action="{escape(name)}/release">{token}'
        '<button type="submit">Release all holds</button></form>'
    )
    return place + (release if is_held else "")


def form_token(user: str, node: str, at: datetime) -> str:
    """Return the token of a user's form for a node, good in this hour and the next."""
    from airflow.configuration import conf

    key = hashlib.sha256(b"nodeworthy hold form\n" + conf.get("api_auth", "jwt_secret").encode()).digest()
    hour = int(at.timestamp() // _HOUR.total_seconds())
    return hmac.new(key, f"{user}\n{node}\n{hour}".encode(), hashlib.sha256).hexdigest()


async def _checked_form(name: str, request: Request, user: Any) -> dict[str, str]:
    """Return the form's fields. 403 for a form that does not prove that it came from our page."""
    body = await request.body()
    if len(body) > LONGEST_BODY_BYTES:
        raise HTTPException(413, "The form is too long.")
    form = {field: values[-1] for field, values in parse_qs(body.decode(errors="replace")).items()}
    if request.headers.get("authorization", "").lower().startswith("bearer "):
        return form
    same_site = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    good = [form_token(user.get_id(), name, at) for at in (_now(), _now() - _HOUR)]
    if not same_site or not any(hmac.compare_digest(form.get("token", "").encode(), one.encode()) for one in good):
        raise HTTPException(403, "This form did not come from the node's page, or is too old: open the page again.")
    return form


def _hold(name: str, who: str, form: dict[str, str]) -> Hold:
    why, scope = form.get("why", "").strip()[:LONGEST_REASON], form.get("scope", "both")
    if not why:
        raise HTTPException(400, "A hold needs a reason: whoever finds it must know why.")
    return Hold(name, who, why, _until(form.get("until", "").strip()), scope)


def _until(text: str) -> datetime | None:
    if not text:
        return None
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise HTTPException(400, f"{text!r} is no time: write it as 2026-12-01T08:00.") from error
    until = given.replace(tzinfo=UTC) if given.tzinfo is None else given
    if until <= _now():
        raise HTTPException(400, f"{text} has passed already (UTC): a hold ends in the future.")
    return until


def _answer(name: str, act: Any) -> RedirectResponse:
    """Do it and lead back to the node's page; a refusal is shown word for word."""
    from nodeworthy.wiring import wiring

    try:
        act(wiring().ledger)
    except NodeworthyError as error:
        raise HTTPException(409, error.sentence) from error
    return RedirectResponse(f"../{name}", status_code=303)


def _end(hold: Hold) -> str:
    return f"{hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else "until released"


def _now() -> datetime:
    return datetime.now(UTC)
