"""The requests that wait for an answer, with who approved so far: for the pages, and as JSON for programs.

Airflow keeps a request's text as it was asked first, so what was answered since stands here.
"""

from __future__ import annotations

from html import escape
from pathlib import PurePosixPath
from typing import Any

from fastapi.responses import JSONResponse

from nodeworthy.evidence.dossier import PAGE
from nodeworthy.lifecycle.approvals import Request, standing
from nodeworthy.qualification.versions import BaselineVersion

HEADS = ("node", "what", "answers needed", "approved so far", "who may answer (in Required Actions)", "expires (UTC)")


def rows(node: str = "") -> list[str]:
    """Return a row of a table for each open request, of one node or of all."""
    asked = [
        f"<tr><td>{escape(one.node)}</td><td>{escape(one.subject)}</td><td>{one.answers}</td>"
        f"<td>{escape('; '.join(f'{who}: {why}' for who, why in given.items())) or '-'}</td>"
        f"<td>{escape(', '.join(name for name in one.may_answer if name not in given))}</td>"
        f"<td>{one.expires_at:%Y-%m-%d %H:%M}</td></tr>"
        for one, given in _open()
        if node in ("", one.node)
    ]
    return asked if node else [*asked, *_proposals()]


def _proposals() -> list[str]:
    """Return a row for the newest proposal of baselines of each SKU that nobody has answered."""
    from nodeworthy.wiring import wiring

    newest = {one.sku: one for one in wiring().book.baseline_versions("")}
    return [_proposal(one) for one in newest.values() if not one.answer]


def _proposal(version: BaselineVersion) -> str:
    page = escape(str(PurePosixPath(version.evidence.path).parent / PAGE))
    what = f'<a href="evidence/{page}">put version {version.number} of the baselines in force</a>'
    cells = (escape(version.sku), what, "1", "-", "who may change policy", "-")
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def as_json() -> JSONResponse:
    """Return the open requests: node, plan, approval, answers needed, and each approval given so far."""
    found = [
        {
            "node": one.node,
            "plan_sha256": one.plan_sha256,
            "approval": one.approval,
            "answers": one.answers,
            "approved": given,
            "expires_at": one.expires_at.isoformat(),
        }
        for one, given in _open()
    ]
    return JSONResponse({"schema": "nodeworthy.requests/1", "requests": found})


def _open() -> list[tuple[Request, dict[str, str]]]:
    """Return each open request with the reason of each who approved, in order."""
    from nodeworthy.wiring import wiring

    ledger: Any = wiring().ledger
    return [
        (one, {each.who: each.why for each in standing(ledger.answers(one.node, one.episode, one.plan_sha256))})
        for one in ledger.open_requests()
    ]
