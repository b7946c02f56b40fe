"""The life of a node as lines for a person, made from its audit: one line per thing that happened, oldest first.

An effect's intent and outcome are one line at the time of its outcome; what only a program needs (nonces, long lists)
is left out or shortened. Unknown actions are shown as they are, so that nothing of the audit is hidden by being new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Detail = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened. `kind` groups lines for a page's style: move, effect, person, judgement, other."""

    at: datetime
    episode: int | None
    kind: str
    text: str


def timeline(history: Sequence[Mapping[str, Any]]) -> tuple[Line, ...]:
    """Return the lines of a node's audit rows."""
    return tuple(_lines(history))


def as_text(lines: Sequence[Line]) -> str:
    """Return the lines for a terminal, with a heading for each day and each episode."""
    written: list[str] = []
    day = episode = None
    for line in lines:
        if line.at.date() != day:
            day = line.at.date()
            written.append(f"{day:%Y-%m-%d} (UTC)")
        if line.episode is not None and line.episode != episode:
            episode = line.episode
            written.append(f"  episode {episode}")
        written.append(f"    {line.at:%H:%M:%S}  {line.text}")
    return "\n".join(written)


def _lines(history: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    intended: dict[str, datetime] = {}
    for row in history:
        at, action, detail = datetime.fromisoformat(row["at"]), row["action"], row["detail"]
        if action == "effect intended":
            intended[str(detail["id"])] = at
        if action in _SILENT:
            continue
        kind, words = _WORDS.get(action, ("other", _plain(action)))
        text = words({**detail, "took": _took(intended, detail, at)})
        if text:
            yield Line(at, detail.get("episode"), kind, text)
    yield from _open_effects(history)


def _open_effects(history: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Name what was begun and has no outcome: it belongs to the end, since it is still so."""
    settled = {row["detail"]["id"] for row in history if row["action"] == "effect settled"}
    for row in history:
        detail = row["detail"]
        if row["action"] == "effect intended" and detail["id"] not in settled:
            at = datetime.fromisoformat(row["at"])
            text = f"{detail['kind']} {detail['key']} has no outcome yet ({detail['id']})"
            yield Line(at, detail.get("episode"), "effect", text)


def _took(intended: Mapping[str, datetime], detail: Detail, at: datetime) -> str:
    begun = intended.get(str(detail.get("id", "")))
    seconds = (at - begun).total_seconds() if begun is not None else 0.0
    return f" after {seconds:.0f} s" if seconds >= 1 else ""


def _moved(detail: Detail) -> str:
    facts = detail["facts"]
    told = facts.get("reason") or _facts(facts, ("boot_id", "image", "firmware_set", "components", "sku"))
    voids = f"; void: {', '.join(detail['voids'])}" if detail["voids"] else ""
    return f"{detail['from']} -> {detail['to']} by {detail['event']}" + (f": {told}" if told else "") + voids


def _effect(detail: Detail) -> str:
    if detail["kind"] in _RECORDS:
        return ""
    proof = _facts(detail["proof"], tuple(detail["proof"]))
    by = " by looking at the world" if detail.get("by") == "looking" else ""
    return f"{detail['kind']} {detail['key']}: {detail['status']}{by}{detail['took']}" + (
        f" ({proof})" if proof else ""
    )


def _judged(detail: Detail) -> str:
    dossier = detail.get("dossier") or {}
    where = f" [{dossier['path']}]" if dossier.get("path") else ""
    return f"{detail['scope']} judged {detail['verdict']} by suite {detail['suite']}: {detail['sentence']}{where}"


def _facts(facts: Detail, names: Sequence[str]) -> str:
    shown = ((name, facts[name]) for name in names if facts.get(name) not in (None, "", {}, []))
    return ", ".join(f"{name} {_short(value)}" for name, value in shown)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _hold(detail: Detail) -> str:
    until = f"until {detail['until']}" if detail.get("until") else "until released"
    return f"held ({detail['scope']}) by {detail['who']} {until}: {detail['why']}"


def _given_back(detail: Detail) -> str:
    what = "episode closed" if detail["closed"] else "lease given back"
    return f"{what} by {detail['run']}" + (f": {detail['reason']}" if detail["reason"] else "")


def _inventory(detail: Detail) -> str:
    return (
        f"inventory: {len(detail['placed'])} parts came, {len(detail['removed'])} went [{detail['evidence']['path']}]"
    )


def _result(detail: Detail) -> str:
    where = detail["evidence"]["path"]
    return f"result of suite {detail['suite']} ({detail['scope']}): {detail['measurements']} measurements [{where}]"


def _plain(action: str) -> Callable[[Detail], str]:
    def words(detail: Detail) -> str:
        told = _facts(detail, [name for name in detail if name not in ("episode", "took")])
        return f"{action}: {told}" if told else action

    return words


_SILENT = frozenset({"effect intended", "nonce minted"})
_RECORDS = frozenset({"reading", "reset-answer", "firmware-task", "verdict-refusal"})
"""Effects that only remember something for a program."""

_WORDS: Mapping[str, tuple[str, Callable[[Detail], str]]] = {
    "declared": ("move", lambda d: f"declared in batch {d['batch'] or 'none'}, rack {d['rack']}, SKU {d['sku']}"),
    "moved": ("move", _moved),
    "refused": ("move", lambda d: f"refused: {d['reason']}"),
    "episode opened": ("other", lambda d: f"episode opened: {d['kind']}"),
    "episode raised": ("other", lambda d: f"episode raised from {d['from']} to {d['to']}, approvals void"),
    "lease taken": ("other", lambda d: f"taken up by {d['run']}"),
    "lease taken over": ("other", lambda d: f"taken over by {d['to']} from {d['from']}, whose lease had expired"),
    "lease expired": ("other", lambda d: f"the lease of {d['run']} expired"),
    "lease given back": ("other", _given_back),
    "effect settled": ("effect", _effect),
    "approval": ("person", lambda d: f"plan {d['plan_sha256'][:12]}: {d['answer']} by {d['who']}: {d['why']}"),
    "approval asked": (
        "person",
        lambda d: (
            f"asked {', '.join(d['may_answer'])}: {d['subject']} (plan {d['plan_sha256'][:12]}, "
            f"{d['answers']} must approve, until {d['expires_at']})"
        ),
    ),
    "approval expired": ("person", lambda d: f"plan {d['plan_sha256'][:12]}: nobody answered in time: {d['subject']}"),
    "approval replaced": ("person", lambda d: f"plan {d['plan_sha256'][:12]}: asked no more: {d['subject']}"),
    "approval withdrawn": (
        "person",
        lambda d: f"plan {d['plan_sha256'][:12]}: asked no more, the run that asked has lost the node: {d['subject']}",
    ),
    "answer refused": (
        "person",
        lambda d: f"plan {d['plan_sha256'][:12]}: {d['answer']} by {d['who']} does not count: {d['why']}",
    ),
    "observed": ("other", lambda d: f"policy only observes {d['action']}; it would: {d['what']}"),
    "hold": ("person", _hold),
    "hold released": ("person", lambda d: f"{d['holds']} holds released by {d['who']}"),
    "inventory": ("judgement", _inventory),
    "result": ("judgement", _result),
    "judgement": ("judgement", _judged),
    "certificate": ("judgement", lambda d: f"certificate until {d['expires_at']} [{d['evidence']['path']}]"),
    "notice raised": ("other", lambda d: f"notice ({d['kind']}): {d['sentence']}"),
    "notice cleared": ("other", lambda d: f"notice ({d['kind']}) cleared: {d['why']}"),
}
