"""The trigger form: what its schema refuses is refused there, before a run exists."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError
from nodeworthy.tasks import admit, bring_up


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodes", []),
        ("nodes", ["gpu-a01", "n2.rack-7.example"]),
        ("rack", "A1"),
        ("batch", ""),
        # What Airflow's form sends for a question that was left open.
        ("nodes", None),
        ("rack", None),
        ("retry_of", None),
        ("level", "l1"),
        ("approve_risky_steps", True),
    ],
)
def test_a_sensible_answer_is_taken_as_it_is(name: str, value: Any) -> None:
    """Names, racks, batches, levels and yes or no pass unchanged."""
    assert bring_up.PARAMS[name].resolve(value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodes", "gpu-a01"),
        ("nodes", ["GPU A01"]),
        ("nodes", ["gpu-a01; rm -rf"]),
        ("nodes", [""]),
        ("nodes", [7]),
        ("level", "l9"),
        ("approve_risky_steps", "yes"),
        ("rack", 3),
    ],
)
def test_an_answer_that_cannot_be_meant_is_refused(name: str, value: Any) -> None:
    """A string instead of a list, a name no node can have, an unknown level: the form says no."""
    with pytest.raises(ParamValidationError):
        bring_up.PARAMS[name].resolve(value)


def test_every_question_has_a_title_an_explanation_and_a_section() -> None:
    """An operator reads the form, not the code."""
    for name, param in bring_up.PARAMS.items():
        assert param.schema["title"], name
        assert param.description, name
        assert param.schema["section"] in ("Which nodes", "How"), name


@pytest.mark.parametrize("value", [[], "gpu-a01", [""], ["n"] * 257])
def test_an_admission_names_its_nodes(value: Any) -> None:
    """Admission is never meant for "all": at least one name, at most a wave."""
    with pytest.raises(ParamValidationError):
        admit.PARAMS["nodes"].resolve(value)
