"""The lifecycle table as a graph: the shipped one is safe, and each way to break one is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
from nodeworthy.errors import Permanent
from nodeworthy.lifecycle import graph
from nodeworthy.lifecycle.rows import Taint
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import SHIPPED, Document, broken, edge, milestone, row, shipped, small

Change = Callable[[Document], None]


def put(table: str, named: dict[str, Any], **values: Any) -> Change:
    """Return a change that overwrites fields of one row."""
    return lambda document: row(document, table, **named).update(values)


def drop(table: str, key: str, **named: Any) -> Change:
    """Return a change that removes a field of one row."""
    return lambda document: row(document, table, **named).pop(key) and None


def add(table: str, new: Document, *edges: Document) -> Change:
    """Return a change that adds a row, and transitions with it."""

    def change(document: Document) -> None:
        document[table].append(new)
        document["transitions"].extend(edges)

    return change


BROKEN: tuple[tuple[str, Change, str], ...] = (
    ("twice", add("milestones", milestone("ready")), "`ready` stands in the table 2 times"),
    ("no start", drop("milestones", "initial", name="fresh"), "Exactly one milestone must be `initial: true`"),
    ("unknown end", add("transitions", edge("broken", "lose", "nowhere")), "names the milestone `nowhere`"),
    (
        "unknown guard",
        put("transitions", {"event": "retest"}, guards=["moon_is_full"]),
        "`broken -retest-> fresh` names the guard `moon_is_full`",
    ),
    ("unknown void", put("transitions", {"event": "retest"}, voids=["luck"]), "voids `luck`"),
    ("two ways", add("transitions", edge("broken", "retest", "gone")), "Event `retest` leads from `broken` to 2"),
    ("unreachable", add("milestones", milestone("island")), "Milestone `island` cannot be reached"),
    (
        "reachable on paper only",
        add(
            "milestones",
            milestone("cellar"),
            edge("fresh", "dig", "cellar", guards=["platform_qualified"]),
            edge("cellar", "climb", "fresh"),
        ),
        "Milestone `cellar` cannot be reached",
    ),
    (
        "dead end",
        add("milestones", milestone("trap"), edge("fresh", "fall", "trap")),
        "`trap` cannot be left",
    ),
    ("final with a way out", add("transitions", edge("gone", "rise", "fresh")), "`gone` is final and has a way out"),
    (
        "no deadline",
        put("milestones", {"name": "tested"}, deadline="never"),
        "`tested` has no deadline and no `because`",
    ),
    (
        "deadline to nowhere",
        put("milestones", {"name": "tested"}, at_deadline="fail"),
        "`tested` ends its deadline with `fail`, an event that does not leave it",
    ),
    (
        "interrupted to nowhere",
        put("milestones", {"name": "ready"}, if_interrupted="interrupt"),
        "`ready` is interrupted by `interrupt`, an event that does not leave it",
    ),
    (
        "interruption refused",
        put("transitions", {"event": "interrupt"}, guards=["automation_allowed"]),
        "`tested -interrupt-> fresh` follows an interruption and has guards",
    ),
    (
        "unapproved risk",
        drop("transitions", "approval", event="retire"),
        "`broken -retire-> gone` has the risk `final`",
    ),
    ("high without approval", drop("transitions", "approval", event="admit"), "`ready -admit-> serving` has the risk"),
    (
        "approval that nobody asks for",
        put("transitions", {"event": "retire"}, guards=["automation_allowed"]),
        "`broken -retire-> gone` has the risk `final` and no guard that asks for its approval: add action_approved",
    ),
    (
        "granted unasked",
        put("transitions", {"event": "test"}, guards=[]),
        "`fresh -test-> tested` grants hardware without the guard",
    ),
    (
        "open door",
        put("milestones", {"name": "broken"}, projection={"taints": [], "labels": {}}),
        "`broken` is not schedulable and its projection has no NoSchedule taint",
    ),
    (
        "closed service",
        put("milestones", {"name": "serving"}, projection={"taints": ["a.b/c:NoExecute"], "labels": {}}),
        "`serving` is schedulable and its projection keeps pods out",
    ),
    (
        "service without platform",
        put("transitions", {"event": "admit"}, guards=["hardware_qualified"]),
        "`ready -admit-> serving` lets a node into service without a valid platform qualification",
    ),
    (
        "service by the back door",
        add("transitions", edge("broken", "pardon", "serving")),
        "`broken -pardon-> serving` lets a node into service without a valid hardware and platform",
    ),
    (
        "voided on the threshold",
        put("transitions", {"event": "admit"}, voids=["platform"]),
        "`ready -admit-> serving` lets a node into service without a valid platform",
    ),
    (
        "born in service",
        lambda d: row(d, "milestones", name="fresh").update(schedulable=True, projection={"taints": [], "labels": {}}),
        "The initial milestone is schedulable",
    ),
    (
        "forked path",
        add("transitions", edge("fresh", "skip", "ready", stage="skip")),
        "Milestone `fresh` has 2 transitions with a stage",
    ),
    ("broken path", drop("transitions", "stage", event="image"), "are not one chain from the initial milestone"),
    ("misspelt field", put("milestones", {"name": "ready"}, dedline="P1D"), "`ready` has the unknown field `dedline`"),
    ("missing field", drop("milestones", "meaning", name="ready"), "Milestone `ready` lacks `meaning`"),
    ("missing risk", drop("transitions", "risk", event="retest"), "`broken -retest-> fresh` lacks `risk`"),
    ("unknown risk", put("transitions", {"event": "retest"}, risk="mild"), "has a word that the table does not know"),
    ("no duration", put("milestones", {"name": "ready"}, deadline="2 days"), "`ready` has the deadline `2 days`"),
    ("months", put("milestones", {"name": "ready"}, deadline="P1M"), "`ready` has the deadline `P1M`"),
    ("no time at all", put("milestones", {"name": "ready"}, deadline="PT0S"), "`ready` has the deadline `PT0S`"),
    ("a word for a list", put("transitions", {"event": "retest"}, voids="hardware"), "write a list"),
    ("no truth", put("milestones", {"name": "ready"}, schedulable="no"), "write true or false"),
    (
        "half a taint",
        put("milestones", {"name": "ready"}, projection={"taints": ["a.b/c"], "labels": {}}),
        "`ready` has the taint `a.b/c`",
    ),
    ("another schema", lambda d: d.update(schema="nodeworthy.lifecycle/2"), "has the schema `nodeworthy.lifecycle/2`"),
    ("no rows", lambda d: d.update(transitions=[]), "has no `transitions`"),
)


def test_shipped_table_is_safe() -> None:
    """The default lifecycle passes every check."""
    lifecycle = Lifecycle.from_document(shipped())
    assert graph.problems(lifecycle.milestones, lifecycle.transitions) == ()


def test_small_table_is_safe() -> None:
    """The table that the broken ones are made from is safe itself."""
    assert Lifecycle.from_document(small()).initial == "fresh"


@pytest.mark.parametrize(("change", "sentence"), [pytest.param(c, s, id=name) for name, c, s in BROKEN])
def test_unsafe_table_is_refused_by_name(change: Change, sentence: str) -> None:
    """Each unsafe or misspelt table is refused with a sentence that names the row."""
    with pytest.raises(Permanent) as refusal:
        Lifecycle.from_document(broken(change))
    assert sentence in refusal.value.sentence


def test_every_check_has_a_broken_table() -> None:
    """No graph check is without a table that fails it alone: removing the check would be noticed."""
    failing = {check.__name__: False for check in graph.CHECKS}
    for _name, change, _sentence in BROKEN:
        try:
            document = broken(change)
            milestones, transitions = _unchecked(document)
        except Permanent:
            continue
        foundation = [c for c in graph.CHECKS[:3] if any(c(milestones, transitions))]
        for check in foundation or graph.CHECKS:
            failing[check.__name__] |= any(check(milestones, transitions))
    assert all(failing.values()), failing


def test_deadlines_differ_by_sku() -> None:
    """A SKU's own time goes before the default: P3DT12H is 84 hours."""
    deadline = Lifecycle.from_document(small()).milestone("ready").deadline
    assert deadline.of("slow") == timedelta(hours=84)
    assert deadline.of("any other") == timedelta(days=2)


def test_projection_names_the_labels_to_remove() -> None:
    """A milestone's projection removes the labels that only another milestone may carry."""
    projection = Lifecycle.from_document(small()).projection("ready")
    assert projection.taints == (Taint("example.dev/keep-out", "NoSchedule"),)
    assert projection.labels == {"example.dev/serves": None}


def test_only_service_is_open_for_work() -> None:
    """In the shipped table exactly in_service is schedulable, and standby keeps its own taint."""
    lifecycle = Lifecycle.from_document(shipped())
    assert [row.name for row in lifecycle.milestones if row.schedulable] == ["in_service"]
    assert lifecycle.projection("standby").taints == (Taint("nodeworthy.dev/standby", "NoSchedule"),)
    assert lifecycle.projection("in_service").labels == {"nodeworthy.node-restriction.kubernetes.io/qualified": "true"}


def test_operator_may_burn_in_behind_provisioning() -> None:
    """A copy that provisions first and burns in afterwards is accepted, and its path follows it."""
    document = shipped()
    moved = {"provision": ("validation_booted", "provisioned"), "qualify_hardware": ("provisioned", "burned_in")}
    for event, (from_, to) in moved.items():
        row(document, "transitions", event=event).update({"from": from_, "to": to})
    row(document, "transitions", event="provision")["guards"].remove("hardware_qualified")
    row(document, "transitions", event="attest")["from"] = "burned_in"
    order = [row.to for row in Lifecycle.from_document(document).path]
    assert order.index("burned_in") == order.index("provisioned") + 1


def test_schema_describes_the_shipped_table() -> None:
    """The JSON schema accepts the shipped table and refuses a misspelt field."""
    schema = json.loads((SHIPPED.parents[1] / "schemas" / "lifecycle-1.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(shipped())) == []
    wrong = shipped()
    wrong["milestones"][0]["dedline"] = "P1D"
    assert len(list(validator.iter_errors(wrong))) == 1


def _unchecked(document: Any) -> tuple[Any, Any]:
    from nodeworthy.lifecycle import document as reader

    milestones = tuple(reader.milestone(r) for r in reader.rows(document, "milestones"))
    return milestones, tuple(t for r in reader.rows(document, "transitions") for t in reader.transitions(r))
