"""Resets that are sent once, whatever dies in between.

Whether a reset took effect is read from the world: the BMC's LastResetTime, or a new boot id of the Node. Only a world
that says "not yet", after any request of a dead process must have arrived, lets the reset be sent. Where neither can
tell, a person decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nodeworthy.errors import OutcomeUnknown, Permanent
from nodeworthy.lifecycle.records import Effect
from nodeworthy.ports import Bmc, Power, SystemState
from nodeworthy.procedures.bmc_health import refuse_reset_of_wet
from nodeworthy.procedures.effect import FAILED, INTENDED, PROVEN, UNKNOWN, Case
from nodeworthy.procedures.outcome import Waiting

RESET = "reset"
ANSWER = "reset-answer"
"""Kept beside a reset that the BMC took: one without effect after that was ignored, and is not sent again."""
POWER_STEP = "power_on"


def send_reset(case: Case, bmc: Bmc, kind: str, key: str, before: Mapping[str, Any]) -> Effect | Waiting:
    """Make sure that the reset of this attempt was sent once; return its effect, or wait for a dead process's request.

    `before` is what the world said before the first attempt (`boot_id`); the BMC's last reset is added here.
    """
    refuse_reset_of_wet(case, bmc)
    state = bmc.state()
    detail = {**before, "last_reset": _iso(state.last_reset), "kind": kind}
    effect = case.intend(RESET, key, detail)
    if not effect.fresh:
        if effect.status != INTENDED or _is_out(case, effect, state):
            return effect
        arrived_by = effect.intended_at + case.settle_time
        if case.work.clock.now() < arrived_by:
            return until(arrived_by, f"a reset of {case.node.name} that may still be on its way", case)
        case.settle(effect, FAILED, {"sent": False})
        effect = case.intend(RESET, case.attempt(RESET, key.rsplit("/", 1)[0]), detail)
    case.work.say(f"Sending reset {kind} to {case.node.name} (effect {effect.id}).")
    _send(case, bmc, kind, effect)
    return effect


def _is_out(case: Case, effect: Effect, state: SystemState) -> bool:
    """Tell whether an earlier process's reset was sent: the BMC answered it, or the world shows it."""
    happened = has_happened(case, effect, state)
    if happened or was_answered(case, effect):
        return True
    if happened is None:
        case.settle(effect, UNKNOWN, {})
        raise OutcomeUnknown(
            f"A reset of {case.node.name} was written down at {effect.intended_at:%H:%M:%S} UTC and neither its BMC "
            "nor its Node can tell whether it came: look at the console, then clear this task to go on."
        )
    return False


def has_happened(case: Case, effect: Effect, state: SystemState) -> bool | None:
    """Tell from the world whether a reset took effect; None when the world cannot tell."""
    seen = case.work.cluster.node(case.node.name)
    if seen is not None and seen.boot_id and seen.boot_id != effect.detail.get("boot_id", ""):
        return True
    if state.last_reset is None:
        return None
    return bool(_iso(state.last_reset) != effect.detail["last_reset"])


def was_answered(case: Case, effect: Effect) -> bool:
    """Tell whether the BMC took this reset."""
    return any(one.kind == ANSWER and one.key == effect.key for one in case.effects())


def power_on(case: Case, bmc: Bmc, state: SystemState) -> Waiting:
    """Switch the host on, once, and wait until its self test is over."""
    key = case.attempt(RESET, POWER_STEP)
    sent = send_reset(case, bmc, "On", key, {}) if state.power is Power.OFF else None
    if isinstance(sent, Waiting):
        return sent
    now = case.work.clock.now()
    deadline = sent.intended_at + case.sku.bmc.boot_deadline if sent else now + case.sku.bmc.boot_deadline
    if now >= deadline and sent is not None:
        case.settle(sent, FAILED, {"power": state.power.value})
        raise Permanent(
            f"{case.node.name} was switched on and still has no power after {case.sku.bmc.boot_deadline}: check its "
            "power supplies and cords, then clear this task."
        )
    case.work.say(f"{case.node.name} has power state {state.power}: its GPUs can be read after power-on self test.")
    return Waiting("power and self test", case.bmc_poll, deadline, {"kind": "post-ended"})


def settle_power_on(case: Case, state: SystemState) -> None:
    """Write down that the host has power, when this episode switched it on."""
    newest = case.newest(RESET, POWER_STEP)
    if newest is not None:
        case.settle(newest, PROVEN, {"power": state.power.value, "last_reset": _iso(state.last_reset)})


def _send(case: Case, bmc: Bmc, kind: str, effect: Effect) -> None:
    """Send it; a missing answer is settled by looking, not by sending again."""
    case.in_time(effect.intended_at, f"A reset ({kind})")
    try:
        bmc.reset(kind, effect_id=effect.id)
        case.settle(case.intend(ANSWER, effect.key, {"effect": effect.id}), PROVEN, {})
    except OutcomeUnknown as unknown:
        case.work.say(f"{unknown.sentence} Looking whether it took effect.")
        happened = has_happened(case, effect, bmc.state())
        if happened is None:
            case.settle(effect, UNKNOWN, {})
        if not happened:
            raise
    except Permanent as refusal:
        case.settle(effect, FAILED, {"refusal": refusal.sentence})
        raise


def until(moment: datetime, what: str, case: Case) -> Waiting:
    """Wait for a time, during which `what` shows itself."""
    return Waiting(what, case.bmc_poll, moment, {"kind": "moment", "at": moment.isoformat()})


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
