"""What an operator sees: a real Chromium on the real UI; skipped where no Chromium is installed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest

from stack.browser import Page, browser, executable
from tests.end_to_end.running import Running

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(executable() is None, reason="no Chromium is installed"),
]


PLACE = """
(() => {
  const found = [...document.querySelectorAll("button")].filter(button => button.innerText.trim() === "NAME").pop();
  if (!found) return null;
  found.scrollIntoView({block: "center"});
  const box = found.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()
"""
CLOSED = '[...document.querySelectorAll("button")].filter(b => b.innerText.trim() === "Trigger" && b.disabled).length'
FORM = {
    "Which nodes": ("Nodes", "Rack", "Batch", "Retry of"),
    "How": ("Suite level", "Ask before risky steps"),
}


def press(page: Page, name: str) -> None:
    """Press a button with the mouse, as a person does: some parts of the UI ignore a scripted click."""
    time.sleep(0.5)
    x, y = page.evaluate(PLACE.replace("NAME", name))
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@pytest.fixture(scope="module")
def run(running: Running) -> str:
    """A finished run: of one healthy node, or an earlier test's."""
    found = running.api.get("/dags/bring_up/dagRuns", limit=1, state="success")["dag_runs"]
    return found[0]["dag_run_id"] if found else running.bring_up(nodes=["gpu-a01"])[0]


@pytest.fixture(scope="module")
def page(running: Running) -> Iterator[Page]:
    """A tab of an operator who has logged in."""
    with browser() as tab:
        tab.log_in(running.stack.layout.url, running.api.token)
        yield tab


def test_the_grid_shows_the_run_and_its_steps(running: Running, page: Page, run: str) -> None:
    """The grid names the groups, the judges and the gate."""
    page.open(running.api.run_url("bring_up", run), until="gate")
    for name in ("open_wave", "judge_hardware", "judge_platform", "finish"):
        assert name in page.text()


def test_the_trigger_form_asks_for_nodes_and_for_how(running: Running, page: Page) -> None:
    """The form shows the two sections of the parameters with their titles, and demands no answer where one will do."""
    page.open(f"{running.stack.layout.url}/dags/bring_up", until="Trigger")
    press(page, "Trigger")
    for section, questions in FORM.items():
        running.until(section, lambda section=section: section in page.text())
        press(page, section)
        for words in questions:
            running.until(words, lambda words=words: words in page.text(), patience_seconds=20)
    assert page.evaluate(CLOSED) == 0


def test_the_nodes_page_leads_to_a_node_and_its_evidence(running: Running, page: Page, run: str) -> None:
    """From the table to a node, from the node to the page of evidence behind its qualification."""
    node = next(record.node.name for record in running.ledger.nodes() if record.milestone == "standby")
    url = f"{running.stack.layout.url}/nodeworthy"
    page.open(f"{url}/nodes", until=node)
    page.open(f"{url}/nodes/{node}", until="Qualifications")
    links = page.evaluate("Array.from(document.querySelectorAll('a')).map(a => a.href).join('\\n')").split("\n")
    evidence = [link for link in links if "/evidence/" in link]
    assert evidence
    for link in evidence:
        page.open(link, until="{" if link.endswith(".json") else node)


@pytest.mark.parametrize("path", ["nodes", "nodes/gpu-a01", "evidence/nodes/x/y.json"])
def test_without_a_login_nothing_is_shown(running: Running, path: str) -> None:
    """Who has no session is answered 401 or 403 on every page."""
    answer = httpx.get(f"{running.stack.layout.url}/nodeworthy/{path}")
    assert answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)
