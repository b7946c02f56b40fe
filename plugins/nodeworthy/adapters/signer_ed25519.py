"""Signs and checks certificates and checkpoints with Ed25519 (RFC 8032). The private key stays inside the signer."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from nodeworthy.errors import Permanent

SEED_BYTES = 32


class Ed25519Signer:
    """Implements `ports.Signer` with a raw private key of 32 bytes."""

    def __init__(self, key_id: str, private_key: bytes) -> None:
        if not key_id or len(private_key) != SEED_BYTES:
            raise Permanent(
                "The signing key needs an id and 32 bytes: put the id into the connection's login and the base64 of "
                "the raw Ed25519 private key into its password."
            )
        self.key_id = key_id
        self._key = Ed25519PrivateKey.from_private_bytes(private_key)

    def sign(self, content: bytes) -> bytes:
        """Return the signature, 64 bytes; the same content gives the same signature."""
        return self._key.sign(content)

    def public_key(self) -> bytes:
        """Return the raw public key, 32 bytes, for those who check certificates."""
        return self._key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    def __repr__(self) -> str:
        return f"Ed25519Signer({self.key_id!r})"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One public key, 32 raw bytes, and between which times (aware UTC) it signed; None where nobody said."""

    raw: bytes
    begins: datetime | None = None
    ends: datetime | None = None


class Ed25519Keys:
    """The public keys that a reader trusts, by id, without those that were revoked. Implements `KeyRing`."""

    def __init__(self, public_keys: Mapping[str, bytes | PublicKey], revoked: Collection[str] = ()) -> None:
        self._keys = {name: PublicKey(key) if isinstance(key, bytes) else key for name, key in public_keys.items()}
        self._revoked = frozenset(revoked)

    def check(self, key_id: str, content: bytes, signature: bytes) -> bool:
        """Tell whether the signature fits; False for an unknown or revoked key."""
        key = self._keys.get(key_id)
        return key is not None and key_id not in self._revoked and _fits(key, content, signature)

    def problem(self, key_id: str, content: bytes, signature: bytes, at: datetime) -> str:
        """Return why a signature of that time proves nothing; empty when it fits."""
        if key_id in self._revoked:
            return f"the key {key_id} was revoked: nothing that it signed proves anything"
        key = self._keys.get(key_id)
        if key is None:
            known = ", ".join(sorted(self._keys)) or "none"
            return f"the key {key_id} is unknown (known: {known}): add its public key to the file of keys"
        if (key.begins and at < key.begins) or (key.ends and at >= key.ends):
            return f"the key {key_id} was not in use at {at:%Y-%m-%d %H:%M} UTC"
        if not _fits(key, content, signature):
            return f"the signature by key {key_id} does not fit, it was changed or forged"
        return ""

    def joined(self, key_id: str, public_key: bytes) -> Ed25519Keys:
        """Return these keys and one more. Permanent when another key has its id: a new key needs a new id."""
        known = self._keys.get(key_id)
        if known is not None and known.raw != public_key:
            raise Permanent(f"Two signing keys have the id {key_id}: give the new one an id of its own.")
        return Ed25519Keys({**self._keys, key_id: known or PublicKey(public_key)}, self._revoked)

    def document(self) -> dict[str, Any]:
        """Return the keys in the form of their file."""
        return {"keys": {name: _row(key) for name, key in sorted(self._keys.items())}, "revoked": sorted(self._revoked)}


def read_keys(path: Path) -> Ed25519Keys:
    """Read a file of public keys (docs/operate.md tells its form). Permanent when it is missing or wrong."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        keys = {str(name): _public_key(name, row) for name, row in document["keys"].items()}
        revoked = [str(name) for name in document.get("revoked", ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Permanent(f"{path} is no file of public keys ({error}): see docs/operate.md for its form.") from error
    return Ed25519Keys(keys, revoked)


def _public_key(name: str, row: str | Mapping[str, str]) -> PublicKey:
    """Read one key: the base64 of its 32 raw bytes, or that as `public_key` with the times `from` and `until`."""
    fields = {"public_key": row} if isinstance(row, str) else row
    raw = base64.b64decode(fields["public_key"], validate=True)
    if len(raw) != SEED_BYTES:
        raise ValueError(f"the key {name} has {len(raw)} bytes, not {SEED_BYTES}")
    begins, ends = (datetime.fromisoformat(fields[key]) if key in fields else None for key in ("from", "until"))
    if any(time is not None and time.tzinfo is None for time in (begins, ends)):
        raise ValueError(f"a time of the key {name} has no zone: write 2026-12-01T00:00:00+00:00")
    return PublicKey(raw, begins, ends)


def _row(key: PublicKey) -> str | dict[str, str]:
    raw = base64.b64encode(key.raw).decode()
    times = {name: time.isoformat() for name, time in (("from", key.begins), ("until", key.ends)) if time is not None}
    return {"public_key": raw, **times} if times else raw


def _fits(key: PublicKey, content: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, content)
    except InvalidSignature:
        return False
    return True
