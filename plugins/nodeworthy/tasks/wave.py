"""The tasks of a whole wave: choose its nodes, judge its results together, end it.

They are vectorised: one task instance each, whatever the wave's size. Only `finish` is mapped, so that each node has a
last square that is green or red.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from nodeworthy.tasks.steps import for_a_node, lease_of, receipt, run_of, say_reason, sentences


class OpenWave(BaseOperator):
    """Resolves the form's answer to nodes, takes their leases, and returns their names for the mapped steps."""

    def __init__(self, *, episode_kind: str = "onboarding", **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.episode_kind = episode_kind

    def execute(self, context: Context) -> list[str]:
        """Return the names of the nodes that this run works on, in order."""
        from nodeworthy.procedures.open_wave import WaveRequest, open_wave
        from nodeworthy.tasks.steps import LEASE_LIFETIME
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
            lifetime=LEASE_LIFETIME,
            fleet=setting("FLEET", ""),
        )
        with sentences():
            wave = open_wave(request, wiring().work(self.log.info))
        for sentence in wave.left_out:
            self.log.warning("%s", sentence)
        if not wave.nodes:
            raise AirflowFailException(" ".join(wave.left_out) or "The batch names no node that needs this procedure.")
        self.log.info("This run works on %d nodes: %s.", len(wave.nodes), ", ".join(wave.nodes))
        return list(wave.nodes)


class JudgeWave(BaseOperator):
    """Judges all results of the run that wait for it, in one validation."""

    def __init__(self, *, scope: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.scope = scope

    def execute(self, context: Context) -> dict[str, Any]:
        """Return how many results got which verdict."""
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
        self.log.info("Judged %d results: %s.", len(judged), counts or "there was nothing to judge")
        return {"schema": 1, "scope": self.scope, "verdicts": counts}


class FinishNode(BaseOperator):
    """The last square of a node: it enters standby, or turns red with the reason why not."""

    template_fields = ("node",)

    def __init__(self, *, node: str, **kwargs: Any) -> None:
        super().__init__(**for_a_node(kwargs))
        self.node = node

    def execute(self, context: Context) -> Any:
        """Advance the node if all is proven, give its lease back, and say where it stands."""
        from nodeworthy.procedures.finish import finish
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            (record,) = work.ledger.nodes([self.node])
            end = finish(lambda: lease_of(self.node, work, context), record, work)
        self.log.info("%s", end.sentence)
        if end.stopped_by_person:
            raise AirflowSkipException(end.sentence)
        if not end.reached:
            raise AirflowFailException(end.sentence)
        return receipt(self.node, "finish", end.sentence)


class Gate(BaseOperator):
    """Fails the run when any of its nodes did not arrive: a failed run is visible and can be reprocessed."""

    def __init__(self, *, finish: str, wave: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.finish = finish
        self.wave = wave

    def execute(self, context: Context) -> dict[str, Any]:
        """Count from our own record who arrived."""
        from nodeworthy.procedures.finish import arrived, where_it_stands
        from nodeworthy.wiring import wiring

        names: Sequence[str] | None = context["ti"].xcom_pull(task_ids=self.wave)
        if not names:
            raise AirflowFailException("The wave was never opened: see the first task of this run.")
        with sentences():
            work = wiring().work(self.log.info)
            records = work.ledger.nodes(list(names))
        missing = [record for record in records if not arrived(record, work)]
        for record in records:
            self.log.info("%s", where_it_stands(record))
        if missing:
            raise AirflowFailException(
                f"{len(missing)} of {len(records)} nodes did not arrive: {', '.join(r.node.name for r in missing)}. "
                "Their reasons stand above and in their finish tasks; a new run with retry_of goes on with them."
            )
        return {"schema": 1, "arrived": len(records)}


class NamedNodes(BaseOperator):
    """Checks the names that a form gave against the ledger and hands them to the mapped step."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)

    def execute(self, context: Context) -> list[str]:
        """Return the names. Fails with one sentence when one is unknown or named twice."""
        from nodeworthy.procedures.open_wave import named
        from nodeworthy.wiring import wiring

        with sentences():
            records, unknown = named(tuple(context["params"]["nodes"]), wiring().work(self.log.info))
        if unknown:
            raise AirflowFailException(" ".join(unknown))
        return [record.node.name for record in records]
