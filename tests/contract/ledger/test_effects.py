"""The effect journal and nonces: written before, settled after, never twice under one name."""

from __future__ import annotations

import pytest
from nodeworthy.errors import Permanent, Refused

from tests.contract.ledger.support import HOUR, START, Bench


def test_an_intent_is_written_once(bench: Bench) -> None:
    """The second call returns the first's record and says that it is not fresh."""
    lease = bench.take()
    first = bench.ledger.intend(lease, "reset", "validation", {"boot_id": "b0"})
    again = bench.ledger.intend(lease, "reset", "validation", {"boot_id": "b1"})
    assert (first.fresh, again.fresh) == (True, False)
    assert (again.id, again.detail, again.status) == (first.id, {"boot_id": "b0"}, "intended")
    assert first.intended_at == START
    assert [effect.id for effect in bench.ledger.effects("n1")] == [first.id]


def test_effect_ids_cannot_be_guessed(bench: Bench) -> None:
    """Two effects share nothing of their ids but the mark: 128 bits are drawn for each."""
    lease = bench.take()
    ids = {bench.ledger.intend(lease, "reset", str(number), {}).id for number in range(20)}
    assert len(ids) == 20
    assert {len(effect_id) for effect_id in ids} == {len("fx-") + 32}


def test_another_episode_is_another_effect(bench: Bench) -> None:
    """The same kind and key in a later episode is a new effect."""
    first = bench.take()
    old = bench.ledger.intend(first, "reset", "k", {})
    bench.ledger.release(first, close=True, reason="")
    second = bench.take()
    new = bench.ledger.intend(second, "reset", "k", {})
    assert new.fresh
    assert new.id != old.id
    assert [effect.id for effect in bench.ledger.effects("n1", episode=second.episode)] == [new.id]


def test_a_new_run_settles_what_a_dead_one_intended(bench: Bench) -> None:
    """After a takeover the open intent is there, with the state before it, for the next run to settle."""
    bench.ledger.intend(bench.take(), "reset", "k", {"boot_id": "b0"})
    bench.clock.pass_(HOUR)
    heir = bench.take(run="run-2")
    found = bench.ledger.intend(heir, "reset", "k", {})
    assert not found.fresh
    settled = bench.ledger.settle(heir, found, "proven", {"boot_id": "b1"})
    assert (settled.status, settled.proof, settled.detail) == ("proven", {"boot_id": "b1"}, {"boot_id": "b0"})


def test_an_outcome_is_final_but_may_be_repeated(bench: Bench) -> None:
    """The same outcome again is success; a proven effect cannot become failed."""
    lease = bench.take()
    effect = bench.ledger.intend(lease, "update", "BIOS", {})
    bench.ledger.settle(lease, effect, "proven", {"version": "2"})
    assert bench.ledger.settle(lease, effect, "proven", {}).proof == {"version": "2"}
    with pytest.raises(Refused, match="update BIOS is proven already and cannot become failed"):
        bench.ledger.settle(lease, effect, "failed", {})


def test_an_unknown_outcome_may_be_settled_later(bench: Bench) -> None:
    """What could not be proven may be proven by a later look."""
    lease = bench.take()
    effect = bench.ledger.settle(lease, bench.ledger.intend(lease, "reset", "k", {}), "unknown", {"seen": "silence"})
    assert bench.ledger.settle(lease, effect, "failed", {"seen": "off"}).status == "failed"


def test_settle_knows_three_outcomes_of_its_own_effects(bench: Bench) -> None:
    """A made-up outcome and another node's effect are refused."""
    lease, other = bench.take(), bench.take("n2")
    effect = bench.ledger.intend(lease, "reset", "k", {})
    with pytest.raises(Refused, match="cannot end as maybe"):
        bench.ledger.settle(lease, effect, "maybe", {})
    with pytest.raises(Refused, match="has no effect"):
        bench.ledger.settle(other, effect, "proven", {})


@pytest.mark.parametrize("detail", [{"password": "x"}, {"bmc": [{"Token": "x"}]}, {"figure": float("nan")}])
def test_what_must_not_be_stored_is_refused(bench: Bench, detail: dict[str, object]) -> None:
    """Secrets and figures that are none never reach the journal."""
    lease = bench.take()
    with pytest.raises(Permanent):
        bench.ledger.intend(lease, "reset", "k", detail)
    assert bench.ledger.effects("n1") == ()


def test_a_nonce_is_minted_once_until_it_is_renewed(bench: Bench) -> None:
    """256 bits per episode and purpose; a renewed one voids the old one."""
    lease = bench.take()
    first = bench.ledger.nonce(lease, "attest")
    assert len(bytes.fromhex(first)) == 32
    assert bench.ledger.nonce(lease, "attest") == first
    assert bench.ledger.nonce(lease, "other") != first
    second = bench.ledger.renew_nonce(lease, "attest")
    assert second != first
    assert bench.ledger.nonce(lease, "attest") == second
