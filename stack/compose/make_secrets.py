"""Make the secrets that compose needs, once: `.run/compose.env`, readable by its owner only. Standard library alone."""

from __future__ import annotations

import secrets
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / ".run" / "compose.env"


def main() -> None:
    """Write the file unless it is there."""
    if TARGET.exists():
        print(f"{TARGET} is there already and was left alone.")
        return
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.touch(mode=0o600)
    password = secrets.token_urlsafe(9)
    TARGET.write_text(
        f"AIRFLOW__CORE__FERNET_KEY={urlsafe_b64encode(secrets.token_bytes(32)).decode()}\n"
        f"AIRFLOW__API_AUTH__JWT_SECRET={secrets.token_urlsafe(32)}\n"
        f"COMPOSE_OPERATOR_PASSWORD={password}\n"
        f"COMPOSE_SIGNING_KEY={b64encode(secrets.token_bytes(32)).decode()}\n"
    )
    print(f"Wrote {TARGET}; log in to http://127.0.0.1:8080 as operator with the password that stands there.")


if __name__ == "__main__":
    main()
