"""Where a stack keeps its files, which ports it uses and which secrets it made: one folder, one description."""

from __future__ import annotations

import json
import secrets
import socket
from base64 import b64encode, urlsafe_b64encode
from dataclasses import asdict, dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_ROOT = REPOSITORY / ".run"


def free_port() -> int:
    """Return a TCP port on the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Layout:
    """One stack: its folder, ports and secrets. Secrets lie in a file that only its owner reads."""

    root: Path
    airflow_port: int = field(default_factory=free_port)
    worker_log_port: int = field(default_factory=free_port)
    trigger_log_port: int = field(default_factory=free_port)
    password: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    jwt_secret: str = field(default_factory=_secret)
    fernet_key: str = field(default_factory=lambda: urlsafe_b64encode(secrets.token_bytes(32)).decode())
    signing_key: str = field(default_factory=lambda: b64encode(secrets.token_bytes(32)).decode())

    @property
    def airflow_home(self) -> Path:
        """Airflow's own folder: its database and task logs."""
        return self.root / "airflow"

    @property
    def lab(self) -> Path:
        """State of the virtual fleet."""
        return self.root / "lab"

    @property
    def logs(self) -> Path:
        """What the processes of the stack print."""
        return self.root / "logs"

    @property
    def ledger_url(self) -> str:
        """SQLAlchemy URL of the ledger."""
        return f"sqlite:///{self.root / 'ledger.db'}"

    @property
    def evidence(self) -> Path:
        """Folder of the evidence store."""
        return self.root / "evidence"

    @property
    def url(self) -> str:
        """Address of the Airflow UI."""
        return f"http://127.0.0.1:{self.airflow_port}"

    def prepare(self) -> None:
        """Create the folders and write the description down."""
        for folder in (self.airflow_home, self.logs, self.evidence):
            folder.mkdir(parents=True, exist_ok=True)
        description = self.root / "stack.json"
        description.touch(mode=0o600)
        description.write_text(json.dumps({**asdict(self), "root": str(self.root)}, indent=2))

    @classmethod
    def of(cls, root: Path) -> Layout:
        """Return the stack described in `root`, or a new one when there is none."""
        description = root / "stack.json"
        if not description.exists():
            return cls(root)
        return cls(**{**json.loads(description.read_text()), "root": root})
