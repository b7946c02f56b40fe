"""The BMC's own safety at inspect: what refuses a node goes to `conform`, all else is said in the log of the step."""

from __future__ import annotations

from nodeworthy.procedures.bmc_reading import BmcReading
from nodeworthy.procedures.effect import Case
from nodeworthy.qualification.bmc_security import judge_security


def security_refusals(case: Case, reading: BmcReading) -> list[str]:
    """Return one phrase per thing that refuses the node, and say the remarks."""
    work = case.work
    judged = judge_security(
        reading.guard, reading.log.rooms, work.library.security_rules(), case.sku.secure_boot, work.clock.now()
    )
    for remark in judged.remarks:
        work.say(f"Remark: {remark}.")
    return list(judged.refusals)
