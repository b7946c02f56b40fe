"""How well a BMC is guarded, as it was read: accounts, clock, certificate, media, host interface, secure boot.

Sources: DMTF DSP0268 (ManagerAccount 1.12 PasswordChangeRequired, Manager 1.19 DateTime, VirtualMedia 1.6 Inserted,
HostInterface 1.3 CredentialBootstrapping, SecureBoot 1.1 SecureBootCurrentBoot, ComputerSystem 1.22 Boot).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BmcGuard:
    """What was read. `gaps` says in words, by check, what could not be."""

    accounts: tuple[str, ...] = ()
    """Enabled accounts whose password is still the one that must be changed, by user name."""
    clock_ahead_seconds: float | None = None
    """How far the BMC's clock is ahead of ours; negative when it is behind."""
    certificate_ends: datetime | None = None
    """When the TLS certificate of this very connection ends; None without TLS."""
    media: tuple[str, ...] = ()
    """Inserted virtual media, by id and image."""
    bootstrapping: tuple[str, ...] = ()
    """Host interfaces that hand BMC credentials to whoever runs on the host."""
    boot_override: str = ""
    """A boot source that every start takes, as `Pxe`; empty where none is left."""
    boot_once: str = ""
    """A boot source that the next start takes."""
    secure_boot: str = ""
    """SecureBootCurrentBoot: Enabled or Disabled; empty where the BMC does not say, or was not asked."""
    gaps: tuple[tuple[str, str], ...] = ()
