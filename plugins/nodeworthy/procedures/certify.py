"""Certify: a node with both scopes qualified gets a signed certificate, valid no longer than what it stands on.

Nothing in a certificate is the time of signing: it begins when the later scope was granted, so certifying again after
a crash gives the same bytes and the ledger's record of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from nodeworthy.errors import Refused
from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.evidence.certificate import certificate_body, signed
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Signer, Work


def certify(lease: Lease, node: FleetNode, work: Work, signer: Signer) -> EvidenceReference:
    """Sign, store and record the node's certificate. Re-entrant. Refused while a scope is not qualified."""
    qualifications = _newest(node, work)
    dossiers = [json.loads(work.store.get(one.dossier)) for one in qualifications.values()]
    issued_at = max(one.granted_at for one in qualifications.values())
    ends = [one.expires_at for one in qualifications.values()]
    expires_at = min([*ends, issued_at + work.library.policy(node.pool)["validity"]["certificate"]])
    about = {
        "node": node.name,
        "serial": node.serial,
        "sku": node.sku,
        "episode": lease.episode,
        "simulated": any(dossier["simulated"] for dossier in dossiers),
    }
    body = certificate_body(about, qualifications, expires_at, signer.key_id)
    content = canonical_json(signed(body, signer.sign))
    reference = work.store.put(
        f"nodes/{node.serial}/{lease.episode}/certificate-{sha256_hex(content)[:12]}.json", content
    )
    work.ledger.record_certificate(lease, reference, expires_at)
    work.say(
        f"{node.name} has a certificate by key {signer.key_id}, valid until {expires_at:%Y-%m-%d %H:%M} UTC: "
        f"{reference.path}."
    )
    return reference


def _newest(node: FleetNode, work: Work) -> Mapping[str, Qualification]:
    found: dict[str, Qualification] = {}
    for one in work.ledger.qualifications(node.name):
        known = found.get(one.scope.value)
        if known is None or one.granted_at >= known.granted_at:
            found[one.scope.value] = one
    lacking = [scope.value for scope in Scope if scope.value not in found]
    if lacking:
        raise Refused(
            f"{node.name} gets no certificate: its {' and '.join(lacking)} scope is not qualified; test it first."
        )
    return found
