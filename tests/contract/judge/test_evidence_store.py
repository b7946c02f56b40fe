"""The EvidenceStore port, on a folder and through Airflow's object storage: write-once, proven by hash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nodeworthy.adapters.evidence_folder import FolderStore
from nodeworthy.adapters.evidence_objectstore import ObjectStore
from nodeworthy.adapters.signer_ed25519 import Ed25519Signer
from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.ports import EvidenceStore

Make = Callable[[Path], EvidenceStore]
STORES: dict[str, Make] = {
    "folder": FolderStore,
    "object store, folder": lambda root: ObjectStore(str(root)),
    "object store, file URL": lambda root: ObjectStore(root.as_uri()),
    "object store, memory": lambda root: ObjectStore(f"memory://evidence{root.name}"),
}


@pytest.fixture(params=STORES, name="store")
def _store(request: pytest.FixtureRequest, tmp_path: Path) -> EvidenceStore:
    return STORES[request.param](tmp_path)


def test_bytes_come_back_and_are_written_once(store: EvidenceStore) -> None:
    """The same bytes again are success; other bytes at the same place are refused and change nothing."""
    reference = store.put("nodes/S/1/result.json", b"{}")
    assert store.put("nodes/S/1/result.json", b"{}") == reference
    with pytest.raises(Refused, match="never overwritten"):
        store.put("nodes/S/1/result.json", b"[]")
    assert store.get(reference) == b"{}"
    assert store.url(reference).endswith("nodes/S/1/result.json")


def test_a_browser_is_led_to_the_page_in_the_ui(tmp_path: Path) -> None:
    """A file:// or s3:// address opens in few browsers; where the UI's address is known, that is the link."""
    store = ObjectStore(str(tmp_path), lambda: "https://airflow.example/")
    reference = store.put("nodes/S 1/1/page.html", b"x")
    assert store.url(reference) == "https://airflow.example/nodeworthy/evidence/nodes/S%201/1/page.html"


def test_missing_evidence_is_permanent(store: EvidenceStore) -> None:
    """What is not there is no empty file."""
    reference = store.put("a", b"1")
    with pytest.raises(Permanent, match="missing"):
        store.get(type(reference)("b", reference.sha256, 1))


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "a\0b"])
def test_no_path_leads_out(store: EvidenceStore, path: str) -> None:
    """Serials and names come from outside; a path that leaves the root is refused."""
    with pytest.raises(Refused, match="no place for evidence"):
        store.put(path, b"x")


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.put("file/below", b"x"),
        lambda store: store.read("file/below"),
        lambda store: store.remove("folder"),
    ],
    ids=["write", "read", "remove"],
)
def test_a_store_that_does_not_do_what_it_is_asked_says_what_to_check(
    tmp_path: Path, use: Callable[[FolderStore], object]
) -> None:
    """A trouble of the file system is worth another try, once somebody looked; it is no trace of a program."""
    store = FolderStore(tmp_path)
    store.put("file", b"1")
    store.put("folder/file", b"1")
    with pytest.raises(Transient, match=r"Evidence (file|folder).*: check that the store is there"):
        use(store)


def test_changed_evidence_is_noticed(tmp_path: Path) -> None:
    """Bytes that do not have the recorded hash are not handed out."""
    store = FolderStore(tmp_path)
    reference = store.put("a/b.json", b"true")
    (tmp_path / "a/b.json").write_bytes(b"True")
    with pytest.raises(Permanent, match="changed"):
        store.get(reference)


def test_a_folder_holds_no_half_written_file(tmp_path: Path) -> None:
    """After a put only the file itself is there."""
    FolderStore(tmp_path).put("a/b.json", b"true")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.json"]


def test_a_signer_keeps_its_key_to_itself() -> None:
    """Neither its text form nor its errors show the key; RFC 8032 test vector 1 gives the signature of nothing."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    signer = Ed25519Signer("key-1", seed)
    assert repr(signer) == "Ed25519Signer('key-1')"
    assert signer.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    with pytest.raises(Permanent, match="32 bytes"):
        Ed25519Signer("key-1", b"short")
