"""Containers of own checks in the test pod.

Every check has its own image in a container beside the probe's. A few lines of shell make it wait until the probe says
that it is its turn, keep its output in a shared folder, and end it when its time is up. It gets no GPU, no token, no
capability, and nothing of the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy.qualification.own_checks import container_name

FOLDER = "/nodeworthy-checks"
VOLUME = "nodeworthy-checks"
LARGEST = "32Mi"
# $0 is the check's name, the arguments its command.
WAIT_AND_RUN = f"""d={FOLDER}
until [ -e "$d/$0.start" ]; do sleep 1; done
"$@" >"$d/$0.out" 2>"$d/$0.err" </dev/null & p=$!
while kill -0 "$p" 2>/dev/null; do
  if [ -e "$d/$0.stop" ]; then kill "$p" 2>/dev/null; sleep 2; kill -9 "$p" 2>/dev/null; fi
  sleep 1
done
wait "$p"; echo "$?" >"$d/$0.ending" && mv "$d/$0.ending" "$d/$0.rc"
"""


def add_checks(pod: Any, checks: Sequence[Mapping[str, Any]]) -> Any:
    """Return the pod with a container for each of these tests of its plan; unchanged where there is none."""
    if not checks:
        return pod
    from kubernetes.client import models

    mount = models.V1VolumeMount(name=VOLUME, mount_path=FOLDER)
    pod.spec.volumes = [
        *(pod.spec.volumes or []),
        models.V1Volume(name=VOLUME, empty_dir=models.V1EmptyDirVolumeSource(size_limit=LARGEST)),
    ]
    probe = pod.spec.containers[0]
    probe.volume_mounts = [*(probe.volume_mounts or []), mount]
    pod.spec.containers += [_container(test, mount) for test in checks]
    return pod


def _container(test: Mapping[str, Any], mount: Any) -> Any:
    from kubernetes.client import models

    return models.V1Container(
        name=container_name(test["test"]),
        image=test["image"],
        command=["/bin/sh", "-c", WAIT_AND_RUN, test["test"], *test["arguments"]],
        env=[models.V1EnvVar(name=name, value=value) for name, value in sorted(test["environment"].items())],
        volume_mounts=[mount],
        security_context=models.V1SecurityContext(
            allow_privilege_escalation=False, capabilities=models.V1Capabilities(drop=["ALL"])
        ),
    )
