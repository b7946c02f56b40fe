"""What every forked task process would do first, done once in the scheduler that it is forked from.

Classes are looked at, signatures read, schemas and statements compiled: much of that is paid once per process, and a
task process lives for a second.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from nodeworthy.errors import NodeworthyError
from nodeworthy.tasks.bring_up import bring_up_dag
from nodeworthy.wiring import compile_statements, wiring


@cache
def rehearse() -> None:
    """Build the DAG of the many tasks and compile what they say to the ledger. Reaches nothing outside.

    Once in a process and all that are forked from it. A file that is broken is told by the tasks that need it.
    """
    with suppress(NodeworthyError):
        bring_up_dag()
        compile_statements()
    # What a process has made of the files stays the same for its life: forked ones look for themselves.
    wiring.cache_clear()
