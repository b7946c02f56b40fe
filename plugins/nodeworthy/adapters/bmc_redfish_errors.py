"""One table from sushy's errors to ours, by class name so that sushy keeps its one door.

The same failure means different things by when it happens: a silent BMC is worth another read, but a silent BMC
after an action was sent is an unknown outcome; only a connection that never came about proves that nothing was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum

from nodeworthy.errors import NodeworthyError, OutcomeUnknown, Permanent, Transient
from nodeworthy.lifecycle.fleet import FleetNode

SILENT_RETRY = timedelta(seconds=30)
BUSY_RETRY = timedelta(seconds=60)
NEVER_SENT = {"ConnectTimeout", "NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


class Phase(StrEnum):
    """What was being done when the error came."""

    LOGIN = "login"
    READ = "read"
    ACTION = "action"


def translate(error: Exception, node: FleetNode, phase: Phase, doing: str) -> NodeworthyError:
    """Return our error for a library's: one sentence with the node, what was tried, what was seen, what to do."""
    name = type(error).__name__
    what = "The login" if phase is Phase.LOGIN else f"{doing[0].upper()}{doing[1:]}"
    tried = f"{what} on the BMC of {node.name} ({node.bmc.address})"
    if name == "ConnectionError":
        return _no_answer(error, phase, tried)
    if name == "AccessError":
        return Permanent(
            f"{tried} was refused ({_status(error)}): check user and password of connection nodeworthy_bmc before any "
            "retry, since repeated refusals lock the account."
        )
    if name == "ServerSideError":
        return Transient(
            f"{tried} got {_status(error)} ({_detail(error)}): the BMC is busy, restarting, or out of sessions; try "
            f"again in {BUSY_RETRY.seconds} s.",
            BUSY_RETRY,
        )
    return Permanent(f"{tried} was refused with {_status(error)}: {_detail(error)}.")


def _no_answer(error: Exception, phase: Phase, tried: str) -> NodeworthyError:
    causes = set(_chain(error))
    if "SSLError" in causes:
        return Permanent(
            f"{tried} failed at the TLS certificate: it is not signed by the CA file that the manifest names; "
            "renew the certificate or correct ca_file."
        )
    if phase is Phase.ACTION and not causes & NEVER_SENT:
        return OutcomeUnknown(
            f"{tried} got no answer, so whether it took effect is unknown: read the node's state before anything else."
        )
    return Transient(
        f"{tried} got no answer: check that the BMC has power and network, then try again.",
        SILENT_RETRY,
    )


def _chain(error: BaseException) -> Iterator[str]:
    """Name the classes of an error's causes: requests and urllib3 nest them as cause, context, reason or argument."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield type(one).__name__
            waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]


def _status(error: Exception) -> str:
    return f"HTTP {getattr(error, 'status_code', '?')}"


def _detail(error: Exception) -> str:
    detail = getattr(error, "detail", None)
    return str(detail).strip().rstrip(".") if detail else "no reason given"
