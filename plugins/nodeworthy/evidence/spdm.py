"""What a component's root of trust signed about itself, as its BMC hands it on.

Source: DMTF DSP0268, ComponentIntegrity 1.2 (action SPDMGetSignedMeasurements and its response).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignedMeasurements:
    """One component's answer, still unproven. Exactly one of `statement`, `task` and `lack` is set."""

    component: str
    statement: str = ""
    """SignedMeasurements: the SPDM messages in base64, the signature at their end."""
    signing_algorithm: str = ""
    hashing_algorithm: str = ""
    certificates_pem: str = ""
    task: str = ""
    """The task's URI while the BMC still asks the component."""
    lack: str = ""
    """Why there is none, in words: the BMC does not list the component, or offers no signed measurements of it."""
