"""Checkpoints: what no chain can show by itself, a rewritten one, is found by the signed heads outside."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.adapters.evidence_folder import FolderStore
from nodeworthy.adapters.ledger_sql.chain import breaks, canonical, link
from nodeworthy.adapters.signer_ed25519 import Ed25519Keys, Ed25519Signer, PublicKey, read_keys
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.certificate import signed
from nodeworthy.procedures.checkpoint import against, checkpoint, verify

from tests.contract.ledger.support import HOUR, START, Bench, node

SIGNER = Ed25519Signer("key-1", b"k" * 32)
KEYS = Ed25519Keys({"key-1": SIGNER.public_key()})
NEXT = Ed25519Signer("key-2", b"n" * 32)
BOTH = KEYS.joined("key-2", NEXT.public_key())


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A write-once store."""
    return FolderStore(tmp_path / "evidence")


@pytest.fixture
def told(bench: Bench) -> Bench:
    """Give a bench with a node that has a life and one that was only declared."""
    bench.bring(bench.take("n1"), "conformant")
    bench.ledger.import_fleet([node("n2")])
    return bench


def sign(bench: Bench, store: FolderStore, signer: Ed25519Signer = SIGNER) -> dict[str, Any]:
    """Write a checkpoint and return its document."""
    done = checkpoint(bench.ledger, store, signer, lambda line: None)
    reference = bench.ledger.checkpoints()[-1].reference
    assert reference is not None
    assert done.facts["sha256"] == reference.sha256
    document: dict[str, Any] = json.loads(store.get(reference))
    return document


def test_an_untouched_audit_holds_against_its_checkpoints(told: Bench, store: FolderStore) -> None:
    """Also after it has grown, and with a second checkpoint that names the first."""
    first = sign(told, store)
    schema = json.loads((Path(__file__).parents[3] / "include/schemas/checkpoint-1.json").read_text())
    Draft202012Validator(schema).validate(first)
    assert first["heads"]["N2"][0] == 1
    told.ledger.release(told.ledger.lease("n1", "run-1"), close=True, reason="done")
    second = sign(told, store)
    written = (store._root / "audit/checkpoint-00000001.json").read_bytes()
    assert (second["number"], second["previous"]) == (2, hashlib.sha256(written).hexdigest())
    assert verify(told.ledger, store, KEYS) == ()
    assert against(told.ledger, first, KEYS) == ()


def cut_off(bench: Bench) -> None:
    """Cut off a tail and move the head that the node's row carries, as the ledger itself would have it."""
    sequence, digest = bench.sql("SELECT sequence, hash FROM audit WHERE node = 'N1' ORDER BY sequence DESC LIMIT 2")[1]
    bench.sql("DELETE FROM audit WHERE node = 'N1' AND sequence > :s", s=sequence)
    bench.sql("UPDATE nodes SET audit_sequence = :s, audit_head = :h WHERE serial = 'N1'", s=sequence, h=digest)
    bench.sql("UPDATE nodes SET milestone = 'inventoried' WHERE serial = 'N1'")


def _rewrite(bench: Bench) -> None:
    """Change the first row and compute every hash behind it anew, and the head."""
    previous = "0" * 64
    rows = bench.sql("SELECT sequence, at, action, detail FROM audit WHERE node = 'N1' ORDER BY sequence")

    for sequence, at, action, detail in rows:
        changed = {**json.loads(detail), **({"rack": "elsewhere"} if sequence == 1 else {})}
        row = link("N1", sequence, datetime.fromisoformat(at), action, changed, previous)
        previous = row["hash"]
        values = {"d": row["detail"], "p": row["previous"], "h": previous, "s": sequence}
        bench.sql(
            "UPDATE audit SET detail = :d, previous = :p, hash = :h WHERE node = 'N1' AND sequence = :s", **values
        )
    bench.sql("UPDATE nodes SET audit_head = :h WHERE serial = 'N1'", h=previous)


@pytest.mark.parametrize(
    ("vandalism", "words"),
    [(cut_off, "does not reach them: its end was cut off"), (_rewrite, "of N1 is another one than at the checkpoint")],
    ids=["cut off", "rewritten"],
)
def test_what_the_chains_cannot_show_the_checkpoint_does(
    told: Bench, store: FolderStore, vandalism: Callable[[Bench], None], words: str
) -> None:
    """A chain that is whole in itself and fits its head, but is not the one that was signed."""
    sign(told, store)
    vandalism(told)
    assert told.ledger.verify_audit() == ()
    (problem,) = verify(told.ledger, store, KEYS)
    assert words in problem


def test_a_forged_checkpoint_proves_nothing(told: Bench, store: FolderStore) -> None:
    """Other heads, another key or no signature: the signature does not fit."""
    document = sign(told, store)
    other = Ed25519Keys({"key-1": Ed25519Signer("key-1", b"x" * 32).public_key()})
    assert "does not fit" in against(told.ledger, {**document, "heads": {}}, KEYS)[0]
    assert "does not fit" in against(told.ledger, document, other)[0]
    assert "does not fit" in against(told.ledger, {**document, "signature": "?"}, KEYS)[0]


def test_checkpoints_of_a_retired_key_are_accepted_while_it_is_known(told: Bench, store: FolderStore) -> None:
    """Signed by key-1, then by key-2: all hold with both keys, and an unknown one is named with what to do."""
    sign(told, store)
    assert verify(told.ledger, store, BOTH) == ()
    sign(told, store, NEXT)
    assert verify(told.ledger, store, BOTH, since=START) == ()
    only_new = Ed25519Keys({"key-2": NEXT.public_key()})
    assert verify(told.ledger, store, only_new) == ()
    (problem,) = verify(told.ledger, store, only_new, since=START)
    assert problem == (
        "checkpoint 1 proves nothing: the key key-1 is unknown (known: key-2): add its public key to the file of keys."
    )


def test_a_revoked_key_proves_nothing_and_a_key_only_in_its_time(told: Bench, store: FolderStore) -> None:
    """Whatever its signature; and a checkpoint that says another time than its key's is none of it."""
    document = sign(told, store)
    raw = {"key-1": SIGNER.public_key()}
    assert against(told.ledger, document, Ed25519Keys(raw, revoked=["key-1"])) == [
        "checkpoint 1 proves nothing: the key key-1 was revoked: nothing that it signed proves anything."
    ]
    now = told.clock.now()
    for times, fits in (((now, None), True), ((None, now), False), ((now + HOUR, None), False), ((None, None), True)):
        keys = Ed25519Keys({"key-1": PublicKey(SIGNER.public_key(), *times)})
        found = against(told.ledger, document, keys)
        assert found == () if fits else "was not in use at 2026-12-01 08:00 UTC" in found[0]


def test_a_key_may_be_rotated_before_a_begun_checkpoint_is_stored(told: Bench, store: FolderStore) -> None:
    """It is signed by the new key and says so."""
    told.ledger.begin_checkpoint("key-1")
    document = sign(told, store, NEXT)
    assert (document["number"], document["key_id"]) == (1, "key-2")
    assert verify(told.ledger, store, BOTH, since=START) == ()


def test_a_key_may_be_rotated_before_a_stored_checkpoint_is_recorded(told: Bench, store: FolderStore) -> None:
    """What lies in the store, signed by the key before, is the checkpoint; the next is the new key's."""
    begun = told.ledger.begin_checkpoint("key-1")
    store.put("audit/checkpoint-00000001.json", canonical_json(signed(begun.body, SIGNER.sign)))
    assert sign(told, store, NEXT)["key_id"] == "key-1"
    assert sign(told, store, NEXT)["key_id"] == "key-2"
    assert verify(told.ledger, store, BOTH, since=START) == ()


def test_a_file_of_keys_is_read_and_written_in_one_form(tmp_path: Path) -> None:
    """Plain keys, keys with times and revoked ids come back; what is wrong is named with the file."""
    path = tmp_path / "keys.json"
    key = base64.b64encode(SIGNER.public_key()).decode()
    timed = {"public_key": key, "from": "2026-12-01T00:00:00+00:00", "until": "2027-01-01T00:00:00+00:00"}
    document = {"keys": {"key-1": key, "key-0": timed}, "revoked": ["key-9"]}
    path.write_text(json.dumps(document))
    assert read_keys(path).document() == document
    with pytest.raises(Permanent, match="Two signing keys have the id key-1: give the new one an id of its own"):
        read_keys(path).joined("key-1", NEXT.public_key())
    for wrong in (
        "{}",
        '{"keys": {"k": "AAAA"}}',
        '{"keys": {"k": {"public_key": "' + key + '", "until": "2027-01-01"}}}',
    ):
        path.write_text(wrong)
        with pytest.raises(Permanent, match=r"keys.json is no file of public keys"):
            read_keys(path)


def test_a_checkpoint_that_was_removed_is_missed(told: Bench, store: FolderStore) -> None:
    """In the ledger by its number, in the store by its hash."""
    for _ in range(3):
        sign(told, store)
    told.sql("DELETE FROM checkpoints WHERE number = 2")
    assert any("numbered [1, 3]" in problem for problem in verify(told.ledger, store, KEYS))
    (store._root / "audit/checkpoint-00000003.json").unlink()
    assert any("checkpoint 3 cannot be read" in problem for problem in verify(told.ledger, store, KEYS))


def test_a_rolled_back_ledger_cannot_go_on(told: Bench, store: FolderStore) -> None:
    """Its next checkpoint has a number that lies in the store already, with other heads."""
    sign(told, store)
    sign(told, store)
    told.sql("DELETE FROM checkpoints WHERE number = 2")
    told.clock.pass_(HOUR)
    with pytest.raises(Refused, match="evidence is never overwritten"):
        sign(told, store)


def test_a_crash_before_storing_is_made_good(told: Bench, store: FolderStore) -> None:
    """The checkpoint that was begun is stored by the next call, with the heads of when it was begun."""
    begun = told.ledger.begin_checkpoint("key-1")
    told.clock.pass_(HOUR)
    told.ledger.import_fleet([node("n3")])
    document = sign(told, store)
    assert (document["number"], "N3" in document["heads"]) == (begun.number, False)
    assert "N3" in sign(told, store)["heads"]
    assert verify(told.ledger, store, KEYS) == ()


def test_exported_rows_prove_themselves(told: Bench) -> None:
    """JSON lines carry all that a reader needs to compute every hash again."""
    lines = [json.dumps(row) for row in told.ledger.export_audit()]
    rows = [json.loads(line) for line in lines]
    assert {row["node"] for row in rows} == {"N1", "N2"}
    for serial in ("N1", "N2"):
        chain = [{**row, "detail": canonical(row["detail"])} for row in rows if row["node"] == serial]
        assert list(breaks(chain)) == []
    assert [row["node"] for row in told.ledger.export_audit("n2")] == ["N2"]


def test_an_unreadable_checkpoint_is_named(told: Bench, store: FolderStore) -> None:
    """A file that was changed in the store is no evidence."""
    sign(told, store)
    path = store._root / "audit/checkpoint-00000001.json"
    path.write_bytes(path.read_bytes().replace(b"N1", b"N9"))
    (problem,) = verify(told.ledger, store, KEYS)
    assert "checkpoint 1 cannot be read" in problem
    reference = told.ledger.checkpoints()[0].reference
    assert reference is not None
    with pytest.raises(Permanent):
        store.get(reference)
