"""`nodeworthy parse` and `nodeworthy explain` as a person runs them, and what their verdicts may never do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.content import SCOPE

from tests.contract.content.reading import ROOT, parsed
from tests.data.content_seeds import SEEDS

SCHEMA = json.loads((ROOT / "include" / "schemas" / "parsed-1.json").read_text(encoding="utf-8"))


def _run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "plugins")}
    command = [sys.executable, "-m", "nodeworthy", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False, env=environment)


def _document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    return document


def test_parse_prints_one_document_with_a_verdict(tmp_path: Path) -> None:
    """A healthy file passes, the same file with a fault fails, both with status 0."""
    text = next(seed.text for seed in SEEDS if seed.name == "chrony")
    file = tmp_path / "tracking.txt"
    file.write_text(text, encoding="utf-8")

    healthy = _document(_run("parse", "time-sync", str(file)))
    faulty = _document(_run("parse", "time-sync", "-", text=text.replace("Normal", "Not synchronised")))

    assert (healthy["verdict"], healthy["scope"], healthy["tool"]) == ("pass", "content", "chronyc")
    assert faulty["verdict"] == "fail"
    assert "\n" not in faulty["reason"]


def test_context_is_taken() -> None:
    """The line rate and the number of GPUs change what a file means."""
    perftest = next(seed.text for seed in SEEDS if seed.name == "perftest")
    nvlink = next(seed.text for seed in SEEDS if seed.name == "smi-nvlink")

    assert _document(_run("parse", "perftest", "-", "--line-rate", "800", text=perftest))["verdict"] == "fail"
    assert _document(_run("parse", "nvidia-smi", "-", "--sku", "h100", text=nvlink))["verdict"] == "incomplete"


def test_a_file_that_cannot_be_read_is_one_sentence() -> None:
    """Status 1, nothing on standard output."""
    for arguments in (
        ("parse", "fio", "/nonexistent"),
        ("parse", "no-such-kind", "/dev/null"),
        ("explain", "xid", "x9"),
    ):
        done = _run(*arguments)

        assert (done.returncode, done.stdout, len(done.stderr.strip().splitlines())) == (1, "", 1), done.stderr


def test_an_unknown_kind_is_told_which_there_are() -> None:
    """All of them, by the names of the samples' folders, and nothing of the program behind."""
    said = _run("parse", "no-such-kind", "/dev/null").stderr

    assert "no-such-kind is no kind of file that can be read: use active-suite, amd-smi, " in said
    assert "tpm" in said
    assert "usage" not in said
    assert "argument" not in said


def test_explain_names_rule_and_dissent() -> None:
    """The entry, the rule that decides and the sources that take the other stance."""
    said = _run("explain", "xid", "63").stdout

    assert "INFOROM_DRAM_RETIREMENT_EVENT" in said
    assert "deciding rule: the counters of remapped rows decide" in said
    assert "gpud: Fatal:RebootSystem>HardwareInspection" in said
    assert "reset_gpu" in _run("explain", "nvlink5", "145", "0x00000004", "0x00000040").stdout


def test_a_verdict_by_content_is_no_qualification() -> None:
    """Its scope is none that a ledger, a dossier or a certificate knows."""
    with pytest.raises(ValueError, match="content"):
        Scope(SCOPE)
    schemas = ROOT / "include" / "schemas"
    for name in ("verdict-1", "certificate-1", "dossier-1"):
        assert f'"{SCOPE}"' not in (schemas / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_every_kind_keeps_to_the_schema(seed: Any) -> None:
    """What the probe prints, before the product adds its verdict."""
    jsonschema.validate(parsed(seed.kind, seed.text), SCHEMA)
