"""ComponentIntegrity: the components whose roots of trust sign what they run, their certificates, and the action."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.routes import Answer, Context, Document, get, post
from lab.spdm import authority, responder
from lab.truth.platforms import SpdmComponent

_ACTION = "ComponentIntegrity.SPDMGetSignedMeasurements"
_OLD_NONCE = hashlib.sha256(b"nodeworthy-lab:a nonce of an earlier statement").digest()
_NONCE_BYTES = 32


@get("ComponentIntegrity")
def components(context: Context) -> Document:
    """Every component that can sign."""
    return collection(context.path, "ComponentIntegrity", context.platform.spdm)


@get("ComponentIntegrity/{component}")
def component(context: Context, component: str) -> Document:
    """One component and how it is asked."""
    row = _component(context, component)
    target = f"{ROOT}{context.path}/Actions/{_ACTION}"
    certificate = {"ComponentCertificate": link(f"Chassis/{component}/Certificates/CertChain")}
    return resource(
        context.path,
        "ComponentIntegrity.v1_2_2",
        f"Integrity of {component}",
        ComponentIntegrityType="SPDM",
        ComponentIntegrityTypeVersion=f"{row.version}.0",
        ComponentIntegrityEnabled=True,
        TargetComponentURI=f"{ROOT}Chassis/{component}",
        SPDM={"IdentityAuthentication": {"ResponderAuthentication": certificate}},
        Status=OK,
        Actions={f"#{_ACTION}": {"target": target}},
    )


@get("Chassis/{component}/Certificates/CertChain")
def certificate(context: Context, component: str) -> Document:
    """The component's certificate with its vendor's root."""
    _component(context, component)
    node = context.node
    return resource(
        context.path,
        "Certificate.v1_8_0",
        f"{component} Certificate Chain",
        CertificateString=authority.device_chain(node.seed, node.name, component, context.world.state_dir),
        CertificateType="PEMchain",
        CertificateUsageTypes=["Device"],
        SPDM={"SlotId": 0},
    )


@post(f"ComponentIntegrity/{{component}}/Actions/{_ACTION}")
def sign(context: Context, component: str) -> Answer:
    """Sign the measurements and the nonce; it changes nothing, so it is no effect."""
    row = _component(context, component)
    nonce = _nonce(context.body.get("Nonce"))
    if _wrong(context, "silent", component):
        text = f"The component {component} did not answer the SPDM request."
        raise errors.RedfishError(500, "InternalError", text)
    node = context.node
    key = authority.device_key(node.seed, node.name, component)
    if _wrong(context, "key", component):
        key = ec.generate_private_key(ec.SECP384R1())
    if _wrong(context, "nonce", component):
        nonce = _OLD_NONCE
    changed = _wrong(context, "measurement", component)
    version = "changed" if changed else node.firmware.version(row.firmware)
    signed = responder.statement(key, row.version, nonce, responder.measurements(row.firmware, version))
    return Answer(
        200,
        {
            "Version": f"{row.version}.0",
            "SigningAlgorithm": responder.SIGNING_ALGORITHM,
            "HashingAlgorithm": responder.HASHING_ALGORITHM,
            "SignedMeasurements": base64.b64encode(signed).decode(),
            "Certificate": link(f"Chassis/{component}/Certificates/CertChain"),
        },
    )


def _component(context: Context, component: str) -> SpdmComponent:
    row = context.platform.spdm.get(component)
    if row is None:
        raise errors.not_found(ROOT + context.path)
    return row


def _nonce(value: Any) -> bytes:
    try:
        nonce = bytes.fromhex(str(value))
    except ValueError:
        nonce = b""
    if len(nonce) != _NONCE_BYTES:
        raise errors.bad_value("Nonce", value, ["64 hexadecimal digits"])
    return nonce


def _wrong(context: Context, how: str, component: str) -> bool:
    fault = context.world.faults.find(context.node.name, "spdm-wrong")
    return fault is not None and (fault.parameters["how"], fault.parameters["component"]) == (how, component)
