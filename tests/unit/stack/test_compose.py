"""The compose file is one that the compose client accepts, and it reads the settings that everything else reads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[3]


def test_every_airflow_service_reads_the_shipped_settings() -> None:
    """The four components and the init step read stack/airflow.env, so that no setting is written twice."""
    services = yaml.safe_load((REPOSITORY / "docker-compose.yaml").read_text())["services"]
    airflow = [name for name, service in services.items() if "env_file" in service]
    assert sorted(airflow) == ["api-server", "dag-processor", "init", "scheduler", "triggerer"]
    assert all("stack/airflow.env" in services[name]["env_file"] for name in airflow)


def _client() -> list[str]:
    """Return the command of an installed compose client, the plugin's or the stand-alone one's."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and subprocess.run([*command, "version"], capture_output=True).returncode == 0:
            return command
    return []


@pytest.mark.skipif(not _client(), reason="no compose client is installed")
def test_the_compose_client_accepts_the_file(tmp_path: Path) -> None:
    """`docker compose config` resolves the file without an engine."""
    for name in ("docker-compose.yaml", "stack/airflow.env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / "compose.env").write_text("A=b\n")
    command = [*_client(), "-f", str(tmp_path / "docker-compose.yaml"), "config", "-q"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
