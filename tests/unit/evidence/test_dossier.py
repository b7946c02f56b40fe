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


def dossier() -> tuple[dict[str, bytes], EvidenceReference]:
    """A dossier of eight small files in a dictionary, and the reference of its manifest."""
    store = {f"d/{name}": f"content of {name}".encode() for name in [*sorted(NEEDED), "bundle.tar.gz", "page.html"]}
    files = {
        path.removeprefix("d/"): EvidenceReference(path, sha256_hex(content), len(content))
        for path, content in store.items()
    }
    manifest = canonical_json(manifest_document(VERDICT, files))
    store["d/manifest.json"] = manifest
    return store, EvidenceReference("d/manifest.json", sha256_hex(manifest), len(manifest))


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


def test_a_manifest_that_forgets_a_file_is_incomplete() -> None:
    """A manifest without the verdict, or without raw outputs, is none."""
    store, _ = dossier()
    manifest = json.loads(store["d/manifest.json"])
    manifest["files"] = [one for one in manifest["files"] if one["name"] not in ("verdict.json", "bundle.tar.gz")]
    problems = verify(manifest, store.get)
    assert len(problems) == 2
    assert "verdict.json" in problems[0]


def test_canonical_json_is_one_form() -> None:
    """Sorted keys, no spaces, UTF-8; NaN has no form and becomes null where that is asked for."""
    assert canonical_json({"b": 1, "a": ["ü", 1.5]}) == '{"a":["ü",1.5],"b":1}\n'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
    assert without_nan({"a": [float("inf"), {"b": float("nan")}, 1.0]}) == {"a": [None, {"b": None}, 1.0]}
