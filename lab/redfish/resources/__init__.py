"""The resources of a BMC by area; importing a module registers its routes."""

import importlib

_MODULES = (
    "service",
    "systems",
    "processors",
    "hardware",
    "network",
    "chassis",
    "cooling",
    "fabrics",
    "managers",
    "update",
    "tasks",
    "events",
    "logs",
    "integrity",
)


def load() -> None:
    """Register every resource."""
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}")
