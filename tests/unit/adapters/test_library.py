"""What people wrote is read with its units, and what is wrong is named with file and line."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.evidence.inventory import ComponentKind, Neighbour

INCLUDE = Path(__file__).parents[3] / "include"

NODE = """schema: nodeworthy.fleet/1
nodes:
  - name: gpu-a01
    serial: "1571523000123"
    sku: h100-sxm-8
    pool: training
    rack: A1
    position: 17
    bmc: {address: "https://10.0.0.1", ca_file: ca.pem}
    cabling:
      - {interface: eth0, switch: leaf-01, port: swp1}
"""


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(INCLUDE, tmp_path / "include"))


def edit(path: Path, old: str, new: str) -> None:
    """Change a file's text."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_every_shipped_file_loads() -> None:
    """SKUs, firmware sets, suites, baselines, policy and lifecycle fit together.

    A SKU whose firmware is the site's to choose names a set that nobody shipped: its nodes are refused until it exists.
    """
    library = YamlLibrary(INCLUDE)
    for path in (INCLUDE / "skus").glob("*.yaml"):
        sku = library.sku(path.stem)
        assert library.baselines(sku.name)
        if sku.firmware_set == f"{sku.name}-site":
            with pytest.raises(Permanent, match=r"has no definition .* write down there which versions"):
                library.firmware_set(sku.firmware_set)
        else:
            assert library.firmware_set(sku.firmware_set).sku == sku.name
    for path in (INCLUDE / "suites").glob("*.json"):
        assert library.suite(path.stem).tests
    assert library.lifecycle().path


def test_a_sku_is_read_with_units() -> None:
    """Durations become timedelta, capacities stay MiB."""
    sku = YamlLibrary(INCLUDE).sku("h200-sxm-8")
    assert sku.bmc.system_id == "1"
    assert sku.bmc.boot_deadline == timedelta(minutes=45)
    (gpus,) = [rule for rule in sku.parts if rule.kind is ComponentKind.GPU]
    assert (gpus.count, gpus.capacity_mib, gpus.tolerance_percent) == (8, 143771, 2.0)


def test_a_firmware_range_is_written_out() -> None:
    """Eight GPUs, eight entries, each with its image."""
    entries = {entry.id: entry for entry in YamlLibrary(INCLUDE).firmware_set("h100-sxm-8-2026.11").entries}
    assert [name for name in entries if name.startswith("HGX_FW_GPU_SXM_")] == [
        f"HGX_FW_GPU_SXM_{number}" for number in range(1, 9)
    ]
    assert entries["HGX_FW_GPU_SXM_3"].image_uri == "http://firmware.lab/HGX_FW_GPU_SXM_3/96.00.CE.00.01.bin"
    assert entries["CPLDMB_0"].activation == "ac-cycle"


def test_a_pool_without_a_policy_gets_the_default() -> None:
    """The default policy's waits are durations."""
    policy = YamlLibrary(INCLUDE).policy("some-pool")
    assert policy["waits"]["node_ready"] == timedelta(minutes=15)
    assert policy["actions"]["admit"] == "approve"


def test_an_unknown_sku_lists_the_known_ones() -> None:
    """The operator sees what he may have meant."""
    with pytest.raises(Permanent, match=r"SKU h300 has no definition .* known are .*h100-sxm-8, h200-sxm-8"):
        YamlLibrary(INCLUDE).sku("h300")


@pytest.mark.parametrize("name", ["../policies/default", "/etc/passwd", "", ".hidden"])
def test_a_name_that_is_a_path_is_refused(name: str) -> None:
    """Names come from forms and manifests."""
    with pytest.raises(Permanent, match="is no plain name"):
        YamlLibrary(INCLUDE).sku(name)


@pytest.mark.parametrize(
    ("file", "old", "new", "phrase"),
    [
        ("skus/h100-sxm-8.yaml", "gpus: 8", "gpus: eight", r"h100-sxm-8.yaml, line 6: gpus: 'eight' is not of type"),
        ("skus/h100-sxm-8.yaml", "gpus: 8", "gpus: 4", "gpus is 4 and the parts name another number"),
        ("skus/h100-sxm-8.yaml", "version: 1", "version: 1\nversion: 2", "version stands in line 4 already"),
        ("skus/h100-sxm-8.yaml", "version: 1", "version: [1", r"line \d+: no YAML"),
        ("skus/h100-sxm-8.yaml", "name: h100-sxm-8", "name: other", "name is other and the file's name says"),
        ("skus/h100-sxm-8.yaml", "{kind: cpu", "{kind: fan", r"line 27: parts.0.kind: 'fan' is not one of"),
        ("skus/h100-sxm-8.yaml", "read_timeout: PT60S", "read_timeout: 60", "bmc.read_timeout: 60 is not of type"),
    ],
)
def test_a_broken_file_is_named_with_its_line(include: Path, file: str, old: str, new: str, phrase: str) -> None:
    """The sentence leads to the place."""
    edit(include / file, old, new)
    with pytest.raises(Permanent, match=phrase):
        YamlLibrary(include).sku("h100-sxm-8")


def test_files_are_read_once_per_library(include: Path) -> None:
    """A process sees one state of the files."""
    library = YamlLibrary(include)
    first = library.sku("h100-sxm-8")
    edit(include / "skus/h100-sxm-8.yaml", "version: 1", "version: 2")
    assert library.sku("h100-sxm-8") is first


def test_a_manifest_is_read_with_cabling_and_ca_file(tmp_path: Path) -> None:
    """The CA file is found beside the manifest."""
    path = tmp_path / "fleet.yaml"
    path.write_text(NODE)
    (node,) = YamlLibrary(INCLUDE).fleet(str(path))
    assert (node.name, node.serial, node.position) == ("gpu-a01", "1571523000123", 17)
    assert node.bmc.root == "/redfish/v1/"
    assert node.bmc.ca_file == str(tmp_path / "ca.pem")
    assert node.cabling == (Neighbour("eth0", "leaf-01", "swp1"),)


def test_a_csv_manifest_says_the_same(tmp_path: Path) -> None:
    """A spreadsheet is as good as YAML."""
    yaml_path, csv_path = tmp_path / "fleet.yaml", tmp_path / "fleet.csv"
    yaml_path.write_text(NODE)
    csv_path.write_text(
        "name,serial,sku,pool,rack,position,bmc_address,bmc_ca_file,cabling\n"
        "gpu-a01,1571523000123,h100-sxm-8,training,A1,17,https://10.0.0.1,ca.pem,eth0=leaf-01:swp1\n"
    )
    library = YamlLibrary(INCLUDE)
    assert library.fleet(str(csv_path)) == library.fleet(str(yaml_path))


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        ("https://10.0.0.1", "http://10.0.0.1", r"fleet.yaml, line 9: nodes.0.bmc.address"),
        ("https://10.0.0.1", "https://root:calvin@10.0.0.1", "nodes.0.bmc.address"),
        ("name: gpu-a01", "name: GPU_A01", r"line 3: nodes.0.name"),
        ('serial: "1571523000123"', "serial: 1571523000123", "is not of type 'string'"),
        ("position: 17", "position: -1", "nodes.0.position"),
        ("    rack: A1\n", "", "'rack' is a required property"),
        ("pool: training", "pool: training\n    password: x", "'password' was unexpected"),
    ],
)
def test_a_broken_manifest_is_named_with_its_line(tmp_path: Path, old: str, new: str, phrase: str) -> None:
    """Credentials have no place in it, serials are text, names are Kubernetes names."""
    path = tmp_path / "fleet.yaml"
    path.write_text(NODE.replace(old, new, 1))
    with pytest.raises(Permanent, match=phrase):
        YamlLibrary(INCLUDE).fleet(str(path))


@pytest.mark.parametrize("same", ["name", "serial", "BMC"])
def test_two_rows_may_not_share_an_identity(tmp_path: Path, same: str) -> None:
    """A copied row is found before anything is done to the wrong node."""
    other = NODE.split("nodes:\n")[1]
    for what, old, new in (("name", "gpu-a01", "gpu-a02"), ("serial", "000123", "000124"), ("BMC", "0.0.1", "0.0.2")):
        if what != same:
            other = other.replace(old, new)
    path = tmp_path / "fleet.yaml"
    path.write_text(NODE + other)
    with pytest.raises(Permanent, match=f"the {same} .* stands in 2 rows"):
        YamlLibrary(INCLUDE).fleet(str(path))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("name,colour\ngpu-a01,red\n", "line 1: the column colour is unknown"),
        ("name,serial\n", "no row below the heading"),
        ("name,serial\ngpu-a01,1\n", "line 2: "),
        (
            "name,serial,sku,pool,rack,position,bmc_address,cabling\na,1,s,p,r,1,https://x,eth0\n",
            "line 2: the cable eth0 has not the form",
        ),
    ],
)
def test_a_broken_csv_is_named_with_its_line(tmp_path: Path, text: str, phrase: str) -> None:
    """The row's line, not the record's number."""
    path = tmp_path / "fleet.csv"
    path.write_text(text)
    with pytest.raises(Permanent, match=phrase):
        YamlLibrary(INCLUDE).fleet(str(path))


def test_a_missing_manifest_is_one_sentence(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    with pytest.raises(Permanent, match="does not exist"):
        YamlLibrary(INCLUDE).fleet(str(tmp_path / "none.yaml"))
