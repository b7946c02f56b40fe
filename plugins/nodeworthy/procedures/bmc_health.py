"""Leaks, fans, supplies and temperatures at inspect: a leak stops all work on the node, the rest goes to `conform`.

A leak is a person's case: nothing is switched, and a hold of both scopes keeps every later effect and every admission
away until a person who has looked releases it.
"""

from __future__ import annotations

from nodeworthy.errors import Refused
from nodeworthy.evidence.bmc_health import Health, Leaks
from nodeworthy.lifecycle.records import Hold
from nodeworthy.ports import Bmc, Work
from nodeworthy.procedures.effect import Case
from nodeworthy.qualification.bmc_health import judge_health, judge_leaks, leak_sentence

HOLDER = "nodeworthy (leak)"
"""Who holds a node that leaks: no person, so that each of them knows that it waits for one."""


def read_leaks(case: Case, bmc: Bmc) -> Leaks:
    """Read the leak detectors. Raises Refused, with the node held, when one of them reports a leak."""
    leaks = bmc.leaks(case.work.library.health_rules())
    if leaks.wet:
        sentence = leak_sentence(case.node.name, leaks)
        hold_wet(case.node.name, sentence, case.work)
        raise Refused(f"{sentence} Clear this task after that.")
    return leaks


def refuse_reset_of_wet(case: Case, bmc: Bmc) -> None:
    """Let no power action out on a node that leaks. Looks only where the SKU declares leak detectors."""
    if case.sku.environment.leak_detectors:
        read_leaks(case, bmc)


def hold_wet(node: str, sentence: str, work: Work) -> None:
    """Keep automation and admission off a leaking node until a person releases it. Once, however often it is seen."""
    if not any(hold.who == HOLDER for hold in work.ledger.holds(node)):
        work.ledger.hold(Hold(node, HOLDER, sentence.rstrip("."), None, "both"))


def health_refusals(case: Case, leaks: Leaks, health: Health) -> list[str]:
    """Return one phrase per thing that refuses the node. Says what was read, and the remarks."""
    work, environment = case.work, case.sku.environment
    work.say(
        f"Read {len(leaks.detectors)} leak detectors, {len(health.fans)} fans, {len(health.supplies)} power supplies "
        f"and {len(health.temperatures)} temperatures, against the thresholds that the BMC states."
    )
    judged = judge_health(health, work.library.health_rules(), environment)
    for remark in judged.remarks:
        work.say(f"Remark: {remark}.")
    return [*judge_leaks(leaks, environment), *judged.refusals]
