"""A whole stack: the virtual fleet, the ledger and Airflow, brought up and taken down together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from stack import airflow
from stack.layout import REPOSITORY, Layout
from stack.processes import Groups
from stack.rest import AirflowApi


class Stack:
    """One stack below one folder."""

    def __init__(self, root: Path, **airflow_settings: str) -> None:
        self.layout = Layout.of(root)
        self.groups = Groups(root, self.layout.logs)
        self._settings = airflow_settings

    def up(self, *, fleet: str = "demo", speed: float = 60.0, nodes: int | None = None) -> AirflowApi:
        """Start the lab and Airflow, and return Airflow's API once everything is healthy."""
        self.layout.prepare()
        self.start_lab(fleet=fleet, speed=speed, nodes=nodes)
        env = self.environment()
        self.nodeworthy("ledger", "upgrade")
        airflow.migrate(self.layout, env)
        airflow.start(self.groups, env)
        return airflow.wait_until_healthy(self.layout, self.groups)

    def start_lab(self, *, fleet: str = "demo", speed: float = 60.0, nodes: int | None = None) -> None:
        """Start the virtual fleet alone."""
        size = ["--nodes", str(nodes)] if nodes else ["--fleet", fleet]
        self.lab("up", *size, "--speed", str(speed), "--detach")

    def lab(self, *arguments: str) -> str:
        """Run one command of the lab and return what it prints; SystemExit with its sentence when it fails."""
        command = [sys.executable, "-m", "lab", *arguments, "--state", str(self.layout.lab)]
        result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"`lab {' '.join(arguments)}` failed: {(result.stderr or result.stdout).strip()}")
        return result.stdout

    def nodeworthy(self, *arguments: str, user: str = airflow.USER) -> str:
        """Run one command of the product's command line as a user of this stack; return what it prints."""
        command = [sys.executable, "-m", "nodeworthy", *arguments]
        login = {"NODEWORTHY_AIRFLOW_USER": user, "NODEWORTHY_AIRFLOW_PASSWORD": self.password(user)}
        env = {**self.environment(), **login, "PYTHONPATH": str(REPOSITORY / "plugins")}
        result = subprocess.run(command, env=env, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"`nodeworthy {' '.join(arguments)}` failed: {result.stderr.strip()}")
        return result.stdout

    def password(self, user: str) -> str:
        """Return the password of a user of this stack's Airflow, which makes one for each that has none."""
        passwords = self.layout.airflow_home / "passwords.json"
        return str(json.loads(passwords.read_text()).get(user, "")) if passwords.exists() else ""

    def environment(self) -> dict[str, str]:
        """Return the environment of this stack's Airflow processes."""
        return airflow.environment(self.layout, **self._settings)

    def api(self, user: str = airflow.USER) -> AirflowApi:
        """Return a session of a user with this stack's Airflow."""
        return AirflowApi(self.layout.url, user, self.password(user))

    def down(self) -> None:
        """End everything that this stack started."""
        self.groups.stop()
        if (self.layout.lab / "lab.pid").exists():
            self.lab("down")
