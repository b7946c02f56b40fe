"""What the command line asks of our pages in the name of a user of Airflow's: end an incident, let a spare stand for a
node that is out, swap a chassis, take a learnt baseline back.

Airflow's permission to trigger `bring_up` is asked first, our roles second. Only a bearer token is let in: a browser
adds none by itself, so no other site can send these forms with somebody's cookie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from nodeworthy.errors import NodeworthyError
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.lifecycle.upkeep import Swap, SwapAnswer
from nodeworthy.procedures import reidentify
from nodeworthy.ui import access, holds

if TYPE_CHECKING:
    from nodeworthy.wiring import Wiring


def add_routes(pages: FastAPI) -> None:
    """Add the routes."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import get_user, requires_access_dag

    async def clear(number: int, request: Request, user: Any = Depends(get_user)) -> JSONResponse:  # noqa: B008
        who, form = await _form(request, user, Permission.HOLD)
        return await _do(lambda made: made.brake.clear_incident(number, who=who, why=form["why"]))

    async def replace(node: str, request: Request, user: Any = Depends(get_user)) -> JSONResponse:  # noqa: B008
        who, form = await _form(request, user, Permission.HOLD)
        spare = form.get("by", "")
        return await _do(lambda made: made.absences.replace_absence(node, by=spare, who=who, why=form["why"]))

    async def withdraw(sku: str, number: int, request: Request, user: Any = Depends(get_user)) -> JSONResponse:  # noqa: B008
        who, form = await _form(request, user, Permission.CHANGE_POLICY)
        return await _do(lambda made: made.book.withdraw_baselines(sku, number, who=who, why=form["why"]))

    async def ask(request: Request, user: Any = Depends(get_user)) -> JSONResponse:  # noqa: B008
        who, form = await _form(request, user, Permission.APPROVE)
        swap = Swap(form.get("old", ""), form.get("new", ""), who, form["why"])
        return await _do(lambda made: reidentify.ask(swap, made.work(_silent), made.swaps))

    async def answer(old: str, request: Request, user: Any = Depends(get_user)) -> JSONResponse:  # noqa: B008
        who, form = await _form(request, user, Permission.APPROVE)
        given = SwapAnswer(old, who, form.get("answer") == "approve", form["why"])
        return await _do(lambda made: reidentify.answer(given, made.work(_silent), made.swaps))

    may_act = [Depends(requires_access_dag("POST", DagAccessEntity.RUN, holds.TRIGGERED))]
    pages.post("/incidents/{number}/clear", dependencies=may_act)(clear)
    pages.post("/absences/{node}/replace", dependencies=may_act)(replace)
    pages.post("/baselines/{sku}/{number}/withdraw", dependencies=may_act)(withdraw)
    pages.post("/swaps", dependencies=may_act)(ask)
    pages.post("/swaps/{old}", dependencies=may_act)(answer)


async def _form(request: Request, user: Any, permission: Permission) -> tuple[str, dict[str, str]]:
    """Return who sends a form and may, and the form, with a reason in it."""
    if not request.headers.get("authorization", "").lower().startswith("bearer "):
        raise HTTPException(403, "This is for programs: send a bearer token.")
    person = await run_in_threadpool(access.require, user, permission)
    body = await request.body()
    if len(body) > holds.LONGEST_BODY_BYTES:
        raise HTTPException(413, "The form is too long.")
    form = {field: values[-1] for field, values in parse_qs(body.decode(errors="replace")).items()}
    form["why"] = form.get("why", "").strip()[: holds.LONGEST_REASON]
    if not form["why"]:
        raise HTTPException(400, "A reason is needed: whoever reads the audit must know why.")
    return person.name, form


async def _do(act: Callable[[Wiring], object]) -> JSONResponse:
    """Do it in a thread of its own, and return its sentence; a refusal is shown word for word."""
    from nodeworthy.wiring import wiring

    try:
        sentence = await run_in_threadpool(act, wiring())
    except NodeworthyError as error:
        raise HTTPException(409, error.sentence) from error
    return JSONResponse({"sentence": sentence if isinstance(sentence, str) else "Done."})


def _silent(_: str) -> None:
    """What a page does is told in its answer."""
