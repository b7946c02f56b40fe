"""The tasks of a whole wave: choose its nodes, judge its results together, end it.

They are vectorised: one task instance each, whatever the wave's size. Only `finish` is mapped, so that each node has a
last square that is green or red.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from nodeworthy.tasks.next_wave import LATER
from nodeworthy.tasks.steps import (
    counted,
    for_a_node,
    lease_of,
    receipt,
    require_trigger,
    run_of,
    say_reason,
    sentences,
    skip,
)

if TYPE_CHECKING:
    from nodeworthy.lifecycle.records import Lease, NodeRecord
    from nodeworthy.ports import Work
    from nodeworthy.procedures.finish import End


def wave_of(context: Context, wave: str) -> list[str]:
    """Return the names of the nodes that this run works on, as the task `wave` chose them."""
    names: Sequence[str] | None = context["ti"].xcom_pull(task_ids=wave)
    if not names:
        raise AirflowFailException("The wave was never opened: see the first task of this run.")
    return list(names)


class OpenWave(BaseOperator):
    """Resolves the form's answer to nodes, takes their leases, and returns their names for the mapped steps."""

    def __init__(
        self, *, episode_kind: str = "onboarding", reached: str = "", only_reached: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.episode_kind = episode_kind
        self.reached = reached
        self.only_reached = only_reached

    def execute(self, context: Context) -> list[str]:
        """Return the names of the nodes that this run works on, in order."""
        from nodeworthy.procedures.open_wave import WaveRequest, open_wave
        from nodeworthy.wiring import setting, wiring

        params = context["params"]
        retry_of = str(params.get("retry_of") or "")
        request = WaveRequest(
            run=run_of(context),
            names=tuple(params.get("nodes") or ()),
            rack=str(params.get("rack") or ""),
            batch=str(params.get("batch") or ""),
            retry_of=f"{context['dag_run'].dag_id}/{retry_of}" if retry_of else "",
            kind=self.episode_kind,
            fleet=setting("FLEET", ""),
            reached=self.reached,
            only_reached=self.only_reached,
            largest=int(params["wave_size"]),
        )
        with sentences():
            work = wiring().work(self.log.info)
            require_trigger(context, work)
            wave = open_wave(request, work)
        for sentence in wave.left_out:
            self.log.warning("%s", sentence)
        if not wave.nodes:
            raise AirflowFailException(" ".join(wave.left_out) or "The batch names no node that needs this procedure.")
        self.log.info("This run works on %d nodes: %s.", len(wave.nodes), ", ".join(wave.nodes))
        context["ti"].xcom_push(key=LATER, value=list(wave.later))
        return list(wave.nodes)


class JudgeWave(BaseOperator):
    """Judges all results of the run that wait for it, in one validation.

    It turns red when a node of the wave is not qualified, so that "Clear failed" runs it again behind the steps of that
    node; the steps behind it start whatever its colour. Once cleared, it leaves the nodes that it refused to the step
    behind it, which measures each of them again and has it judged.
    """

    def __init__(self, *, scope: str, ends: str, wave: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.scope = scope
        self.ends = ends
        self.wave = wave

    def execute(self, context: Context) -> dict[str, Any]:
        """Return how many results got which verdict. Fails when a node is not qualified and no person stopped it."""
        from nodeworthy.evidence.verdicts import Scope
        from nodeworthy.procedures.judge_wave import judge_wave
        from nodeworthy.wiring import wiring

        with sentences():
            made = wiring()
            work = made.work(self.log.info)
            judged = judge_wave(run_of(context), Scope(self.scope), work, made.judging())
        counts: dict[str, int] = {}
        for one in judged:
            counts[one.verdict.value] = counts.get(one.verdict.value, 0) + 1
        self.log.info("Judged %d results: %s.", len(judged), counted(counts, "there was nothing to judge"))
        self._refuse_unless_all(work, context)
        return {"schema": 1, "scope": self.scope, "verdicts": counts}

    def _refuse_unless_all(self, work: Work, context: Context) -> None:
        from nodeworthy.procedures.finish import stopped

        records = work.ledger.nodes(wave_of(context, self.wave))
        behind = [one for one in records if not self._qualified(one, work, context)]
        again = [one for one in behind if self._measured_again(one, work, context)]
        for one in again:
            self.log.info("%s was refused for its verdict; its next step measures it again.", one.node.name)
        behind = [one for one in behind if one not in again]
        ends = {one.node.name: stopped(one, work) for one in behind}
        for end in ends.values():
            self.log.info("%s", end.sentence)
        left = [name for name, end in ends.items() if not end.stopped_by_person]
        if left:
            raise AirflowFailException(
                f"{len(left)} of {len(records)} nodes have no {self.scope} qualification: {', '.join(left)}. "
                "Their reasons stand above; the others go on."
            )

    def _qualified(self, record: NodeRecord, work: Work, context: Context) -> bool:
        return work.library.lifecycle().has_reached(record.milestone, self.ends)

    def _measured_again(self, record: NodeRecord, work: Work, context: Context) -> bool:
        from nodeworthy.procedures.again import was_refused

        cleared = int(context["ti"].max_tries) > self.retries
        return cleared and was_refused(record, run_of(context), work)


class Finishing(BaseOperator):
    """How the last square of a node ends: it enters standby, or turns red with the reason why not.

    Other procedures end a node in another way: they say how in `end`.
    """

    node: str

    def proceed(self, context: Context) -> Any:
        """End the node's part in this run, give its lease back, and say where it stands."""
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            (record,) = work.ledger.nodes([self.node])
            end = self.end(lambda: lease_of(self.node, work, context), record, work, context)
        if end.stopped_by_person:
            skip(end.sentence)
        self.log.info("%s", end.sentence)
        if not end.reached:
            raise AirflowFailException(end.sentence)
        return receipt(self.node, "finish", end.sentence)

    def end(self, take_lease: Callable[[], Lease], record: NodeRecord, work: Work, context: Context) -> End:
        """Let the node enter standby if all is proven."""
        from nodeworthy.procedures.finish import finish

        return finish(take_lease, record, work)


class FinishNode(Finishing):
    """The last square of a node where nothing is measured again."""

    template_fields = ("node",)

    def __init__(self, *, node: str, **kwargs: Any) -> None:
        super().__init__(**for_a_node(kwargs))
        self.node = node

    def execute(self, context: Context) -> Any:
        """End the node's part in this run."""
        return self.proceed(context)


class Gate(BaseOperator):
    """Fails the run when any of its nodes did not arrive, unless a person said no to it.

    A failed run is visible and can be reprocessed. What counts as arrived is `passed`, by our own record.
    """

    def __init__(self, *, wave: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.wave = wave

    def execute(self, context: Context) -> dict[str, Any]:
        """Count from our own record who arrived."""
        from nodeworthy.procedures.finish import refused_by_person, where_it_stands
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            records = work.ledger.nodes(wave_of(context, self.wave))
            stopped = [record for record in records if not self.passed(record, work, context)]
        for record in records:
            self.log.info("%s", where_it_stands(record))
        missing = [record.node.name for record in stopped if not refused_by_person(record)]
        if missing:
            raise AirflowFailException(
                f"{len(missing)} of {len(records)} nodes {self.short_of(context)}: {', '.join(missing)}. "
                "Their reasons stand above and in their finish tasks. Once their causes are gone, clear what failed, "
                "or start a new run with retry_of."
            )
        return {"schema": 1, "arrived": len(records) - len(stopped)}

    def passed(self, record: NodeRecord, work: Work, context: Context) -> bool:
        """Tell whether the node is where the run was to bring it."""
        from nodeworthy.procedures.finish import arrived

        return arrived(record, work)

    def short_of(self, context: Context) -> str:
        """Return what the missing nodes did not do."""
        return "did not arrive"


class NamedNodes(BaseOperator):
    """Checks the names that a form gave against the ledger and hands them to the mapped step."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)

    def execute(self, context: Context) -> list[str]:
        """Return the names. Fails with one sentence when one is unknown or named twice."""
        from nodeworthy.procedures.open_wave import named
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            require_trigger(context, work)
            records, unknown = named(tuple(context["params"]["nodes"]), work)
        if unknown:
            raise AirflowFailException(" ".join(unknown))
        return [record.node.name for record in records]
