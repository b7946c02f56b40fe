"""A container's environment: image, pod spec, references to fields, config maps and secrets, `$(NAME)` expansion."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lab.kubelet.images import ContainerImage
from lab.kubernetes.store import Store

Json = dict[str, Any]
NODE_DIRECTORY = "/run/nodeworthy-lab"


class ConfigError(Exception):
    """The container cannot be created from its spec (CreateContainerConfigError)."""


def field_text(pod: Json, path: str) -> str:
    """The value of a downward API fieldRef."""
    if match := re.match(r"^metadata\.(labels|annotations)\['(.+)'\]$", path):
        return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        items = pod["metadata"].get(path.rpartition(".")[2]) or {}
        return "".join(f'{key}="{value}"\n' for key, value in sorted(items.items()))
    if path in ("status.podIPs", "status.hostIPs"):
        path = path[:-1]
    value: Any = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def lookup(store: Store, pod: Json, kind: str, reference: Json) -> Json | None:
    """The config map or secret of a reference; None when it is missing and optional, ConfigError otherwise."""
    plural = "configmaps" if kind == "configMap" else "secrets"
    name = reference.get("name") or reference.get("secretName") or ""
    obj = store.get(("", plural), pod["metadata"]["namespace"], name)
    if obj is None and not reference.get("optional"):
        raise ConfigError(f'{plural[:-1].replace("configmap", "configmap")} "{name}" not found')
    return obj


def decoded(obj: Json, kind: str) -> dict[str, bytes]:
    """The data of a config map or secret as bytes."""
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    data = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    return data | {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}


def _from_key(store: Store, pod: Json, kind: str, reference: Json) -> str | None:
    obj = lookup(store, pod, kind, reference)
    values = decoded(obj, kind) if obj is not None else {}
    if reference["key"] in values:
        return values[reference["key"]].decode(errors="replace")
    if reference.get("optional"):
        return None
    raise ConfigError(
        f"couldn't find key {reference['key']} in {kind} {pod['metadata']['namespace']}/{reference.get('name')}"
    )


def _value(store: Store, pod: Json, container: Json, item: Json) -> str | None:
    source = item.get("valueFrom")
    if not source:
        return str(item.get("value") or "")
    if "fieldRef" in source:
        return field_text(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        part, _, name = source["resourceFieldRef"]["resource"].partition(".")
        return str(((container.get("resources") or {}).get(part) or {}).get(name, "0"))
    kind = "configMap" if "configMapKeyRef" in source else "secret"
    return _from_key(store, pod, kind, source.get(f"{kind}KeyRef") or {})


def _imported(store: Store, pod: Json, container: Json) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or []:
        kind = "configMap" if "configMapRef" in source else "secret"
        obj = lookup(store, pod, kind, source[f"{kind}Ref"])
        for key, value in (decoded(obj, kind) if obj is not None else {}).items():
            yield source.get("prefix", "") + key, value.decode(errors="replace")


def expand(text: str, known: Mapping[str, str]) -> str:
    """Kubernetes' `$(NAME)`; `$$` is a dollar sign, unknown names stay as they are."""

    def replace(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else known.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^)]+)\)", replace, text)


def build_environment(store: Store, pod: Json, container: Json, image: ContainerImage) -> dict[str, str]:
    """All variables of a container; ConfigError when a reference cannot be resolved."""
    known = {
        "PATH": image.full_path(),
        "HOME": "/root",
        "HOSTNAME": pod["spec"].get("hostname") or pod["metadata"]["name"],
        "NODEWORTHY_BOOT_ID_FILE": f"{NODE_DIRECTORY}/boot_id",
    }
    known |= image.environment
    known |= dict(_imported(store, pod, container))
    for item in container.get("env") or []:
        value = _value(store, pod, container, item)
        if value is not None:
            known[item["name"]] = expand(value, known)
    return known


def build_command(container: Json, image: ContainerImage, environment: Mapping[str, str]) -> list[str]:
    """What runs: `command` replaces the image's entrypoint, `args` its default command."""
    command, arguments = container.get("command"), container.get("args")
    entry = list(command) if command else list(image.entrypoint)
    rest = list(arguments) if arguments else ([] if command else list(image.command))
    words = [expand(str(word), environment) for word in (*entry, *rest)]
    if not words:
        raise ConfigError(f"no command specified for the image of container {container['name']}")
    return words
