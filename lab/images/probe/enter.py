"""Entry point of the lab's probe image: lays out the host's files, then becomes the probe.

On a real node the pod mounts these files from the host; here they are written from the node
view, and the probe is told where they are by the same variables that a pod would use.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parents[3]
_VIEW = "NODEWORTHY_LAB_VIEW"
_EVENT_LOG = "NODEWORTHY_EVENT_LOG_FILE"


def main() -> None:
    """Write the files, set the variables, run the probe in this process's place."""
    view_path = Path(os.environ.get(_VIEW) or "/run/nodeworthy-lab/view.json")
    view = json.loads(view_path.read_text("utf-8"))
    host = Path(tempfile.mkdtemp(prefix="nodeworthy-host-"))
    environment = {**os.environ, **_host_files(view, host), **_image(view_path)}
    os.execve(sys.executable, [sys.executable, "-m", "nodeworthy_probe", *sys.argv[1:]], environment)


def _host_files(view: dict[str, Any], host: Path) -> dict[str, str]:
    image = view.get("image") or {}
    contents = {
        "NODEWORTHY_BOOT_ID_FILE": view["boot_id"],
        "NODEWORTHY_MACHINE_ID_FILE": view["machine_id"],
        "NODEWORTHY_SERIAL_FILE": view["serial"],
        "NODEWORTHY_IMAGE_FILE": image.get("name"),
        "NODEWORTHY_KERNEL_RELEASE_FILE": image.get("kernel"),
    }
    for name, content in contents.items():
        (host / name).write_text(f"{content}\n" if content else "", "utf-8")
    sys.path.insert(0, str(_REPOSITORY))
    from lab.tools import host_files
    from lab.tpm.event_log import write

    (host / _EVENT_LOG).write_bytes(write(view.get("tpm", {}).get("events", [])))
    mounted = frozenset(place for place in (host_files.PROC, host_files.LOGS, host_files.SYS) if _is_mounted(place))
    host_files.write(host / "root", view, mounted)
    return {name: str(host / name) for name in (*contents, _EVENT_LOG)} | {"NODEWORTHY_HOST_ROOT": str(host / "root")}


def _is_mounted(place: str) -> bool:
    """Whether the pod mounts this folder of its host; a test without a pod says so by a variable."""
    return Path(place).is_dir() or place in os.environ.get("NODEWORTHY_LAB_MOUNTED", "").split(",")


def _image(view_path: Path) -> dict[str, str]:
    """What the image and the pod's mounts would provide."""
    here = _REPOSITORY / "lab" / "images" / "probe"
    folder = view_path.parent
    return {
        _VIEW: str(view_path),
        "NODEWORTHY_SIMULATED": "true",
        "NODEWORTHY_LAB_PYTHON": sys.executable,
        "NODEWORTHY_KERNEL_LOG": str(folder / "kmsg"),
        "NODEWORTHY_IAK_CERTIFICATE_FILE": str(folder / "tpm" / "iak.pem"),
        "NODEWORTHY_TPM_KEY": str(folder / "tpm" / "iak.key"),
        "PATH": f"{here / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "PYTHONPATH": f"{here / 'site'}:{_REPOSITORY / 'probe'}",
    }


if __name__ == "__main__":
    main()
