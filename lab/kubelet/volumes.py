"""A pod's volumes as directories of its own, and their mounts in a container."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from lab.kubelet.environment import ConfigError, decoded, field_text, lookup
from lab.kubelet.sandbox import Mount
from lab.kubernetes.store import Store

Json = dict[str, Any]
# Host paths that a pod may mount: the node's own pretended files, never this machine's.
_HOST_FILES = {
    "/dev/kmsg": "kmsg",
    "/proc/sys/kernel/random/boot_id": "boot_id",
    "/etc/machine-id": "machine_id",
    "/run/nodeworthy-lab": "",
}
# Folders that every host has. What a pod sees in them is laid out by the image, as all files of the host are.
_HOST_FOLDERS = (("Directory", "/proc"), ("Directory", "/var/log"), ("Directory", "/sys"))


class Volumes:
    """The volumes of one pod; emptyDirs are shared by its containers."""

    def __init__(self, store: Store, pod: Json, directory: Path, node_directory: Path) -> None:
        self._store = store
        self._pod = pod
        self._directory = directory
        self._node_directory = node_directory
        self._paths: dict[str, Path] = {}

    def prepare(self) -> None:
        """Create all volumes; ConfigError when a source is missing."""
        for volume in self._pod["spec"].get("volumes") or []:
            self._paths[volume["name"]] = self._make(volume)

    def _make(self, volume: Json) -> Path:
        path = self._directory / str(volume["name"])
        if "hostPath" in volume:
            return self._host_path(volume["hostPath"], path)
        path.mkdir(parents=True, exist_ok=True)
        for kind in ("configMap", "secret"):
            if kind in volume:
                self._fill(path, kind, volume[kind])
        if "downwardAPI" in volume:
            self._downward(path, volume["downwardAPI"])
        for source in (volume.get("projected") or {}).get("sources") or []:
            self._project(path, source)
        return path

    def _project(self, path: Path, source: Json) -> None:
        for kind in ("configMap", "secret"):
            if kind in source:
                self._fill(path, kind, source[kind])
        if "downwardAPI" in source:
            self._downward(path, source["downwardAPI"])

    def _host_path(self, source: Json, path: Path) -> Path:
        wanted = str(source["path"]).rstrip("/")
        if wanted in _HOST_FILES:
            return self._node_directory / _HOST_FILES[wanted]
        if source.get("type") in ("DirectoryOrCreate", "", None) or (source["type"], wanted) in _HOST_FOLDERS:
            # A directory of the pretended host: empty, and kept as long as the node's state.
            made = self._node_directory / "host" / wanted.lstrip("/")
            made.mkdir(parents=True, exist_ok=True)
            return made
        raise ConfigError(f"hostPath {wanted} does not exist on the lab's node")

    def _fill(self, path: Path, kind: str, reference: Json) -> None:
        obj = lookup(self._store, self._pod, kind, reference)
        data = decoded(obj, kind) if obj is not None else {}
        items = reference.get("items")
        names = {item["key"]: item["path"] for item in items} if items else {key: key for key in data}
        for key, name in names.items():
            if key not in data:
                raise ConfigError(f"references non-existent {kind} key: {key}")
            target = path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data[key])
            target.chmod(int(reference.get("defaultMode", 0o644)))

    def _downward(self, path: Path, source: Json) -> None:
        for item in source.get("items") or []:
            target = path / item["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            if "fieldRef" in item:
                target.write_text(field_text(self._pod, item["fieldRef"]["fieldPath"]), encoding="utf-8")

    def mounts(self, container: Json) -> list[Mount]:
        """The container's volume mounts, outer paths first."""
        found = []
        for row in container.get("volumeMounts") or []:
            source = self._paths[row["name"]]
            if row.get("subPath"):
                source = source / row["subPath"]
                if not source.exists():
                    source.mkdir(parents=True)
            found.append(Mount(source, row["mountPath"], bool(row.get("readOnly"))))
        return sorted(found, key=lambda mount: mount.target)

    def remove(self) -> None:
        """Forget everything, as a kubelet does when the pod object is gone."""
        shutil.rmtree(self._directory, ignore_errors=True)
