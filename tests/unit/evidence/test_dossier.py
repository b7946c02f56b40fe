"""A dossier notices every removed file and every changed byte."""

from __future__ import annotations

import json

import pytest
from nodeworthy.evidence.canonical import canonical_json, sha256_hex, without_nan
from nodeworthy.evidence.dossier import NEEDED, manifest_document, verify, verify_dossier
from nodeworthy.evidence.measurements import EvidenceReference

VERDICT = {
    "node": "gpu-a01",
    "serial": "S",
    "sku": "h100-sxm-8",
    "episode": 1,
    "scope": "hardware",
    "suite": "l1",
    "simulated": True,
    "verdict": "pass",
    "sentence": "gpu-a01 passed.",
}


PLACES = {"bundle.tar.gz": "s/bundle.tar.gz", **{name: f"s/d/{name}" for name in [*NEEDED, "page.html"]}}


def dossier() -> tuple[dict[str, bytes], EvidenceReference]:
    """A dossier of eight small files in a dictionary, and the reference of its manifest."""
    store = {path: f"content of {name}".encode() for name, path in PLACES.items()}
    store[PLACES["verdict.json"]] = canonical_json(VERDICT)
    files = {name: EvidenceReference(path, sha256_hex(store[path]), len(store[path])) for name, path in PLACES.items()}
    manifest = canonical_json(manifest_document(VERDICT, files))
    store["s/d/manifest.json"] = manifest
    return store, EvidenceReference("s/d/manifest.json", sha256_hex(manifest), len(manifest))


def test_a_whole_dossier_has_no_problem() -> None:
    """Nothing is missing and nothing was changed."""
    store, reference = dossier()
    assert verify_dossier(reference, store.get) == ()


def test_removing_any_file_is_noticed() -> None:
    """Each file in turn, the manifest included."""
    whole, reference = dossier()
    for path in whole:
        store = {other: content for other, content in whole.items() if other != path}
        (problem,) = verify_dossier(reference, store.get)
        assert path in problem
        assert "missing" in problem


def test_changing_any_byte_of_any_file_is_noticed() -> None:
    """Every byte of every file, one at a time."""
    whole, reference = dossier()
    for path, content in whole.items():
        for at in range(len(content)):
            changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            (problem,) = verify_dossier(reference, {**whole, path: changed}.get)
            assert path in problem


def test_changing_any_byte_of_the_manifest_alone_is_noticed() -> None:
    """Without the reference that a qualification holds too: names, paths and the episode are not free either."""
    store, reference = dossier()
    manifest = store[reference.path]
    for at in range(len(manifest)):
        changed = manifest[:at] + bytes([manifest[at] ^ 1]) + manifest[at + 1 :]
        assert len(verify(changed, store.get)) >= 1, manifest[at - 20 : at + 1]


def test_a_manifest_that_forgets_a_file_is_incomplete() -> None:
    """A manifest without the verdict, or without raw outputs, is none."""
    store, reference = dossier()
    manifest = json.loads(store[reference.path])
    manifest["files"] = [one for one in manifest["files"] if one["name"] not in ("verdict.json", "bundle.tar.gz")]
    problems = verify(canonical_json(manifest), store.get)
    assert len(problems) == 2
    assert "verdict.json" in problems[0]


def test_canonical_json_is_one_form() -> None:
    """Sorted keys, no spaces, UTF-8; NaN has no form and becomes null where that is asked for."""
    assert canonical_json({"b": 1, "a": ["ü", 1.5]}) == '{"a":["ü",1.5],"b":1}\n'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
    assert without_nan({"a": [float("inf"), {"b": float("nan")}, 1.0]}) == {"a": [None, {"b": None}, 1.0]}
