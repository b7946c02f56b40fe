"""What the client of Airflow's API does when a server gave up waiting for its database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from stack.rest import AirflowApi


class Server(ThreadingHTTPServer):
    """An API server that answers the statuses it is given, in turn, and keeps what it was asked."""

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = statuses
        self.runs: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/auth/token":
            return self._answer(201, {"access_token": "t"})
        self.server.runs.append(body["dag_run_id"])
        return self._answer(self.server.statuses.pop(0), {})

    def _answer(self, status: int, body: dict[str, str]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with the statuses that the test names."""
    with Server(list(request.param)) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def trigger(server: Server) -> str:
    """Ask it for a run."""
    return AirflowApi(f"http://127.0.0.1:{server.server_port}", "ada", "secret").trigger("bring_up", {})


@pytest.mark.parametrize("server", [(500, 200), (500, 409)], indirect=True, ids=["undone", "done-all-the-same"])
def test_a_trigger_that_was_answered_500_is_sent_again_under_the_same_id(server: Server) -> None:
    """Whether the first one was done or not, one run exists and its id comes back."""
    run = trigger(server)
    assert server.runs == [run, run]


@pytest.mark.parametrize("server", [(500, 500, 500)], indirect=True)
def test_a_server_that_stays_broken_is_told(server: Server) -> None:
    """Three times are enough."""
    with pytest.raises(RuntimeError, match=r"POST /api/v2/dags/bring_up/dagRuns was answered 500"):
        trigger(server)
    assert server.statuses == []


@pytest.mark.parametrize("server", [(400,)], indirect=True)
def test_a_refused_form_is_not_sent_again(server: Server) -> None:
    """A 400 says that the answers make no sense, and they will not later."""
    with pytest.raises(RuntimeError, match="was answered 400"):
        trigger(server)
    assert len(server.runs) == 1
