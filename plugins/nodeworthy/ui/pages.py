"""Our pages inside the Airflow UI: where each node stands, and the evidence of why.

Every route asks Airflow whether the user may read the logs of `bring_up`, and our roles whether he may read.
The pages are plain HTML without outside links or scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response

from nodeworthy.errors import NodeworthyError
from nodeworthy.evidence.dossier import PAGE
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.lifecycle.upkeep import Notice
from nodeworthy.ui import access, deeds, holds, observed, requests
from nodeworthy.ui.timeline import timeline

TEMPLATES = Path(__file__).parent / "templates"
MEDIA = {".html": "text/html", ".json": "application/json", ".txt": "text/plain", ".gz": "application/gzip"}


def app() -> FastAPI:
    """Return the application that Airflow mounts below /nodeworthy."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import get_user, requires_access_dag

    def has_role(user: Any = Depends(get_user)) -> None:  # noqa: B008
        access.require(user, Permission.READ)

    may_read = requires_access_dag("GET", DagAccessEntity.TASK_LOGS, "bring_up")
    pages = FastAPI(title="Nodeworthy", dependencies=[Depends(may_read), Depends(has_role)])
    pages.get("/nodes", response_class=HTMLResponse)(nodes)

    # FastAPI calls a plain function in a thread of its own, and gives it who asks.
    def of_user(name: str, user: Any = Depends(get_user)) -> str:  # noqa: B008
        return node(name, user)

    pages.get("/nodes/{name}", response_class=HTMLResponse)(of_user)
    holds.add_routes(pages)
    deeds.add_routes(pages)
    pages.get("/requests")(requests.as_json)
    pages.get("/observed", response_class=HTMLResponse)(would_have)
    pages.get("/evidence/{path:path}")(evidence)
    return pages


def nodes() -> str:
    """Return the table of all nodes, and what waits for a person."""
    ledger = _wiring().ledger
    rows = []
    for record in ledger.nodes():
        judged = ledger.judgements(record.node.name)
        verdict = judged[0].verdict.value if judged else "-"
        shown = _verdict(judged[0], "") if judged else "-"
        name = escape(record.node.name)
        rows.append(
            f'<tr><td><a href="nodes/{name}">{name}</a></td><td class="line">{escape(record.node.sku)}</td>'
            f"<td>{escape(record.node.rack)}/{record.node.position}</td><td>{escape(record.milestone)}</td>"
            f'<td class="line {escape(verdict)}">{shown}</td><td>{escape(record.reason)}</td></tr>'
        )
    table = _table(("node", "SKU", "rack", "milestone", "verdict", "reason"), rows)
    would = '<p><a href="observed">What policy only observed</a></p>'
    return _page("Nodes", table + _requests() + _notices(ledger.notices()) + would)


def node(name: str, user: Any) -> str:
    """Return one node: where it stands, who holds it, what was judged, what was done to it."""
    ledger = _wiring().ledger
    records = ledger.nodes([name])
    if not records:
        raise HTTPException(404, f"The ledger knows no node named {name}.")
    judged = [
        f"<tr><td>{j.scope.value}</td><td>{escape(j.suite)}</td>"
        f'<td class="line {j.verdict.value}">{_verdict(j, "../")}</td>'
        f"<td>{escape(j.sentence)}</td></tr>"
        for j in ledger.judgements(name)
    ]
    qualified = [
        f"<tr><td>{q.scope.value}</td><td>{q.granted_at:%Y-%m-%d %H:%M}</td><td>{q.expires_at:%Y-%m-%d}</td>"
        f'<td><a href="../evidence/{escape(q.dossier.path)}">{escape(q.dossier.path)}</a></td></tr>'
        for q in ledger.qualifications(name)
    ]
    effects = [
        f"<tr><td>{e.intended_at:%Y-%m-%d %H:%M:%S}</td><td>{escape(e.kind)} {escape(e.key)}</td>"
        f"<td>{escape(e.status)}</td><td>{escape(_told(e.proof))}</td></tr>"
        for e in ledger.effects(name)
    ]
    record = records[0]
    body = (
        '<p><a href="../nodes">All nodes</a></p>'
        f"<p>Milestone <b>{escape(record.milestone)}</b>, serial {escape(record.node.serial)}, "
        f"SKU {escape(record.node.sku)}. {escape(record.reason)}</p>"
        f"{holds.section(name, ledger.holds(name), user)}{_requests(name)}{_notices(ledger.notices(name))}"
        f"<h2>Qualifications</h2>{_table(('scope', 'granted', 'until', 'dossier'), qualified)}"
        f"<h2>Judgements</h2>{_table(('scope', 'suite', 'verdict', 'reason'), judged)}"
        f"<h2>Effects</h2>{_table(('when (UTC)', 'effect', 'outcome', 'proof'), effects)}"
        f"<h2>Life</h2>{_life(ledger.history(name))}"
    )
    return _page(record.node.name, body)


def would_have(pool: str = "") -> str:
    """Return what policy only observed in the last thirty days, against what happened afterwards."""
    found = observed.compared(pool)
    counts = _table(observed.COUNTED, observed.counted(found))
    return _page("What policy would have done", counts + _table(observed.HEADS, observed.rows(found)))


def _requests(node: str = "") -> str:
    return f"<h2>Waits for an answer</h2>{_table(requests.HEADS, requests.rows(node))}"


def _notices(notices: Sequence[Notice]) -> str:
    rows = [f"<tr><td>{one.raised_at:%Y-%m-%d %H:%M}</td><td>{escape(one.sentence)}</td></tr>" for one in notices]
    return f"<h2>Notices</h2>{_table(('since (UTC)', 'what'), rows)}"


def _life(history: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"<tr><td>{one.at:%Y-%m-%d %H:%M:%S}</td><td>{one.episode or ''}</td><td>{escape(one.text)}</td></tr>"
        for one in reversed(timeline(history))
    ]
    return _table(("when (UTC)", "episode", "what"), rows)


def evidence(path: str) -> Response:
    """Return one stored file of evidence, checked against its own hash when it was stored."""
    try:
        content = _wiring().store.read(path)
    except NodeworthyError as error:
        raise HTTPException(404, error.sentence) from error
    return Response(content, media_type=MEDIA.get(Path(path).suffix, "application/octet-stream"))


def _verdict(judgement: Judgement, up: str) -> str:
    """Return a verdict's word, as a link to its page where its dossier is on record."""
    word = escape(judgement.verdict.value) + (" (simulated)" if judgement.simulated else "")
    if judgement.dossier is None:
        return word
    page = PurePosixPath(judgement.dossier.path).parent / PAGE
    return f'<a href="{up}evidence/{escape(str(page))}">{word}</a>'


def _told(proof: Mapping[str, Any]) -> str:
    """Return a proof as words; what is empty says nothing."""
    return ", ".join(f"{name} {value}" for name, value in proof.items() if value not in ("", None, {}, []))


def _wiring() -> Any:
    from nodeworthy.wiring import wiring

    return wiring()


def _table(titles: tuple[str, ...], rows: list[str]) -> str:
    if not rows:
        return "<p>None.</p>"
    head = "".join(f"<th>{title}</th>" for title in titles)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _page(title: str, body: str) -> str:
    frame = (TEMPLATES / "frame.html").read_text()
    return frame.replace("{{title}}", escape(title)).replace("{{body}}", body)
