"""Screening end to end on the bench: who spoils a group is named with its measurements, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.adapters.page_jinja import JinjaPage
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.dossier import verify_dossier
from nodeworthy.evidence.verdicts import Judgement, Verdict
from nodeworthy.lifecycle.rows import Taint
from nodeworthy.lifecycle.upkeep import Orphan
from nodeworthy.ports import ClusterNode
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.judge_wave import Judging
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.screen import screen
from nodeworthy.procedures.settle_readers import READERS
from nodeworthy.procedures.trial import Court, Trial

from tests.contract.judge.test_judge_wave import GOLDEN, SIGNER, ReferenceJudge
from tests.doubles.bench import MemoryStore, TrustingAttestation, healthy_inventory, library, node_of
from tests.doubles.fabric import Fabric
from tests.doubles.ledger import MemoryLedger
from tests.doubles.machine import Machine, MachineBmcs, MachineClock
from tests.doubles.ports import Ports

NAMES = tuple(f"n{number}" for number in range(1, 9))
RUN = "group_test/manual"


class ManyNodes:
    """The Cluster port for Ready nodes, with the files of the fabric's pods; what was isolated is kept."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.isolated: list[str] = []

    def node(self, name: str) -> ClusterNode | None:
        """Every node is Ready."""
        boot = self.fabric.boot_ids[name]
        return ClusterNode(name, "u", True, True, boot, "m", "s", "i", "k", (), {}, {}, "1")

    def project(self, name: str, *, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int) -> None:
        """Remember who was isolated."""
        self.isolated.append(name)

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: None

    def images(self, pod: str) -> dict[str, str]:
        """Return what the pod's probe runs."""
        return {"base": "nodeworthy/probe@sha256:" + "ab" * 32}

    def read_file(self, pod: str, container: str, path: str, *, limit_bytes: int) -> bytes:
        """Read what the fabric left."""
        if (pod, path) not in self.fabric.files:
            raise Permanent(f"{path} of {pod} is not there.")
        return self.fabric.files[pod, path]


class Bench:
    """Some nodes at burned_in, held by one run, on one fabric."""

    def __init__(self, names: Sequence[str] = NAMES, racks: int = 1, **fabric: Any) -> None:
        in_racks = {name: f"R{place % racks}" for place, name in enumerate(names)}
        self.fabric = Fabric({name: f"boot-{name}" for name in names}, racks=in_racks, **fabric)
        self.machine = machine = Machine(healthy_inventory())
        clock = MachineClock(machine)
        self.ledger = MemoryLedger(library().lifecycle(), clock)
        nodes = [
            replace(node_of(), name=name, serial=f"S-{name}", position=place, rack=in_racks[name])
            for place, name in enumerate(names)
        ]
        self.ledger.import_fleet(nodes)
        hours = timedelta(hours=4)
        self.leases = {
            name: self.ledger.open_episode(name, kind="onboarding", run=RUN, lifetime=hours) for name in names
        }
        for name in names:
            self.ledger.put(name, "burned_in")
        self.cluster, self.store, self.said = ManyNodes(self.fabric), MemoryStore(), list[str]()
        ports = (clock, self.ledger, MachineBmcs(machine), self.cluster, library(), self.store, TrustingAttestation())
        self.work = Ports(*ports, self.said.append)  # type: ignore[arg-type]
        self.judge = ReferenceJudge()

    def run(self, suite: str = "m1") -> Done:
        """Screen to the end, as a task that resumes after every wait."""
        judging = Judging(self.judge, JinjaPage(), lambda: SIGNER, lambda: GOLDEN)
        for _ in range(20):
            records = {record.node.name: record for record in self.ledger.nodes()}
            outcome = screen(Court(RUN, library().suite(suite), records, self.leases, self.work, self.fabric), judging)
            if not isinstance(outcome, Waiting):
                return outcome
        raise AssertionError("it never ends")

    def verdicts(self) -> dict[str, Judgement]:
        """The newest judgement of each node."""
        return {record.node.name: self.ledger.judgements(record.node.name)[0] for record in self.ledger.nodes()}

    def standing(self) -> dict[str, str]:
        """Who left burned_in, and where to."""
        return {one.node.name: one.milestone for one in self.ledger.nodes() if one.milestone != "burned_in"}


def test_healthy_pairs_take_one_round_and_all_pass() -> None:
    """Four pairs; one validation of what they measured, one of what each node saw on itself; dossiers verify."""
    one = Bench()
    one.run()
    assert one.fabric.tested == [("n1", "n2"), ("n3", "n4"), ("n5", "n6"), ("n7", "n8")]
    assert [len(batch.results) for batch in one.judge.batches] == [4, 4]
    assert one.verdicts()["n2"].sentence == "n2 pass: pair.all_reduce 480 GB/s with n1."
    assert {judgement.verdict for judgement in one.verdicts().values()} == {Verdict.PASS}
    dossier = one.verdicts()["n2"].dossier
    assert dossier is not None
    assert verify_dossier(dossier, one.store.content.get) == ()


@pytest.mark.parametrize("culprit", ["n1", "n4", "n8"])
def test_a_slow_node_is_named_and_its_partner_is_not(culprit: str) -> None:
    """Pair, single with a good partner, confirmation with another: three measurements in its reason; it alone moves."""
    one = Bench(slow={culprit: 240.0})
    done = one.run()
    assert done.facts["culprits"] == [culprit]
    assert one.standing() == {culprit: "quarantined"}
    assert one.cluster.isolated[0] == culprit
    sentence = one.verdicts()[culprit].sentence
    assert sentence.count("240 GB/s with") == 3
    assert "reaches 480 GB/s with" in sentence
    assert [name for name, found in one.verdicts().items() if found.verdict is not Verdict.PASS] == [culprit]


@pytest.mark.parametrize("culprit", ["n1", "n4"])
def test_a_slow_rail_is_named_with_its_side(culprit: str) -> None:
    """perftest names the adapter, the partners name the side, whether the culprit leads its first pair or not."""
    one = Bench(slow_rail={culprit: ("mlx5_3", 195.0)})
    assert one.run().facts["culprits"] == [culprit]
    assert one.standing() == {culprit: "quarantined"}
    sentence = one.verdicts()[culprit].sentence
    assert sentence.startswith(f"{culprit} fail: pair.write nic/mlx5_3 195 Gb/s with")
    assert sentence.count("nic/mlx5_3 195 Gb/s with") == 3
    assert "390 Gb/s with" in sentence


def test_a_host_that_is_slow_over_tcp_alone_is_named() -> None:
    """Its collectives and adapters are well; what it moves over TCP is not, with three partners."""
    one = Bench(slow_tcp={"n4": 40.0})
    assert one.run().facts["culprits"] == ["n4"]
    assert one.verdicts()["n4"].sentence.startswith("n4 fail: pair.tcp 40 Gb/s with")


def test_two_culprits_in_one_pair_are_both_named() -> None:
    """Neither can hide behind the other."""
    one = Bench(slow={"n3": 200.0, "n4": 100.0})
    assert one.run().facts["culprits"] == ["n3", "n4"]


def test_a_fault_between_two_nodes_blames_neither() -> None:
    """Slow only together: both pass with others, nobody moves, and the sentence says where to look."""
    one = Bench(between=frozenset({"n5", "n6"}))
    one.run()
    assert one.standing() == {}
    assert one.verdicts()["n5"].verdict is Verdict.INCOMPLETE
    assert "the fault lies between them" in one.verdicts()["n6"].sentence


@pytest.mark.parametrize("culprit", ["n1", "n4"])
@pytest.mark.parametrize("metric", ["xid_new", "ecc_uncorrected_new", "link_downed_new"])
def test_a_new_error_on_one_node_fails_it_although_its_group_is_fast(culprit: str, metric: str) -> None:
    """Who leads or who follows: it alone moves, with that error as its reason; its partner is tested without it."""
    one = Bench(counts={culprit: (metric, 1.0)})
    done = one.run()
    assert done.facts == {"culprits": [culprit], "left_open": []}
    assert one.standing() == {culprit: "quarantined"}
    judged = one.verdicts()[culprit]
    assert f"{metric} 1 is not 0" in judged.sentence
    assert "while m1 ran over" in judged.sentence
    assert {reason.metric for reason in judged.reasons} == {metric}
    assert judged.dossier is not None
    assert verify_dossier(judged.dossier, one.store.content.get) == ()
    partner = next(name for name in one.fabric.tested[NAMES.index(culprit) // 2] if name != culprit)
    assert [partner in group for group in one.fabric.tested].count(True) == 2
    assert culprit not in one.verdicts()[partner].sentence


def test_a_slow_node_with_an_error_of_its_own_is_named_by_that() -> None:
    """What it saw on itself says more than its bandwidth, and no halves are needed to find it."""
    one = Bench(slow={"n6": 300.0}, counts={"n6": ("xid_new", 2.0)})
    assert one.run("m2").facts == {"culprits": ["n6"], "left_open": []}
    assert [len(group) for group in one.fabric.tested] == [8, 7]
    assert "xid_new 2 is not 0" in one.verdicts()["n6"].sentence


@pytest.mark.parametrize("suite", ["m2", "m3"])
def test_a_gpu_that_computes_late_is_named_with_its_node(suite: str) -> None:
    """12 ms behind the others in each step, at full bandwidth: no halves, and the verdict names the GPU."""
    one = Bench(racks=2, late={"n6": 12.0})
    assert one.run(suite).facts == {"culprits": ["n6"], "left_open": []}
    assert [len(group) for group in one.fabric.tested][:3] == [4, 4, 3]
    assert "n6 fail: gpu/3 compute_lag max 12 ms is above the limit 4: look at" in one.verdicts()["n6"].sentence
    (reason,) = one.verdicts()["n6"].reasons
    assert (reason.component, reason.metric) == ("gpu/3", "compute_lag")


def test_a_counter_that_cannot_be_read_is_no_pass_and_no_blame() -> None:
    """Its group's bandwidth says nothing about errors that nobody could have seen."""
    one = Bench(counts={"n3": ("memory_uncorrected_new", None)})
    assert one.run().facts == {"culprits": [], "left_open": ["n3"]}
    assert one.standing() == {}
    assert one.verdicts()["n3"].verdict is Verdict.INCOMPLETE
    assert "memory_uncorrected_new" in one.verdicts()["n3"].sentence
    assert one.verdicts()["n4"].verdict is Verdict.PASS


def test_a_transport_that_was_not_proven_counts_against_nobody() -> None:
    """One node falls back to sockets: what its groups measured is no network result, twice, and nobody is blamed."""
    one = Bench(no_rdma=frozenset({"n2"}))
    done = one.run()
    assert done.facts["culprits"] == []
    assert one.standing() == {}
    assert [name for name, found in one.verdicts().items() if found.verdict is not Verdict.PASS] == ["n2"]
    assert one.verdicts()["n2"].verdict is Verdict.INCOMPLETE
    assert "was not tested" in one.verdicts()["n2"].sentence
    assert "NET/IB" in one.verdicts()["n2"].sentence


def test_a_node_that_cannot_be_reached_is_left_open() -> None:
    """Its group has no answer; the others have theirs."""
    one = Bench(unreachable=frozenset({"n8"}))
    done = one.run()
    assert done.facts == {"culprits": [], "left_open": ["n8"]}


def test_a_rack_is_halved_until_the_culprit_stands_alone() -> None:
    """M2 begins with all eight of the rack: 8, 4, 2, 1 and a confirmation."""
    one = Bench(slow={"n6": 300.0})
    done = one.run("m2")
    assert one.fabric.tested[0] == NAMES
    assert done.facts["culprits"] == ["n6"]
    assert one.standing() == {"n6": "quarantined"}


def test_the_fleet_is_its_racks_and_then_one_node_of_each() -> None:
    """Two racks side by side by m2, then n1 and n2 for them by m3; every sentence tells both figures."""
    one = Bench(racks=2)
    assert one.run("m3").facts == {"culprits": [], "left_open": []}
    assert one.fabric.tested == [("n1", "n3", "n5", "n7"), ("n2", "n4", "n6", "n8"), ("n1", "n2")]
    assert one.verdicts()["n8"].sentence == (
        "n8 pass: domain.all_reduce 480 GB/s with n2, n4, n6, and n2 of its rack reaches fleet.all_reduce 480 GB/s "
        "with n1."
    )
    assert one.verdicts()["n2"].sentence == "n2 pass: fleet.all_reduce 480 GB/s with n1."


def test_a_culprit_is_found_in_its_rack_before_racks_are_tested_together() -> None:
    """n6 of the second rack: its rack, its half, a good partner and another; over the spine go nodes that are well."""
    one = Bench(racks=2, slow={"n6": 300.0})
    assert one.run("m3").facts == {"culprits": ["n6"], "left_open": []}
    assert one.standing() == {"n6": "quarantined"}
    assert one.verdicts()["n6"].sentence.count("300 GB/s with") == 4
    assert one.fabric.tested[-1] == ("n1", "n2")


def test_a_rack_that_is_slow_to_others_blames_no_node() -> None:
    """Each node of the third rack is well at home and slow to others: two of them prove the rack's way out guilty."""
    one = Bench(racks=3, uplinks={"n3": 240.0, "n6": 240.0})
    assert one.run("m3").facts == {"culprits": [], "left_open": ["n3", "n6"]}
    assert one.standing() == {}
    sentence = one.verdicts()["n6"].sentence
    assert "n3, n6 are well among themselves and slow to nodes of other racks (fleet.all_reduce 240 GB/s" in sentence
    assert "uplinks" in sentence
    assert one.verdicts()["n8"].verdict is Verdict.PASS


def test_a_node_that_is_slow_over_the_spine_alone_is_told_from_its_rack() -> None:
    """n3 is well with its rack and slow to others, n6 beside it is well with both, and stands for the rack."""
    one = Bench(racks=3, uplinks={"n3": 240.0})
    assert one.run("m3").facts == {"culprits": ["n3"], "left_open": []}
    assert one.standing() == {"n3": "quarantined"}
    assert one.verdicts()["n3"].sentence.count("fleet.all_reduce 240 GB/s with") == 1
    assert one.verdicts()["n6"].verdict is Verdict.PASS


def test_one_rack_is_no_fleet() -> None:
    """Its nodes may be well: what lies between racks was not tested, and the sentence says so."""
    one = Bench()
    assert one.run("m3").facts == {"culprits": [], "left_open": list(NAMES)}
    assert "no second rack" in one.verdicts()["n1"].sentence


def test_when_every_group_fails_nobody_is_blamed() -> None:
    """Without a partner that is known to be good there is no culprit: the fabric itself may be slow."""
    one = Bench(slow=dict.fromkeys(NAMES, 240.0))
    done = one.run()
    assert done.facts["culprits"] == []
    assert {found.verdict for found in one.verdicts().values()} == {Verdict.INCOMPLETE}
    assert "known to be good" in one.verdicts()["n1"].sentence


def test_a_screening_that_is_done_changes_nothing_when_it_runs_again() -> None:
    """A cleared task reads its answers from the ledger: no pod, no judgement, no move more."""
    one = Bench(slow={"n1": 240.0})
    one.run()
    tested, judged = len(one.fabric.tested), len(one.ledger.judgements("n1"))
    assert one.run().facts["culprits"] == ["n1"]
    assert (len(one.fabric.tested), len(one.ledger.judgements("n1"))) == (tested, judged)


def test_a_trial_that_housekeeping_ended_is_tried_again() -> None:
    """The screening died in its first round; what it left open is settled when no pod can run any more."""
    one = Bench()
    suite = library().suite("m1")
    records = {record.node.name: record for record in one.ledger.nodes()}
    first = Trial(Court(RUN, suite, records, one.leases, one.work, one.fabric), ("n1", "n2"), 1)
    left = first.record()
    case = Case(one.leases["n1"], records["n1"].node, one.work, library().sku("h100-sxm-8"))
    orphan = Orphan(left, case.node, "burned_in")
    assert READERS[left.kind](case, orphan) is None
    one.machine.now += first.limit
    found = READERS[left.kind](case, orphan)
    assert found is not None
    one.ledger.settle(one.leases["n1"], left, found.status, found.proof)
    assert one.run().facts == {"culprits": [], "left_open": []}


def test_a_suite_of_one_node_is_refused() -> None:
    """L1 has nothing to screen."""
    with pytest.raises(Refused, match="choose m1"):
        Bench().run("l1")
