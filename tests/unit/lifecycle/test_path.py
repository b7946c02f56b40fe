"""The onboarding path as stages for the builder of the bring-up DAG."""

from __future__ import annotations

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import onboarding_stages
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import shipped, small


def test_shipped_path_has_seven_stages() -> None:
    """With the approval between the first two, a bring-up stays within eight tasks per node."""
    names = [stage.name for stage in onboarding_stages(Lifecycle.from_document(shipped()))]
    assert names == ["inspect", "firmware", "boot_validation", "burn_in", "provision", "verify", "finish"]


def test_neighbouring_rows_of_a_stage_are_one_task() -> None:
    """Inspection takes a declared node to conformant in three procedures."""
    inspect = onboarding_stages(Lifecycle.from_document(shipped()))[0]
    assert (inspect.begins, inspect.ends) == ("declared", "conformant")
    assert inspect.procedures == ("discover", "inventory", "conform")
    assert inspect.approval == ""


def test_stages_name_the_scope_that_is_judged_behind_them() -> None:
    """Burn-in is judged for hardware, verification for the platform, nothing else is judged."""
    judged = {s.name: s.judges for s in onboarding_stages(Lifecycle.from_document(shipped())) if s.judges}
    assert judged == {"burn_in": Scope.HARDWARE, "verify": Scope.PLATFORM}


def test_stages_name_their_approval() -> None:
    """Firmware, the validation boot and provisioning stand behind the plan's approval."""
    asked = {s.name: s.approval for s in onboarding_stages(Lifecycle.from_document(shipped())) if s.approval}
    assert asked == {"firmware": "plan", "boot_validation": "plan", "provision": "plan"}


def test_admission_is_no_stage() -> None:
    """The path that the DAG follows ends before the row that lets work in."""
    assert [stage.ends for stage in onboarding_stages(Lifecycle.from_document(small()))] == ["tested", "ready"]


def test_reached_means_here_or_beyond_on_the_path() -> None:
    """A node in trouble has reached nothing of the path."""
    lifecycle = Lifecycle.from_document(shipped())
    assert lifecycle.has_reached("standby", "verified")
    assert lifecycle.has_reached("verified", "verified")
    assert not lifecycle.has_reached("attested", "verified")
    assert not lifecycle.has_reached("quarantined", "declared")
