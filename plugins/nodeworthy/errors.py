"""The error tree, named by what to do next.

    NodeworthyError
    |- Transient         try again after `retry_after`
    |- Permanent         do not try again; a person or another plan is needed
    |- Refused           a rule said no; nothing was done; the reason is meant for the operator
    |- OutcomeUnknown    something was sent and its result cannot be proven; a person decides

Every message is one sentence for an operator: what was tried, what was seen, what to do next.
Adapters map their library's errors to these and chain the cause, so that no library's exceptions spread.
"""

from __future__ import annotations

from datetime import timedelta


class NodeworthyError(Exception):
    """Root of all errors that Nodeworthy raises on purpose."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Transient(NodeworthyError):
    """The same call may succeed later; `retry_after` says when it is worth trying."""

    def __init__(self, sentence: str, retry_after: timedelta = timedelta(seconds=30)) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[Transient], tuple[str, timedelta]]:
        return type(self), (self.sentence, self.retry_after)


class Permanent(NodeworthyError):
    """Trying again cannot help."""


class Refused(NodeworthyError):
    """A rule said no before anything was done."""


class OutcomeUnknown(NodeworthyError):
    """An effect was sent and the world cannot tell whether it happened: a human decides, nobody repeats it."""
