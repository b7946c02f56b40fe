"""A node made of captures answers with them, below its own prefix, and can only be read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab.truth.captures import host_serial, load_bundle
from lab.truth.fleet import FleetFile, NodeSpec, Replay

from .conftest import served

SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES", Path(__file__).parents[3].parent / "shared" / "samples"))
TREES = sorted((SAMPLES / "redfish").glob("*.json"))


def _write(path: Path, body: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body))


def _tiny(path: str, **fields: Any) -> dict[str, Any]:
    return {"@odata.id": path, "Id": path.rsplit("/", 1)[-1], "Name": "x", **fields}


def test_a_bundle_is_served_below_the_prefix(tmp_path: Path) -> None:
    """Keys are the paths that were served, with or without a slash; writes are refused; logins are the lab's."""
    member = {"@odata.id": "/redfish/v1/Systems/A"}
    bundle = {
        "/redfish/v1/": _tiny("/redfish/v1", Systems={"@odata.id": "/redfish/v1/Systems"}),
        "/redfish/v1/Systems/": {"@odata.id": "/redfish/v1/Systems", "Name": "Systems", "Members": [member]},
        "/redfish/v1/Systems/A": _tiny("/redfish/v1/Systems/A", PowerState="On"),
    }
    _write(tmp_path / "bundle.json", bundle)
    spec = NodeSpec("captured", "h100-sxm-8", "A1", 1, replay=Replay(redfish=tmp_path / "bundle.json"))
    with served(FleetFile("lab", (spec,)), tmp_path) as lab, lab.logged_in("captured") as client:
        systems = client.get("/redfish/v1/Systems").json()
        assert systems["Members"] == [{"@odata.id": "/bmc/captured/redfish/v1/Systems/A"}]
        assert client.get("/redfish/v1/Systems/A/").json()["PowerState"] == "On"
        assert client.get("/redfish/v1/Systems/B").status_code == 404
        assert client.patch("/redfish/v1/Systems/A", json={}).status_code == 405
        connection = lab.sushy("captured")
        assert [system.identity for system in connection.get_system_collection().get_members()] == ["A"]
        lab.close_connections()


def test_a_folder_tree_is_a_bundle_too(tmp_path: Path) -> None:
    """index.json in a folder, a file beside it, or any file with an @odata.id of its own."""
    root = tmp_path / "capture"
    _write(root / "redfish" / "v1" / "index.json", _tiny("/redfish/v1"))
    _write(root / "redfish" / "v1" / "Systems" / "A.json", _tiny("/redfish/v1/Systems/A"))
    _write(root / "loose.json", _tiny("/redfish/v1/Chassis/1"))
    assert sorted(load_bundle(root)) == ["", "Chassis/1", "Systems/A"]


def test_the_captured_serial_becomes_the_node_s(tmp_path: Path) -> None:
    """The rack chassis' serial number is the node's, as the manifest will have it."""
    bundle = {
        "/redfish/v1/Systems/Board": _tiny("/redfish/v1/Systems/Board", SerialNumber="B1"),
        "/redfish/v1/Chassis/1": _tiny("/redfish/v1/Chassis/1", SerialNumber=" C1 ", ChassisType="RackMount"),
    }
    _write(tmp_path / "bundle.json", bundle)
    assert host_serial(tmp_path / "bundle.json") == "C1"


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    """A file without Redfish bodies is refused in one sentence."""
    _write(tmp_path / "other.json", {"hello": {}})
    with pytest.raises(ValueError, match="holds no Redfish bodies"):
        load_bundle(tmp_path / "other.json")


@pytest.mark.skipif(not TREES, reason="the captured trees are not here (set NODEWORTHY_SAMPLES)")
def test_every_captured_tree_is_served_whole(tmp_path: Path) -> None:
    """Each path of each real capture answers with its own body."""
    specs = [
        NodeSpec(f"captured-{number}", "h100-sxm-8", "A1", number + 1, replay=Replay(redfish=tree))
        for number, tree in enumerate(TREES)
    ]
    with served(FleetFile("lab", tuple(specs)), tmp_path) as lab:
        for spec, tree in zip(specs, TREES, strict=True):
            with lab.logged_in(spec.name) as client:
                for path, body in load_bundle(tree).items():
                    if not path.startswith("SessionService"):
                        answer = client.get("/redfish/v1/" + path)
                        assert answer.status_code == 200, (tree.name, path)
                        assert answer.json().get("Id") == body.get("Id")
