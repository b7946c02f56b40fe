"""Requests for an approval as Airflow's REST API (v2) shows them, and what a user answers or does through our pages.

Airflow must know who acts, so it goes through it and never past it into the ledger. The door to httpx.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.lifecycle.approvals import Reference, read_reference

TIMEOUT_SECONDS: Final = 60.0
PAGE: Final = 100
WAITS: Final = "awaiting_input"
PAGES: Final = "/nodeworthy"


@dataclass(frozen=True, slots=True)
class Waiting:
    """One request of ours that waits for an answer: where Airflow keeps it, and what it says."""

    dag: str
    run: str
    task: str
    map_index: int
    subject: str
    body: str
    reference: Reference
    approved: Mapping[str, str]
    """Who approved this plan so far, with the reason: another person must answer."""


class AirflowRest:
    """One user's session. `token` stands in for user and password where an identity provider gives one."""

    def __init__(self, url: str, *, user: str = "", password: str = "", token: str = "") -> None:
        self._client = httpx.Client(base_url=url.rstrip("/"), timeout=TIMEOUT_SECONDS)
        self._login = {"username": user, "password": password}
        self._token = token

    def waiting(self) -> tuple[Waiting, ...]:
        """Return the requests of ours that this user may see and nobody answered, oldest first."""
        answered = self._call("GET", f"{PAGES}/requests", below="")["requests"]
        approved = {(one["node"], one["plan_sha256"]): one["approved"] for one in answered}
        found: list[Waiting] = []
        seen = 0
        while True:
            query = {
                "response_received": "false",
                "state": WAITS,
                "limit": PAGE,
                "offset": seen,
                "order_by": "created_at",
            }
            page = self._call("GET", "/dags/~/dagRuns/~/hitlDetails", params=query)
            rows = page["hitl_details"]
            seen += len(rows)
            found += [one for row in rows if (one := _waiting(row, approved)) is not None]
            if not rows or seen >= page["total_entries"]:
                return tuple(found)

    def answer(self, request: Waiting, option: str, why: str) -> None:
        """Answer one request. Refused when Airflow lets this user not, or somebody was quicker."""
        place = f"/dags/{request.dag}/dagRuns/{request.run}/taskInstances/{request.task}/{request.map_index}"
        self._call("PATCH", f"{place}/hitlDetails", json={"chosen_options": [option], "params_input": {"reason": why}})

    def act(self, path: str, **form: str) -> str:
        """Send a form to one of our pages as this user; return its sentence, empty where it says none.

        Raises Refused with the page's own sentence for who may not, and for what the ledger refuses.
        """
        answer = self._call("POST", f"{PAGES}/{path}", below="", data=form)
        return str(answer["sentence"]) if answer else ""

    def _call(self, method: str, path: str, *, below: str = "/api/v2", **arguments: Any) -> Any:
        if not self._token:
            self._token = str(self._send("POST", "/auth/token", json=self._login)["access_token"])
        headers = {"Authorization": f"Bearer {self._token}"}
        return self._send(method, f"{below}{path}", headers=headers, **arguments)

    def _send(self, method: str, path: str, **arguments: Any) -> Any:
        where = f"{self._client.base_url}"
        try:
            answer = self._client.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Transient(f"Airflow at {where} was asked and did not answer ({error}): try again.") from error
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise Refused(f"Airflow at {where} knows no user with this password or token: log in again.")
        if answer.status_code in (httpx.codes.FORBIDDEN, httpx.codes.CONFLICT, httpx.codes.BAD_REQUEST):
            raise Refused(f"Airflow refused: {_detail(answer)}")
        if answer.is_error:
            raise Permanent(f"Airflow at {where} answered {method} {path} with {answer.status_code}: {_detail(answer)}")
        return answer.json() if answer.content else None


def _detail(answer: httpx.Response) -> str:
    """Return Airflow's own sentence, without what a login sent."""
    try:
        return str(answer.json()["detail"])[:300]
    except (ValueError, KeyError, TypeError):
        return answer.text[:300]


def _waiting(row: Any, approved: Mapping[tuple[str, str], Mapping[str, str]]) -> Waiting | None:
    task, reference = row["task_instance"], read_reference(row["body"] or "")
    if reference is None:
        return None
    return Waiting(
        dag=task["dag_id"],
        run=task["dag_run_id"],
        task=task["task_id"],
        map_index=task["map_index"],
        subject=row["subject"],
        body=row["body"],
        reference=reference,
        approved=approved.get((reference.node, reference.plan_sha256), {}),
    )
