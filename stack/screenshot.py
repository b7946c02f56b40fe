"""`python -m stack.screenshot`: run the demonstration if it is not up, and take the picture that the README shows."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from stack.browser import Page, browser
from stack.demo import demo
from stack.layout import DEFAULT_ROOT, REPOSITORY
from stack.rest import AirflowApi
from stack.services import Stack

PICTURE = REPOSITORY / "docs" / "images" / "bring_up.png"
OPEN_ALL_GROUPS = "document.querySelector('[aria-label=\"Expand all task groups\"]')?.click()"


def take(api: AirflowApi, path: Path) -> None:
    """Write the picture of the newest finished run in Airflow's grid."""
    run = str(api.get("/dags/bring_up/dagRuns", order_by="-start_date", limit=1)["dag_runs"][0]["dag_run_id"])
    with browser() as page:
        page.size(1440, 900)
        page.log_in(api.url, api.token)
        page.open(api.run_url("bring_up", run), until="judge_hardware")
        page.evaluate(OPEN_ALL_GROUPS)
        _settle(page)
        page.picture(path)


def _settle(page: Page, seconds: float = 4.0) -> None:
    """Let the grid load its squares, which arrive after the names."""
    time.sleep(seconds)
    page.text()


def main() -> int:
    """Take the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT)
    parser.add_argument("--to", type=Path, default=PICTURE)
    given = parser.parse_args()
    stack = Stack(given.root)
    if not stack.groups.all():
        demo(given.root, detach=True)
    take(stack.api(), given.to)
    print(f"Wrote {given.to}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
