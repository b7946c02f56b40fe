"""Write the connections and the operator's password where compose's Airflow reads them: files in the state volume."""

from __future__ import annotations

import json
import os
from pathlib import Path

STATE = Path("/var/lib/nodeworthy")


def main() -> None:
    """Write both files, readable by their owner only."""
    bmc = json.loads((STATE / "lab" / "credentials.json").read_text())
    _write(STATE / "passwords.json", {"operator": os.environ["COMPOSE_OPERATOR_PASSWORD"]})
    _write(
        STATE / "connections.json",
        {
            "nodeworthy_bmc": {"conn_type": "generic", "login": bmc["username"], "password": bmc["password"]},
            "nodeworthy_signing": {
                "conn_type": "generic",
                "login": "compose-key",
                "password": os.environ["COMPOSE_SIGNING_KEY"],
            },
            "kubernetes_default": {
                "conn_type": "kubernetes",
                "extra": {"kube_config_path": str(STATE / "lab" / "kubeconfig"), "namespace": "nodeworthy-tests"},
            },
        },
    )


def _write(path: Path, document: object) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
