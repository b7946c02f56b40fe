"""An Airflow DAG of bring-up's shape whose tasks do nothing: what the engine alone costs.

With `waits`, the four tasks that wait in a bring-up are deferred once, to a moment that has come already.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import DAG, BaseOperator, Context, Param, chain, task_group

HARDWARE = ("inspect", "approve", "firmware", "boot_validation", "burn_in")
PLATFORM = ("provision", "verify")
WAITING = frozenset({"boot_validation", "burn_in", "provision", "verify"})


class Nothing(BaseOperator):
    """Does nothing, once or around a wait."""

    template_fields = ("node",)

    def __init__(self, *, node: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.node = node

    def execute(self, context: Context, event: Any = None) -> Any:
        """Return nothing."""
        if event is None and context["params"]["waits"] and self.task_id.rsplit(".", 1)[-1] in WAITING:
            self.defer(trigger=DateTimeTrigger(datetime(2026, 1, 1, tzinfo=UTC)), method_name="execute")
        return None


class Names(BaseOperator):
    """Returns as many names as the run asks for."""

    def execute(self, context: Context) -> list[str]:
        """Return the names."""
        return [f"node-{number:04d}" for number in range(int(context["params"]["nodes"]))]


with DAG(
    "empty_wave", schedule=None, params={"nodes": Param(8, type="integer"), "waits": Param(False, type="boolean")}
) as dag:
    names = Names(task_id="open_wave")

    @task_group(group_id="prove_hardware")
    def hardware(node: str) -> None:
        """The first five steps."""
        chain(*(Nothing(task_id=name, node=node, retries=2, retry_delay=timedelta(seconds=20)) for name in HARDWARE))

    @task_group(group_id="prove_platform")
    def platform(node: str) -> None:
        """The next two."""
        chain(*(Nothing(task_id=name, node=node, retries=2, retry_delay=timedelta(seconds=20)) for name in PLATFORM))

    first = hardware.expand(node=names.output)
    second = platform.expand(node=names.output)
    finish = Nothing.partial(task_id="finish").expand(node=names.output)
    chain(
        first,
        Nothing(task_id="judge_hardware"),
        second,
        Nothing(task_id="judge_platform"),
        finish,
        Nothing(task_id="gate"),
    )
