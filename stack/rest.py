"""Airflow's REST API v2, as far as the demo and the tests use it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

FINISHED = frozenset({"success", "failed"})
TRIES = 3
HANDS_SECONDS = 3.0
"""How long after a question a program answers it: no person is quicker, and Airflow parks the task in that time."""


class AirflowApi:
    """One user's session with one Airflow."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._login = {"username": user, "password": password}
        self._client = httpx.Client(base_url=url, timeout=60.0)
        self._token = ""

    def healthy(self) -> bool:
        """Tell whether the metadata database and all three background components are healthy."""
        try:
            answer = self._client.get("/api/v2/monitor/health")
        except httpx.HTTPError:
            return False
        if answer.status_code != httpx.codes.OK:
            return False
        parts = answer.json()
        return all(parts.get(name, {}).get("status") == "healthy" for name in _HEALTH_PARTS)

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON answer of a GET below /api/v2."""
        return self._call("GET", path, params=query)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON answer of a POST below /api/v2."""
        return self._call("POST", path, json=body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON answer of a PATCH below /api/v2."""
        return self._call("PATCH", path, json=body)

    def dag_is_known(self, dag: str) -> bool:
        """Tell whether the DAG has been parsed and stored."""
        answer = self._send("GET", f"/dags/{dag}")
        return answer.status_code == httpx.codes.OK

    def trigger(self, dag: str, conf: Mapping[str, Any], *, run: str | None = None) -> str:
        """Start a run and return its id. The id is ours, so that a request that is sent again starts nothing twice."""
        name = run or f"manual__{datetime.now(tz=UTC).isoformat()}"
        body = {"logical_date": None, "conf": dict(conf), "dag_run_id": name}
        answer = self._send("POST", f"/dags/{dag}/dagRuns", json=body)
        if answer.status_code != httpx.codes.CONFLICT or run:
            _checked(answer)
        return name

    def run_state(self, dag: str, run: str) -> str:
        """Return the state of a run."""
        return str(self.get(f"/dags/{dag}/dagRuns/{run}")["state"])

    def wait(self, dag: str, run: str, *, patience_seconds: float) -> str:
        """Return the state in which a run ended; TimeoutError when it has not after `patience_seconds`."""
        deadline = time.monotonic() + patience_seconds
        while time.monotonic() < deadline:
            state = self.run_state(dag, run)
            if state in FINISHED:
                return state
            time.sleep(1.0)
        raise TimeoutError(f"run {run} of {dag} is still {self.run_state(dag, run)} after {patience_seconds:.0f} s")

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        """Return all task instances of a run."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.get(f"/dags/{dag}/dagRuns/{run}/taskInstances", limit=100, offset=len(found))
            found += page["task_instances"]
            if len(found) >= page["total_entries"] or not page["task_instances"]:
                return found

    def asked(self, dag: str, run: str) -> list[dict[str, Any]]:
        """Return the task instances of a run that wait for a person's answer."""
        return [task for task in self.tasks(dag, run) if task["state"] == "awaiting_input"]

    def answer(self, dag: str, run: str, task: Mapping[str, Any], option: str, reason: str) -> None:
        """Answer one request as this session's user, as the UI's button does."""
        self.patch(
            f"/dags/{dag}/dagRuns/{run}/taskInstances/{task['task_id']}/{task['map_index']}/hitlDetails",
            {"chosen_options": [option], "params_input": {"reason": reason}},
        )

    def approve_all(self, dag: str, run: str, count: int, reason: str, *, patience_seconds: float = 120) -> None:
        """Wait until `count` nodes of a run are asked about, and approve them.

        An answer that comes within a second of the question can be lost, so it waits a little longer than that.
        """
        deadline = time.monotonic() + patience_seconds
        while len(found := self.asked(dag, run)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"run {run} of {dag} asked about {len(found)} of {count} nodes, no more came")
            time.sleep(0.5)
        time.sleep(HANDS_SECONDS)
        for task in found:
            self.answer(dag, run, task, "Approve", reason)

    def log(self, dag: str, run: str, task: str, *, map_index: int = -1, attempt: int = 1) -> list[str]:
        """Return the lines of one try's log, oldest first."""
        answer = self.get(
            f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}", map_index=map_index, full_content=True
        )
        return [row["event"] if isinstance(row, dict) else str(row) for row in answer["content"]]

    def run_url(self, dag: str, run: str) -> str:
        """Return the address of a run in the UI."""
        return f"{self.url}/dags/{dag}/runs/{run}"

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        answer = _checked(self._send(method, path, **arguments))
        return answer.json() if answer.content else None

    @property
    def token(self) -> str:
        """This session's bearer token, asked for once."""
        if not self._token:
            self._token = str(
                self._client.post("/auth/token", json=self._login).raise_for_status().json()["access_token"]
            )
        return self._token

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send a request; once more when the server gave up waiting for its database, having done nothing."""
        headers = {"Authorization": f"Bearer {self.token}"}
        for _ in range(TRIES):
            answer = self._client.request(method, f"/api/v2{path}", headers=headers, **arguments)
            if answer.status_code != httpx.codes.INTERNAL_SERVER_ERROR:
                break
            time.sleep(1.0)
        return answer


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        asked = f"{answer.request.method} {answer.request.url.path}"
        raise RuntimeError(f"{asked} was answered {answer.status_code}: {answer.text[:500]}")
    return answer


_HEALTH_PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")
