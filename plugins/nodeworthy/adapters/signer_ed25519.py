"""Signs and checks certificates with Ed25519 (RFC 8032). The private key stays inside the signer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

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


class Ed25519Keys:
    """The public keys that a reader trusts, by id, without those that were revoked."""

    def __init__(self, public_keys: Mapping[str, bytes], revoked: Collection[str] = ()) -> None:
        self._keys = {key_id: key for key_id, key in public_keys.items() if key_id not in revoked}

    def check(self, key_id: str, content: bytes, signature: bytes) -> bool:
        """Tell whether the signature fits; False for an unknown or revoked key."""
        key = self._keys.get(key_id)
        if key is None:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
        except InvalidSignature:
            return False
        return True
