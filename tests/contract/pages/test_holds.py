"""Holds from the page: who may trigger may hold, another site's form may not, and what was typed is shown as text."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.ledger_sql import upgrade
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.lifecycle.policy import Action
from nodeworthy.qualification.versions import NewVersion

from tests.contract.ledger.support import Bench, node
from tests.contract.ledger.test_approvals import request

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("airflow_app.py")

USERS = {"vera": "viewer", "ursula": "user", "norbert": "admin", "rosa": "admin", "sam": "user"}
ROLES = """
schema: nodeworthy.roles/1
roles: {reader: [read], operator: [read, trigger, approve, hold]}
people:
  # vera has our role to hold and not Airflow's permission to trigger, rosa the other way round; norbert has no row.
  - {name: vera, id: vera, roles: [operator]}
  - {name: ursula, id: ursula, roles: [operator]}
  - {name: sam, id: sam, roles: [operator]}
  - {name: rosa, id: rosa, roles: [reader]}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, dict[str, Any]]:
    """The ledger, and what Airflow's API server answered."""
    home = tmp_path_factory.mktemp("airflow")
    url = f"sqlite:///{home / 'ledger.db'}"
    upgrade(url)
    bench = Bench(url)
    bench.ledger.import_fleet([node("n1"), node("n2")])
    lease = bench.take("n2")
    bench.ledger.ask(lease, replace(request(lease, answers=2), subject="reset the host"))
    page = EvidenceReference("baselines/h200/proposal-1/proposal.json", "a" * 64, 1)
    bench.ledger.propose_baselines(NewVersion("h200", {"baselines": {}, "references": None}, "a" * 64, page, "learn/1"))
    bench.ledger.observe(lease, Action.DRAIN, "drain it: <b>Xid 79</b>")
    bench.ledger.record_approval(lease, plan_sha256="p" * 64, who="ada", answer="approve", why="window 12")
    (home / "passwords.json").write_text(json.dumps(dict.fromkeys(USERS, "pw")))
    shutil.copytree(REPOSITORY / "include", home / "include")
    (home / "include" / "roles.yaml").write_text(ROLES)
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "PYTHONPATH": str(REPOSITORY / "plugins"),
        "NODEWORTHY_LEDGER_URL": url,
        "NODEWORTHY_INCLUDE": str(home / "include"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this test alone, long enough to sign with",
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return bench, json.loads(done.stdout.splitlines()[-1])


def test_only_who_may_trigger_sees_the_form_and_may_hold(asked: tuple[Bench, dict[str, Any]]) -> None:
    """A stranger reads nothing, a viewer reads and may not hold."""
    _, got = asked
    assert (got["stranger"], got["viewer reads"], got["viewer has a form"], got["viewer holds"]) == (
        401,
        200,
        False,
        403,
    )


def test_airflows_permission_is_not_enough_without_a_role_of_ours(asked: tuple[Bench, dict[str, Any]]) -> None:
    """Airflow's admin without a row reads nothing, one who may only read has no form and may not hold."""
    _, got = asked
    assert got["no role of ours"]["detail"].startswith("Airflow's user norbert stands in no row of include/roles.yaml")
    assert got["no role for evidence"] == 403
    assert (got["reader reads"], got["reader has a form"]) == (200, False)
    assert got["reader holds"]["detail"].startswith("rosa has no role that may hold (these have: operator)")


def test_open_requests_are_shown_with_who_approved_so_far(asked: tuple[Bench, dict[str, Any]]) -> None:
    """On the page of all nodes, and as JSON for programs."""
    _, got = asked
    assert got["reader sees requests"]
    (one,) = got["requests"]["requests"]
    assert (one["node"], one["answers"], one["approved"]) == ("n2", 2, {"ada": "window 12"})


def test_baselines_that_wait_for_an_answer_stand_among_the_requests(asked: tuple[Bench, dict[str, Any]]) -> None:
    """A first wave stands still until somebody answers: the page of all nodes says so."""
    assert asked[1]["reader sees proposals"] == 1


def test_what_policy_only_observed_is_shown_to_readers(asked: tuple[Bench, dict[str, Any]]) -> None:
    """With what a person did afterwards; of one pool where asked so; to nobody without a role."""
    _, got = asked
    page = got["observed"]
    assert "drain it: &lt;b&gt;Xid 79&lt;/b&gt;" in page
    assert "<td>otherwise</td>" in page
    assert "ada answered approve: window 12" in page
    assert "drain it" not in got["observed elsewhere"]
    assert got["no role for observed"] == 403


def test_a_form_that_did_not_come_from_the_page_is_refused(asked: tuple[Bench, dict[str, Any]]) -> None:
    """No token, the token of another node's form, or a request that the browser says is another site's."""
    _, got = asked
    assert (got["no token"], got["another node's token"], got["from elsewhere"]) == (403, 403, 403)


def test_a_hold_without_sense_is_refused(asked: tuple[Bench, dict[str, Any]]) -> None:
    """No reason, an end that has passed, a scope that does not exist."""
    _, got = asked
    assert (got["no reason"], got["past"]) == (400, 400)
    assert "A hold has no scope all" in got["unknown scope"]["detail"]


def test_a_hold_is_placed_in_the_users_name_and_shown_as_text(asked: tuple[Bench, dict[str, Any]]) -> None:
    """Who, why and until when stand in the audit; markup in a reason stays text on the page."""
    bench, got = asked
    assert got["held"] == 303
    assert "fan &lt;b&gt;replaced&lt;/b&gt;" in got["shown"]
    assert "<b>replaced</b>" not in got["shown"]
    assert "2099-01-01 08:00 UTC" in got["shown"]
    held = [row["detail"] for row in bench.ledger.history("n1.was.N1") if row["action"] == "hold"]
    assert [(row["who"], row["scope"], row["why"]) for row in held] == [
        ("ursula", "admission", "fan <b>replaced</b>"),
        ("ursula", "both", "by script"),
    ]
    assert bench.ledger.holds("n2") == ()


def test_a_release_ends_all_holds_and_leads_back(asked: tuple[Bench, dict[str, Any]]) -> None:
    """Back on the page the holds are gone; the page's life still tells of them."""
    bench, got = asked
    assert got["script"] == 303
    assert got["released"] == "../n1"
    assert got["left"] == 0
    released = [row["detail"]["who"] for row in bench.ledger.history("n1.was.N1") if row["action"] == "hold released"]
    assert released == ["ursula"]


def test_a_deed_of_the_command_line_is_done_in_its_users_name(asked: tuple[Bench, dict[str, Any]]) -> None:
    """A cookie is not enough, a role is needed, and a reason; what the ledger refuses is told word for word."""
    _, got = asked
    assert (got["deed by cookie"], got["deed without a reason"]) == (403, 400)
    assert got["deed of a reader"]["detail"].startswith("rosa has no role that may hold")
    assert got["no such incident"]["detail"].startswith("There is no incident 7")
    assert got["no policy of hers"]["detail"].startswith("ursula has no role that may change policy")


def test_a_swap_is_done_when_a_second_person_answers(asked: tuple[Bench, dict[str, Any]]) -> None:
    """Who asks cannot answer; the audit names both."""
    bench, got = asked
    assert got["asked"]["sentence"].endswith("It may be answered by sam, vera.")
    assert got["own answer"]["detail"] == "ursula asked for this swap: have another person answer it."
    assert got["answered"]["sentence"].startswith("n1 is the chassis N9 now")
    (told,) = [row["detail"] for row in bench.ledger.history("n1") if row["action"] == "reidentified"]
    assert (told["who"], told["approved_by"], told["approved_why"]) == ("ursula", "sam", "seen")
