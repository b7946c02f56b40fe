"""Retention: evidence leaves the store when its class's time is over, never while a valid qualification needs it.

Time counts from the end of the episode, so nothing of an open one is touched. Files that no class names are kept.
Unless the rules say `remove`, nothing is removed and the log says what would be; what is removed is named in the node's
audit with its path and size, so that a missing file is explained and not suspicious.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from nodeworthy.lifecycle.upkeep import Closed, Kept
from nodeworthy.procedures.upkeep import House

CHORE = "retention"
FOLDER = "nodes/{serial}/{episode}"


def retention(house: House) -> str:
    """Clear out what is over, once per the rules' period; return one line. Re-entrant."""
    if not house.upkeep.claim_chore(CHORE, house.rules.retention_every):
        return "Evidence was looked through within the last period already."
    shortest = min((one.keep for one in house.rules.evidence if one.keep is not None), default=None)
    if shortest is None:
        return "Every class of evidence is kept for ever."
    needed, files, size = house.upkeep.needed_episodes(), 0, 0
    closed = house.upkeep.closed_episodes(shortest)
    for (serial, episode), over_since in sorted(closed.items(), key=lambda pair: pair[0]):
        if (serial, episode) in needed:
            continue
        found = house.shelf.files(FOLDER.format(serial=serial, episode=episode))
        over = {path: found[path] for path in sorted(found) if is_over(path, over_since, house.rules.evidence)}
        files, size = files + len(over), size + sum(over.values())
        if over:
            _clear(house, serial, over)
    verb = "removed" if house.rules.remove else "would be removed (the rules only say so)"
    return f"Evidence of {len(closed)} old episodes looked through: {files} files with {size} bytes {verb}."


def is_over(path: str, episode: Closed, classes: Sequence[Kept]) -> bool:
    """Tell whether a file's time is over. The first class that fits its name and its episode's outcome decides."""
    name = path.rsplit("/", 1)[-1]
    for one in classes:
        if fnmatchcase(name, one.pattern) and one.outcome in ("", episode.outcome):
            return one.keep is not None and episode.age > one.keep
    return False


def _clear(house: House, serial: str, over: Mapping[str, int]) -> None:
    """Write down first, then remove: a crash in between leaves files that the next run removes."""
    for path, size in over.items():
        house.work.say(f"{path} ({size} bytes) {'is removed' if house.rules.remove else 'would be removed'}.")
    if not house.rules.remove:
        return
    told = [{"path": path, "size_bytes": size} for path, size in over.items()]
    house.upkeep.record_removal(serial, told, "its class's time is over")
    for path in over:
        house.shelf.remove(path)
