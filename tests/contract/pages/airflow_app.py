"""Airflow's API server in this process, with our pages in it: run as a program, it prints what each request got.

A process of its own, because Airflow reads its configuration once, when it is imported. The environment names a fresh
home, the users and the ledger.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

HEADERS = {"sec-fetch-site": "same-origin"}


def main() -> dict[str, Any]:
    """Ask as viewer and as user, with and without the form's token."""
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    app = create_app(apps="core")
    viewer, user, nobody, reader, second = (TestClient(app, follow_redirects=False) for _ in range(5))
    named = ((viewer, "vera"), (user, "ursula"), (nobody, "norbert"), (reader, "rosa"), (second, "sam"))
    for client, name in named:
        answer = client.post("/auth/token", json={"username": name, "password": "pw"})
        client.cookies.set("_token", answer.json()["access_token"])
    bearer = _bearer(user)
    page = user.get("/nodeworthy/nodes/n1").text
    token = re.findall(r'name="token" value="([0-9a-f]+)"', page)[0]
    hold = {"why": "fan <b>replaced</b>", "scope": "admission", "until": "2099-01-01T08:00", "token": token}
    place = "/nodeworthy/nodes/n1/hold"
    found: dict[str, Any] = {
        "stranger": TestClient(app).get("/nodeworthy/nodes/n1").status_code,
        "no role of ours": nobody.get("/nodeworthy/nodes").json(),
        "no role for evidence": nobody.get("/nodeworthy/evidence/x").status_code,
        "requests": reader.get("/nodeworthy/requests").json(),
        "observed": reader.get("/nodeworthy/observed").text,
        "observed elsewhere": reader.get("/nodeworthy/observed?pool=pool-b").text,
        "no role for observed": nobody.get("/nodeworthy/observed").status_code,
        "reader sees proposals": reader.get("/nodeworthy/nodes").text.count("put version 1 of the baselines"),
        "reader sees requests": "reset the host" in reader.get("/nodeworthy/nodes").text,
        "reader reads": reader.get("/nodeworthy/nodes/n1").status_code,
        "reader has a form": 'action="n1/hold"' in reader.get("/nodeworthy/nodes/n1").text,
        "reader holds": reader.post(place, data=hold).json(),
        "viewer reads": viewer.get("/nodeworthy/nodes/n1").status_code,
        "viewer has a form": 'action="n1/hold"' in viewer.get("/nodeworthy/nodes/n1").text,
        "viewer holds": viewer.post(place, data=hold).status_code,
        "no token": user.post(place, data={**hold, "token": ""}).status_code,
        "another node's token": user.post("/nodeworthy/nodes/n2/hold", data=hold).status_code,
        "from elsewhere": user.post(place, data=hold, headers={"sec-fetch-site": "cross-site"}).status_code,
        "no reason": user.post(place, data={**hold, "why": " "}, headers=HEADERS).status_code,
        "past": user.post(place, data={**hold, "until": "2020-01-01T08:00"}).status_code,
        "unknown scope": user.post(place, data={**hold, "scope": "all"}).json(),
        "held": user.post(place, data=hold, headers=HEADERS).status_code,
        "shown": user.get("/nodeworthy/nodes/n1").text,
        "script": user.post(place, data={"why": "by script"}, headers=bearer).status_code,
        "released": user.post("/nodeworthy/nodes/n1/release", data={"token": token}).headers["location"],
    }
    found["left"] = user.get("/nodeworthy/nodes/n1").text.count("Release all holds")
    clear, swap = "/nodeworthy/incidents/7/clear", {"old": "N1", "new": "N9", "why": "new baseboard"}
    found |= {
        "deed by cookie": user.post(clear, data={"why": "gone"}).status_code,
        "deed of a reader": reader.post(clear, data={"why": "gone"}, headers=_bearer(reader)).json(),
        "deed without a reason": user.post(clear, data={"why": " "}, headers=bearer).status_code,
        "no such incident": user.post(clear, data={"why": "gone"}, headers=bearer).json(),
        "no policy of hers": user.post("/nodeworthy/baselines/x/1/withdraw", data={"why": "y"}, headers=bearer).json(),
        "asked": user.post("/nodeworthy/swaps", data=swap, headers=bearer).json(),
        "own answer": user.post("/nodeworthy/swaps/N1", data={"answer": "approve", "why": "me"}, headers=bearer).json(),
        "answered": second.post(
            "/nodeworthy/swaps/N1", data={"answer": "approve", "why": "seen"}, headers=_bearer(second)
        ).json(),
    }
    return found


def _bearer(client: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {client.cookies['_token']}"}


if __name__ == "__main__":
    print("\n" + json.dumps(main()))
