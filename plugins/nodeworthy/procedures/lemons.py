"""Lemons: once a day, name the parts, nodes and places that fail more often than chance allows, to a person.

Faults are counted by serial, so a reboot, a new name, another image or another slot does not make a part new. A notice
stands at the node that the part is in now, and ends when its count no longer stands out.
"""

from __future__ import annotations

from datetime import timedelta

from nodeworthy.lifecycle.upkeep import Notice
from nodeworthy.procedures.upkeep import House
from nodeworthy.qualification.lemons import Lemon, PartRecord
from nodeworthy.qualification.lemons import lemons as found_in

CHORE = KIND = "lemons"


def lemons(house: House) -> str:
    """Look once per the rules' period; raise and clear notices; return one line. Re-entrant."""
    if not house.upkeep.claim_chore(CHORE, house.rules.lemons_every):
        return "Parts were looked at within the last period already."
    rules = house.work.library.statistics()
    record = house.upkeep.part_record(timedelta(days=rules.lemon_window_days))
    found = found_in(record.faults, record.days, rules.lemons)
    notices = [notice_of(lemon, record) for lemon in found]
    for new in house.upkeep.raise_notices(notices):
        house.work.say(new.sentence)
    house.upkeep.clear_notices(KIND, [one.key for one in notices], "its faults no longer stand out")
    looked_at = f"{len(record.faults)} faults in {rules.lemon_window_days:.0f} days"
    return f"{looked_at} looked at by serial: {len(found)} stand out."


def notice_of(lemon: Lemon, record: PartRecord) -> Notice:
    """Return the notice of a lemon, at the node that it is in now; one that was moved is told anew."""
    node = lemon.name.split(" ")[0] if lemon.is_place else record.now_in.get((lemon.name, lemon.kind), "")
    where = f" It is in {node} now." if node and not lemon.is_place else ""
    return Notice(KIND, f"{lemon.kind}/{lemon.name}/{node}", f"{lemon.sentence}.{where}", node)
