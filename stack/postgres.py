"""A private PostgreSQL for tests and benchmarks: its own data folder and Unix socket, no network, gone at the end.

PostgreSQL refuses to run as root, so a root process hands it to the `postgres` or `nobody` account.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 30.0


def binaries() -> Path | None:
    """Return the folder of Debian's newest PostgreSQL server, or of one on PATH; None where there is none."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found and shutil.which("initdb") else None


@contextmanager
def server(folder: Path, *, durable: bool = False) -> Iterator[str]:
    """Run a server from the binaries in `folder`; gives the part of its URL behind the database's name.

    Unless it is `durable`, a commit is not kept over a loss of power: tests are quicker, benchmarks would lie.
    """
    with tempfile.TemporaryDirectory(prefix="nodeworthy-pg-", dir="/tmp") as home:
        as_user = _account(home)
        data = f"{home}/data"
        initdb = [str(folder / "initdb"), "-D", data, "-U", "nodeworthy", "--auth=trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(initdb, check=True, capture_output=True, timeout=60, cwd=home, **as_user)
        settings = [f"unix_socket_directories={home}", "listen_addresses=", "max_connections=60"]
        settings += [] if durable else ["fsync=off"]
        options = [word for setting in settings for word in ("-c", setting)]
        with Path(f"{home}/log").open("wb") as log:
            process = subprocess.Popen(
                [str(folder / "postgres"), "-D", data, *options], stdout=log, stderr=log, cwd=home, **as_user
            )
        try:
            _wait_for(Path(f"{home}/.s.PGSQL.5432"), process)
            yield f"?host={home}"
        finally:
            # SIGINT is PostgreSQL's fast shutdown: sessions end, nothing waits for them.
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def _account(home: str) -> Mapping[str, Any]:
    if os.getuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    os.chown(home, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"PostgreSQL did not start: {Path(socket.parent, 'log').read_text()}")
        time.sleep(0.05)
