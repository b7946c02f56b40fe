"""A software TPM per node: attestation key, measured boot, quotes that plain ``cryptography`` verifies.

Only what a quote needs is modelled: PCRs of the sha256 bank replayed from the node's measured
boot, the TPMS_ATTEST structure, an ECDSA P-256 signature and a key certificate of the lab's TPM
vendor. Structures follow TCG TPM 2.0 Library Part 2; no TPM command protocol is spoken.

``ensure_authority`` and ``ensure_node`` make the files; they import ``cryptography`` when called,
so that tools that only read the event log stay light.
"""

from __future__ import annotations

from pathlib import Path


def ensure_authority(state_dir: Path) -> Path:
    """Create the TPM vendor's authority once; returns its certificate, ``<state_dir>/tpm-ca.pem``."""
    from lab.tpm.authority import ensure_authority as create

    return create(state_dir)


def ensure_node(node_dir: Path, serial: str, state_dir: Path | None = None) -> Path:
    """Create a node's attestation key and certificate once, in ``<node_dir>/tpm``; returns that folder.

    ``serial`` is the chassis serial in the certificate's subject. A changed serial (another
    chassis) gets a new key. ``state_dir`` is the authority's folder, ``node_dir/../..`` by default.
    """
    from lab.tpm.authority import ensure_node as create

    return create(node_dir, serial, state_dir or node_dir.parent.parent)
