"""Own checks and switched-off tests: in suites, plans, limits and sentences, without a line of Python."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.own_checks import said_off, switched_off
from nodeworthy.qualification.plans import plan_document

ROOT = Path(__file__).resolve().parents[3]
CHECK = ROOT / "tests" / "data" / "checks" / "site.mounts.yaml"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
WHOM: Any = {"node": "gpu-a01", "serial": "S", "episode": 1, "nonce": "f" * 64}


def library(folder: Path, **changes: Any) -> YamlLibrary:
    """Return the shipped files with the example check, changed."""
    include = folder / "include"
    shutil.copytree(ROOT / "include", include)
    document = {**yaml.safe_load(CHECK.read_text()), **changes}
    (include / "checks").mkdir(exist_ok=True)
    (include / "checks" / f"{document['name']}.yaml").write_text(yaml.safe_dump(document))
    return YamlLibrary(include)


def test_a_check_stands_in_its_suite_and_in_those_that_include_it(tmp_path: Path) -> None:
    """It names l0; l1 and l2 include l0 and gain it, with image and command in the plan of its scope alone."""
    files = library(tmp_path)
    assert all("site.mounts" in [test.test for test in files.suite(name).tests] for name in ("l0", "l1", "l2"))
    plans = {scope: plan_document(files.suite("l1"), files.sku("h100-sxm-8"), scope, **WHOM) for scope in Scope}
    planned = {test["test"]: test for test in plans[Scope.HARDWARE]["tests"]}["site.mounts"]
    assert planned["image"].startswith("registry.example/checks/mounts@sha256:")
    assert planned["arguments"] == ["check-mounts", "--read", "4.5"]
    assert "site.mounts" not in [test["test"] for test in plans[Scope.PLATFORM]["tests"]]


def test_its_limits_are_baselines_and_a_skus_own_row_wins(tmp_path: Path) -> None:
    """50 ms for every SKU, 4 ms for H200, and the other metric's general row for both."""
    files = library(tmp_path)
    found = {
        sku: {row.metric: row.most for row in files.baselines(sku) if row.test == "site.mounts"}
        for sku in ("h100-sxm-8", "h200-sxm-8")
    }
    assert found == {
        "h100-sxm-8": {"mounts": None, "read_time": 50},
        "h200-sxm-8": {"mounts": None, "read_time": 4},
    }


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"image": "registry.example/checks/mounts:latest"}, "image"),
        ({"name": "gpu.identity"}, "another name"),
        ({"command": []}, "command"),
    ],
)
def test_a_check_that_could_be_anything_is_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    """An image without a digest, the name of a shipped test, no command."""
    with pytest.raises(Permanent, match=complaint):
        library(tmp_path, **changes).suite("l0")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"suites": ["l1", "l7"]}, "there is no suite l7, so it would not run there: use field, l0, l1"),
        ({"name": "site." + "a" * 60}, "too long"),
        ({"name": "site.mounts_"}, "does not match"),
    ],
)
def test_a_check_that_would_never_run_is_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    """A suite that is none, and names that cannot be a container's."""
    with pytest.raises(Permanent, match=complaint):
        library(tmp_path, **changes).suite("l1")


def test_two_checks_of_one_container_are_refused(tmp_path: Path) -> None:
    """site.a.b and site.a_b both make check-site-a-b."""
    library(tmp_path, name="site.a.b")
    checks = tmp_path / "include" / "checks"
    (checks / "site.a_b.yaml").write_text((checks / "site.a.b.yaml").read_text().replace("site.a.b", "site.a_b"))
    with pytest.raises(Permanent, match=r"site\.a_b and site\.a\.b would share one container"):
        YamlLibrary(tmp_path / "include").suite("l1")


def test_a_check_in_l1_costs_no_other_suite_its_validity(tmp_path: Path) -> None:
    """L4's time-outs fill its four hours; an own check of an hour comes on top."""
    files = library(tmp_path, suites=["l1"], timeout_seconds=3600)
    assert all("site.mounts" in [test.test for test in files.suite(name).tests] for name in ("l1", "l4", "l5"))


def test_a_limit_that_could_never_fail_is_refused(tmp_path: Path) -> None:
    """The same rules as for every baseline."""
    metric = yaml.safe_load(CHECK.read_text())["metrics"][1]
    metric["limits"] = [{"sku": "*", "most": 50, "least": 0, "reached": 60, "source": "s", "date": "2026-11-30"}]
    with pytest.raises(Permanent, match="never reached"):
        library(tmp_path, metrics=[metric]).baselines("h100-sxm-8")


OFF = {"test": "nvlink.bandwidth", "why": "switch maintenance", "who": "ada"}


def test_a_test_is_switched_off_by_name_until_its_date(tmp_path: Path) -> None:
    """It leaves the plan, which says so; from its date on it is back."""
    files = library(tmp_path)
    suite = files.suite("l1")
    policy = {"checks_off": ({**OFF, "until": datetime(2026, 12, 1, tzinfo=UTC)},)}
    off = switched_off(policy, suite, NOW, files.sku("h100-sxm-8"))
    plan = plan_document(suite, files.sku("h100-sxm-8"), Scope.HARDWARE, off, **WHOM)
    assert "nvlink.bandwidth" not in [test["test"] for test in plan["tests"]]
    assert plan["switched_off"] == [{**OFF, "until": "2026-12-01T00:00:00+00:00"}]
    assert said_off(plan["switched_off"]) == (
        " Switched off: nvlink.bandwidth until 2026-12-01T00:00 (switch maintenance, ada)."
    )
    assert switched_off(policy, suite, datetime(2026, 12, 1, tzinfo=UTC), files.sku("h100-sxm-8")) == ()


def test_a_policy_names_a_test_a_reason_a_person_and_a_date(tmp_path: Path) -> None:
    """An entry without its expiry is refused with the file's name; a whole one is read as an aware time."""
    files = library(tmp_path)
    path = tmp_path / "include" / "policies" / "lab.yaml"
    whole = path.read_text()
    path.write_text(whole + 'checks_off: [{test: t.a, why: w, who: ada, until: "2026-12-01T00:00:00Z"}]\n')
    assert files.policy("lab")["checks_off"][0]["until"] == datetime(2026, 12, 1, tzinfo=UTC)
    path.write_text(whole + "checks_off: [{test: t.a, why: w, who: ada}]\n")
    with pytest.raises(Permanent, match="until"):
        YamlLibrary(tmp_path / "include").policy("lab")
