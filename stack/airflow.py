"""Airflow's four components for one stack: their environment, their database, their start and their health."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from stack.layout import REPOSITORY, Layout
from stack.processes import Groups
from stack.rest import AirflowApi

COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
HEALTHY_PATIENCE_SECONDS = 240.0
USER = "operator"


def shipped_settings() -> dict[str, str]:
    """Return the settings that we ship for Airflow (`stack/airflow.env`)."""
    lines = (REPOSITORY / "stack" / "airflow.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def environment(layout: Layout, **overrides: str) -> dict[str, str]:
    """Return the environment in which every component of this stack runs."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ", "TMPDIR") if name in os.environ}
    bin_folder = str(Path(sys.executable).parent)
    return {
        **inherited,
        "PATH": f"{bin_folder}{os.pathsep}{inherited.get('PATH', os.defpath)}",
        **shipped_settings(),
        **_addresses(layout),
        **_connections(layout),
        **overrides,
    }


def _addresses(layout: Layout) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(layout.airflow_home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS": "stack.database.CONNECT_ARGUMENTS",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS_ASYNC": "stack.database.ASYNC_CONNECT_ARGUMENTS",
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "AIRFLOW__CORE__FERNET_KEY": layout.fernet_key,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{layout.url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(layout.airflow_home / "passwords.json"),
        "AIRFLOW__API__BASE_URL": layout.url,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(layout.airflow_port),
        "AIRFLOW__API_AUTH__JWT_SECRET": layout.jwt_secret,
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(layout.worker_log_port),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(layout.trigger_log_port),
        "NODEWORTHY_LEDGER_URL": layout.ledger_url,
        "NODEWORTHY_EVIDENCE": layout.evidence.as_uri(),
        "NODEWORTHY_FLEET": str(layout.lab / "fleet.yaml"),
        "NODEWORTHY_TPM_ROOTS": str(layout.lab / "tpm-ca.pem"),
        "NODEWORTHY_SPDM_ROOTS": str(layout.lab / "spdm-ca.pem"),
        "NODEWORTHY_GOLDEN": str(layout.lab / "golden-measurements.json"),
    }


def _connections(layout: Layout) -> dict[str, str]:
    """Return the connections as environment variables: a secret reaches no process arguments, logs or database."""
    connections = {
        "KUBERNETES_DEFAULT": {
            "conn_type": "kubernetes",
            "extra": {"kube_config_path": str(layout.lab / "kubeconfig"), "namespace": "nodeworthy-tests"},
        },
        "NODEWORTHY_SIGNING": {"conn_type": "generic", "login": "demo-key", "password": layout.signing_key},
    }
    credentials = layout.lab / "credentials.json"
    if credentials.exists():
        bmc = json.loads(credentials.read_text())
        connections["NODEWORTHY_BMC"] = {
            "conn_type": "generic", "login": bmc["username"], "password": bmc["password"],
        }  # fmt: skip
    return {f"AIRFLOW_CONN_{name}": json.dumps(value) for name, value in connections.items()}


def migrate(layout: Layout, env: Mapping[str, str]) -> None:
    """Bring Airflow's database to the installed version and write the operator's password down."""
    passwords = layout.airflow_home / "passwords.json"
    passwords.touch(mode=0o600)
    passwords.write_text(json.dumps({USER: layout.password}))
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    result = subprocess.run(command, env=dict(env), cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"Airflow's database could not be migrated:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


API_SERVERS_OWN = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS": "stack.database.API_CONNECT_ARGUMENTS"}


def start(groups: Groups, env: Mapping[str, str]) -> None:
    """Start the four components, each in a process group of its own."""
    for component in COMPONENTS:
        own = API_SERVERS_OWN if component == "api-server" else {}
        command = [sys.executable, "-m", "airflow", component]
        groups.start(component, command, environment={**env, **own}, folder=REPOSITORY)


def wait_until_healthy(layout: Layout, groups: Groups) -> AirflowApi:
    """Return the API once all four components are healthy; SystemExit with the culprit's last lines when one dies."""
    api = AirflowApi(layout.url, USER, layout.password)
    deadline = time.monotonic() + HEALTHY_PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for group in groups.all():
            if not group.alive():
                raise SystemExit(f"{group.name} ended while it started; its last lines:\n{groups.log_tail(group.name)}")
        if api.healthy():
            return api
        time.sleep(0.5)
    raise SystemExit(f"Airflow was not healthy after {HEALTHY_PATIENCE_SECONDS:.0f} s; see {layout.logs}")
