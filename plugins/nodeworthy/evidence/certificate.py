"""The certificate: a signed summary of the dossiers that let a node into service, valid for a time.

The signature (Ed25519, RFC 8032) covers the canonical JSON of everything but itself. The certificate names the key by
id; a reader holds the public keys and may refuse one that was revoked. Signing happens behind a port and checking by a
callable, so this floor knows no cryptography.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.records import Qualification

CERTIFICATE_SCHEMA = "nodeworthy.certificate/1"
ALGORITHM = "Ed25519"

CheckSignature = Callable[[str, bytes, bytes], bool]
"""Tells whether (key id, content, signature) fits; False for an unknown or revoked key."""


def certificate_body(
    node: Mapping[str, Any], qualifications: Mapping[str, Qualification], expires_at: datetime, key_id: str
) -> dict[str, Any]:
    """Return the certificate without its signature. `node`: name, serial, sku, episode, simulated. Times in UTC."""
    return {
        "schema": CERTIFICATE_SCHEMA,
        **node,
        "issued_at": max(one.granted_at for one in qualifications.values()).isoformat(),
        "expires_at": expires_at.isoformat(),
        "qualifications": {scope: _qualification(one) for scope, one in sorted(qualifications.items())},
        "key_id": key_id,
        "algorithm": ALGORITHM,
    }


def _qualification(one: Qualification) -> dict[str, Any]:
    return {
        "suite": one.suite,
        "episode": one.episode,
        "firmware_set": one.firmware_set,
        "boot_id": one.boot_id,
        "granted_at": one.granted_at.isoformat(),
        "expires_at": one.expires_at.isoformat(),
        "dossier": {
            "path": one.dossier.path,
            "sha256": one.dossier.sha256,
            "size_bytes": one.dossier.size_bytes,
        },
    }


def signed(body: Mapping[str, Any], sign: Callable[[bytes], bytes]) -> dict[str, Any]:
    """Return the certificate with its signature."""
    return {**body, "signature": base64.b64encode(sign(canonical_json(dict(body)))).decode()}


def problems_of_certificate(certificate: Mapping[str, Any], check: CheckSignature, now: datetime) -> tuple[str, ...]:
    """Return one sentence per reason not to trust a certificate; nothing when it holds at `now` (aware UTC)."""
    if certificate.get("schema") != CERTIFICATE_SCHEMA or certificate.get("algorithm") != ALGORITHM:
        return (f"This is no {CERTIFICATE_SCHEMA} signed with {ALGORITHM}: it proves nothing.",)
    body = {key: value for key, value in certificate.items() if key != "signature"}
    try:
        signature = base64.b64decode(str(certificate.get("signature", "")), validate=True)
        content = canonical_json(body)
        begins, ends = (datetime.fromisoformat(str(body[key])) for key in ("issued_at", "expires_at"))
        in_time = begins <= now < ends
    except (binascii.Error, ValueError, TypeError, KeyError):
        return ("The certificate is malformed: it proves nothing.",)
    problems = []
    if not check(str(body.get("key_id")), content, signature):
        problems.append(
            f"The signature by key {body.get('key_id')} does not fit: the certificate was changed, or the key is "
            "unknown or revoked."
        )
    if not in_time:
        problems.append(f"The certificate is valid from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC, not now.")
    return tuple(problems)
