"""One container's world: its own user, mount and PID namespaces with a private root, built by util-linux.

The private root is a skeleton directory of the container. Into it go, read-only, the host's /usr, the Python prefix
and the repository; and, writable, the container's volumes. All mounts are made by one `mount -a` inside the new
namespaces, so they vanish with the container, need no privilege, and cost about 5 ms. The same works for an ordinary
user wherever unprivileged user namespaces are allowed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
TOOLS = ("setpriv", "unshare", "nsenter", "mount", "chroot", "sh", "env")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_ETC_MOUNTED = ("alternatives", "ssl", "ld.so.cache", "ca-certificates")
_ETC_COPIED = ("nsswitch.conf", "resolv.conf", "localtime", "services", "protocols", "mime.types")
_DIRECTORIES = (
    "usr",
    "etc",
    "proc",
    "sys",
    "dev",
    "dev/shm",
    "tmp",
    "run",
    "var/tmp",
    "var/log",
    "root",
    "home",
    "mnt",
    "opt",
)
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_HIDDEN = (".git", ".run")

# The subshell is process 1 of the new namespace. It tells through its standard input (a pipe) that everything is
# mounted, then becomes the container's command. The outer shell only passes on how that ended: `unshare --fork` of
# util-linux 2.38 loses the signal that ended its child.
_SCRIPT = """exec 4>&2 2>/dev/null
( exec 2>&4 4>&-
"$1" -a -T "$2" || exit 125
echo ok >&0
root=$3 setpriv=$4 chroot=$5 wd=$6; shift 6
exec "$setpriv" --pdeathsig KILL "$chroot" "$root" /usr/bin/env --default-signal --chdir="$wd" "$@" </dev/null
)
exit $?"""


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount inside the container; `target` is the path that its processes see."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(slots=True)
class Root:
    """What a container sees besides the common parts: files with their text, and mounts."""

    path: Path
    hostname: str
    files: dict[str, str] = field(default_factory=dict)
    mounts: list[Mount] = field(default_factory=list)
    hidden: list[Path] = field(default_factory=list)


@cache
def tool(name: str) -> str:
    """The absolute path of a system tool."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        raise FileNotFoundError(f"The lab needs `{name}` (util-linux, coreutils) to isolate pods; install it.")
    return str(Path(found).resolve()) if name != "sh" else found


_DENIED = "Pods cannot be isolated here"
_ADVICE = (
    "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces, "
    "kernel.apparmor_restrict_unprivileged_userns) or run the lab where they are allowed."
)


def check() -> str | None:
    """None when pods can be isolated here; otherwise one sentence that says what the system denies."""
    try:
        paths = {name: tool(name) for name in TOOLS}
    except FileNotFoundError as error:
        return str(error)
    with tempfile.TemporaryDirectory(prefix="nodeworthy-sandbox-") as folder:
        root = Root(Path(folder) / "root", "check")
        command = launch_command(prepare(root), root, ["true"], "/")
        try:
            done = subprocess.run(
                command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{_DENIED}: {paths['unshare']} failed with {error}; the lab runs no pods without isolation."
    if done.returncode == 0:
        return None
    seen = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
    return f"{_DENIED}: a user, mount or PID namespace was denied ({seen}); {_ADVICE}"


def prepare(root: Root) -> Path:
    """Create the skeleton of a root and the table of its mounts; returns the table."""
    path = root.path
    for name in _DIRECTORIES:
        (path / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp", "dev/shm"):
        (path / name).chmod(0o1777)
    _links(path)
    _etc(root)
    rows = [_row(Path("/usr"), path / "usr", read_only=True)]
    rows += [row for name in _ETC_MOUNTED if (row := _common(path, Path("/etc") / name))]
    rows += [_common(path, prefix) or "" for prefix in _prefixes()]
    rows += [f"tmpfs {_escape(path / hide.relative_to('/'))} tmpfs ro,size=4k 0 0" for hide in _hidden(root)]
    rows.append(f"proc {_escape(path / 'proc')} proc nosuid,nodev,noexec 0 0")
    rows += [_row(Path("/dev") / name, _file(path / "dev" / name)) for name in _DEVICES]
    rows += [_row(mount.source, _target(path, mount), read_only=mount.read_only) for mount in root.mounts]
    table = path.parent / f"{path.name}.fstab"
    table.write_text("\n".join(filter(None, rows)) + "\n", encoding="utf-8")
    return table


def launch_command(table: Path, root: Root, command: list[str], directory: str) -> list[str]:
    """The argument list that runs `command` as process 1 of a new sandbox; it dies with the lab."""
    (root.path / directory.lstrip("/")).mkdir(parents=True, exist_ok=True) if not _is_shared(directory) else None
    isolate = [tool("unshare"), "--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts"]
    script = [tool("sh"), "-c", _SCRIPT, "sandbox", tool("mount"), str(table), str(root.path)]
    inside = [tool("setpriv"), tool("chroot"), directory, *command]
    return [tool("setpriv"), "--pdeathsig", "KILL", *isolate, "--propagation", "private", *script, *inside]


def enter_command(process: int, command: list[str], directory: str = "/") -> list[str]:
    """The argument list that runs `command` inside the sandbox whose process 1 has host pid `process`."""
    join = [tool("nsenter"), "--target", str(process), "--user", "--mount", "--pid", "--ipc", "--uts"]
    join += ["--preserve-credentials", f"--root=/proc/{process}/root", f"--wd=/proc/{process}/root"]
    return [
        tool("setpriv"),
        "--pdeathsig",
        "KILL",
        *join,
        "/usr/bin/env",
        "--default-signal",
        f"--chdir={directory}",
        *command,
    ]


def _is_shared(directory: str) -> bool:
    return directory.startswith("/usr") or Path(directory) == Path("/")


@cache
def _prefixes() -> tuple[Path, ...]:
    """Where this Python and this repository lie, without those inside /usr or inside one another."""
    wanted = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), REPOSITORY}
    executable = Path(sys.executable).resolve()
    if not any(executable.is_relative_to(path) for path in wanted):
        wanted.add(executable.parent.parent)
    outer = [path for path in wanted if not any(path != other and path.is_relative_to(other) for other in wanted)]
    return tuple(sorted(path for path in outer if not path.is_relative_to("/usr")))


def _hidden(root: Root) -> list[Path]:
    """Paths inside the shared parts that no container may see: the lab's state and the repository's history."""
    found = [REPOSITORY / name for name in _HIDDEN if (REPOSITORY / name).is_dir()]
    found += [path.resolve() for path in root.hidden if path.is_dir()]
    shared = [path for path in found if any(path.is_relative_to(prefix) for prefix in _prefixes())]
    return [path for path in shared if not any(path != other and path.is_relative_to(other) for other in shared)]


def _links(path: Path) -> None:
    for name in _LINKS:
        host = Path("/") / name
        if host.is_symlink() and not (path / name).is_symlink():
            (path / name).symlink_to(host.readlink())


def _etc(root: Root) -> None:
    etc = root.path / "etc"
    for name in _ETC_COPIED:
        host = Path("/etc") / name
        if host.exists() and not (etc / name).exists():
            shutil.copy(host, etc / name)
    texts = {
        "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "/etc/group": "root:x:0:\nnogroup:x:65534:\n",
        "/etc/hostname": f"{root.hostname}\n",
        "/etc/hosts": f"127.0.0.1 localhost {root.hostname}\n::1 localhost\n",
    }
    for name, text in {**texts, **root.files}.items():
        target = root.path / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name, goal in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        link = root.path / "dev" / name
        if not link.is_symlink():
            link.symlink_to(goal)


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(exist_ok=True)
    return path


def _target(path: Path, mount: Mount) -> Path:
    target = path / mount.target.lstrip("/")
    if mount.target.startswith(("/proc/", "/usr/")):
        return target
    if mount.source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return target
    return _file(target)


def _common(path: Path, host: Path) -> str | None:
    """A read-only mount of a host path at the same place; None when the host has no such path."""
    if not host.exists():
        return None
    target = path / host.relative_to("/")
    if host.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        _file(target)
    return _row(host, target, read_only=True)


def _row(source: Path, target: Path, *, read_only: bool = False) -> str:
    options = "rbind" if source.is_dir() else "bind"
    if read_only:
        options += ",ro" + _locked_flags(source)
    return f"{_escape(source)} {_escape(target)} none {options} 0 0"


def _locked_flags(source: Path) -> str:
    """Flags of the source's file system that a user namespace may not drop when it remounts read-only."""
    flags = os.statvfs(source).f_flag
    names = ((os.ST_NOSUID, "nosuid"), (os.ST_NODEV, "nodev"), (os.ST_NOEXEC, "noexec"), (os.ST_NOATIME, "noatime"))
    return "".join(f",{name}" for flag, name in names if flags & flag)


def _escape(path: Path) -> str:
    return str(path).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
