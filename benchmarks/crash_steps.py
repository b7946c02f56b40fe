"""What a node's next step is, by its milestone: the product's own procedures, called as Airflow's tasks call them.

Test pods are left out (their processes are killed in tests/end_to_end): a healthy result is put into the ledger in
their place, and a judge that lets it pass stands where Great Expectations would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from hashlib import sha256
from typing import Any

from nodeworthy.adapters.signer_ed25519 import Ed25519Signer
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Hold, Lease
from nodeworthy.ports import JudgingBatch, Work
from nodeworthy.procedures.admit import admission, admit
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.finish import finish
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.inspect import inspect
from nodeworthy.procedures.isolate import isolate
from nodeworthy.procedures.judge_wave import Judging, judge_wave
from nodeworthy.procedures.open_wave import WaveRequest, open_wave
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.plan import plan
from nodeworthy.procedures.provision import provision
from nodeworthy.qualification.validation import validation_document

from benchmarks.crash_fleet import library
from tests.unit.qualification.written_results import healthy

LIFETIME = timedelta(hours=2)
SIGNER = Ed25519Signer("key-1", bytes(range(32)))
GOLDEN = {"HostBIOS_0/1.06.07": "a" * 64, "service-2026.11": "b" * 64, "secure-boot/enabled": "c" * 64}

Procedure = Callable[[Lease, FleetNode, Work], Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a process does for a node. `kind` is the class of the episode that it opens or joins."""

    name: str
    act: Procedure
    kind: str = "onboarding"
    leases: bool = True
    """False: it takes its lease by itself, or needs none."""


class PassingJudge:
    """Lets every result pass."""

    def judge(self, batch: JudgingBatch) -> tuple[tuple[Judgement, ...], Mapping[str, Any]]:
        """Return one pass per result."""
        passed = tuple(
            Judgement(one.node, batch.scope, one.suite, Verdict.PASS, (), f"{one.node} passed {one.suite}.")
            for one in batch.results
        )
        suite = library().suite(batch.results[0].suite)
        return passed, validation_document(suite, {one.node: () for one in batch.results}, {}, "the crash harness")


class PlainPage:
    """Shows a judgement as its JSON."""

    def render(self, content: Mapping[str, Any]) -> bytes:
        """Return the content's JSON."""
        return json.dumps(content, sort_keys=True, default=str).encode()


def approve(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Answer the node's present plan, as a person would."""
    proposal = plan(lease, node, work)
    _answer(proposal.sha256, lease, node, work)
    return Done(proposal.subject)


def approve_admission(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Answer the question whether the node may serve."""
    asked = admission(lease, node, work)
    _answer(asked.plan_sha256, lease, node, work)
    return Done(asked.subject)


def _answer(sha256: str, lease: Lease, node: FleetNode, work: Work) -> None:
    if not work.ledger.answers(node.name, lease.episode, sha256):
        work.ledger.record_approval(lease, plan_sha256=sha256, who="ada", answer="approve", why="agreed")


@cache
def _healthy() -> dict[str, Any]:
    return healthy()


def bring(scope: Scope, lease: Lease, node: FleetNode, work: Work) -> Done:
    """Store a healthy result of the running boot, as `receive` does."""
    seen = work.cluster.node(node.name)
    nonce = work.ledger.nonce(lease, scope.value)
    document = {**_healthy(), "node": node.name, "serial": node.serial, "nonce": nonce, "simulated": True}
    document |= {"boot_id": seen.boot_id if seen else "", "attestation": {"quote_base64": "", "nonce": nonce}}
    content = json.dumps(document, sort_keys=True).encode()
    folder = f"nodes/{node.serial}/{lease.episode}/{scope}-l1-{sha256(content).hexdigest()[:8]}"
    bundle = work.store.put(f"{folder}/bundle.tar.gz", content)
    work.ledger.record_result(
        lease, StoredResult(node.name, lease.episode, scope, "l1", bundle, document, judged=False)
    )
    return Done("a result is there")


def judge(scope: Scope, lease: Lease, node: FleetNode, work: Work) -> Done:
    """Judge what waits in this run."""
    judging = Judging(PassingJudge(), PlainPage(), lambda: SIGNER, lambda: GOLDEN)
    summaries = judge_wave(lease.run, scope, work, judging)
    return Done("; ".join(one.sentence for one in summaries))


def enter_standby(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Let the node enter standby and close its episode."""
    return Done(finish(lambda: lease, work.ledger.nodes([node.name])[0], work).sentence)


def quarantine(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Isolate, as after a failed sweep."""
    done = isolate(lease, node, work, reason="NVLink 3 of gpu/4 is down")
    work.ledger.release(lease, close=True, reason="")
    return done


def hold(lease: Lease, node: FleetNode, work: Work) -> Done:
    """Hold admission."""
    work.ledger.hold(Hold(node.name, "ada", "cabling work", None, "admission"))
    return Done("held")


def unhold(lease: Lease, node: FleetNode, work: Work) -> Done:
    """End all holds."""
    work.ledger.release_hold(node.name, who="ada")
    return Done("released")


def begin_again(run: str, lease: Lease, node: FleetNode, work: Work) -> Done:
    """Open a wave of this node, which is how a quarantined one is tested again."""
    request = WaveRequest(run=run, names=(node.name,), rack="", batch="", retry_of="", kind="onboarding", fleet="")
    open_wave(request, work)
    return Done("taken")


INSPECT = Step("inspect", inspect)
APPROVE = Step("approve", approve)
STEPS: Mapping[str, tuple[Step, ...]] = {
    "declared": (INSPECT,),
    "discovered": (INSPECT,),
    "inventoried": (INSPECT,),
    "conformant": (APPROVE, Step("firmware", firmware)),
    "firmware_current": (APPROVE, Step("boot_validation", boot_validation)),
    "validation_booted": (
        Step("result", partial(bring, Scope.HARDWARE)),
        Step("judge_hardware", partial(judge, Scope.HARDWARE)),
    ),
    "burned_in": (APPROVE, Step("provision", provision)),
    "provisioned": (
        Step("result", partial(bring, Scope.PLATFORM)),
        Step("judge_platform", partial(judge, Scope.PLATFORM)),
    ),
    "attested": (Step("judge_platform", partial(judge, Scope.PLATFORM)),),
    "verified": (Step("finish", enter_standby),),
}
APPROVE_ADMISSION = Step("approve admission", approve_admission, kind="maintenance")
ADMIT = Step("admit", admit, kind="maintenance")
HOLD, UNHOLD = Step("hold", hold, leases=False), Step("release hold", unhold, leases=False)
QUARANTINE = Step("isolate", quarantine, kind="fault")


def retest(run: str) -> Step:
    """The first step of a run that tests a quarantined node again."""
    return Step("open wave", partial(begin_again, run), leases=False)
