"""The Cluster port over the Kubernetes API: the one door to the official client.

`spec.taints` is one atomic list that others write too (the node controller, cordon, other operators), so it is read,
changed and written back under its resourceVersion, and read anew when somebody was faster. Taints, labels and
annotations go in one write: between two writes a node could be schedulable. Objects are read as plain JSON, since
the client's models cost more CPU than the request.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import kubernetes.client
import kubernetes.config
import kubernetes.stream
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException

from nodeworthy.adapters.cluster_kubernetes_nodes import (
    Wanted,
    agents,
    cluster_node,
    condition_patch,
    devices,
    projection_patch,
    stale,
)
from nodeworthy.errors import NodeworthyError, Permanent, Refused, Transient
from nodeworthy.lifecycle.rows import Projection
from nodeworthy.lifecycle.upkeep import Due
from nodeworthy.ports import Agent, ClusterNode, Device, Taint

TIMEOUT_SECONDS = (5, 30)
EXEC_TIMEOUT_SECONDS = 120
ATTEMPTS = 8
"""Conflicts in a row before somebody else's loop is assumed to fight with ours."""
SOON = timedelta(seconds=10)
"""When an API server that gave no answer is worth asking again."""
READ_FILE = 'wc -c < "$1" && head -c "$2" "$1" | base64'
NOT_FOUND, CONFLICT, EXPIRED, TOO_MANY = 404, 409, 410, 429
PAGE = 500
"""Nodes per page of a list, as kubectl asks."""
DENIED = (401, 403)
SERVER_ERROR = 500

Json = Mapping[str, Any]


class ClusterKubernetes:
    """One cluster. `kubeconfig` is a file's path; None means the pod's own service account."""

    def __init__(
        self,
        kubeconfig: str | None = None,
        *,
        namespace: str,
        client: Callable[[], kubernetes.client.ApiClient] | None = None,
    ) -> None:
        self._client = client or (lambda: _client(kubeconfig))
        self._namespace = namespace
        self._made: kubernetes.client.CoreV1Api | None = None

    def node(self, name: str) -> ClusterNode | None:
        """Read a node; None when there is no such Node object."""
        document = self._read(name)
        return cluster_node(document) if document is not None else None

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Read all nodes by one paged LIST, consistent as of its first page."""
        for _ in range(ATTEMPTS):
            found = self._list()
            if found is not None:
                return found
        raise Transient(
            f"The list of nodes expired {ATTEMPTS} times while it was read: the API server is too slow; try again.",
            SOON,
        )

    def agents(self, node: str, *, namespace: str, selector: str) -> tuple[Agent, ...]:
        """Return the pods of a label selector that run on a node; none where the namespace does not exist."""
        found = self._get(
            f"listing pods of {selector} on Node {node}",
            self._api.list_namespaced_pod,
            namespace,
            label_selector=selector,
            field_selector=f"spec.nodeName={node}",
        )
        return agents(found) if found is not None else ()

    def devices(self, node: str, *, driver: str) -> tuple[Device, ...]:
        """Return a driver's devices on a node, of the newest generation of each of its pools; none without DRA."""
        found = self._get(
            f"listing ResourceSlices of Node {node}",
            kubernetes.client.ResourceV1Api(self._client()).list_resource_slice,
            field_selector=f"spec.nodeName={node},spec.driver={driver}",
        )
        return devices(found) if found is not None else ()

    def project(self, name: str, *, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int) -> None:
        """Make the node carry exactly these of our taints and labels, in one write; others' stay. May be repeated.

        Raises Refused when the Node was written for a later episode, Permanent when there is no Node.
        """
        self._show(name, Wanted(taints, labels, episode))

    def follow(self, name: str, projection: Projection, due: Due) -> None:
        """As `project`, and cordon as its owner; somebody else's cordon stays. Refused after a later move."""
        wanted = Wanted(projection.taints, projection.labels, due.episode, projection.cordon, due.revision)
        self._show(name, wanted)

    def tell_milestone(self, name: str, milestone: str, message: str) -> None:
        """Set the node condition `NodeworthyMilestone`. May be repeated; a Node that is gone is success."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            self._api.patch_node_status(
                name,
                condition_patch(milestone, message, now),
                _content_type="application/strategic-merge-patch+json",
                _preload_content=False,
                _request_timeout=TIMEOUT_SECONDS,
            )
        except ApiException as error:
            if error.status != NOT_FOUND:
                raise _translated(error, f"writing the status of Node {name}") from error
        except urllib3.exceptions.HTTPError as error:
            raise _silent(f"writing the status of Node {name}") from error

    def _show(self, name: str, wanted: Wanted) -> None:
        for _ in range(ATTEMPTS):
            document = self._read(name)
            if document is None:
                raise Permanent(f"Node {name} was to get its taints and does not exist: bring its kubelet up first.")
            later = stale(document, wanted)
            if later:
                raise Refused(f"Node {name} was written for {later}: its work is over; see who works on the node now.")
            patch = projection_patch(document, wanted)
            if patch is None or self._patch(name, patch):
                return
        raise Transient(
            f"Node {name} was changed by others {ATTEMPTS} times while its taints were written: find what keeps "
            "writing it.",
            SOON,
        )

    def delete_node(self, name: str, *, uid: str) -> None:
        """Delete the Node object with this uid; one that is gone, or came back under another uid, is success."""
        try:
            self._api.delete_node(
                name,
                body={"preconditions": {"uid": uid}},
                _preload_content=False,
                _request_timeout=TIMEOUT_SECONDS,
            )
        except ApiException as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise _translated(error, f"deleting Node {name}") from error
        except urllib3.exceptions.HTTPError as error:
            raise _silent(f"deleting Node {name}") from error

    def images(self, pod: str) -> Mapping[str, str]:
        """Read them from the pod's status (`imageID`, Kubernetes API 1.36 ContainerStatus)."""
        found = self._get(f"reading pod {pod}", self._api.read_namespaced_pod, pod, self._namespace)
        statuses = found["status"].get("containerStatuses", ()) if found is not None else ()
        return {row["name"]: row["imageID"] for row in statuses if row.get("imageID")}

    def read_file(self, pod: str, container: str, path: str, *, limit_bytes: int) -> bytes:
        """Read one file of a running container by exec, as base64 so that no byte is changed on the way.

        Raises Permanent beyond the limit or when the file cannot be read, Transient when the stream breaks off.
        """
        what = f"reading {path} from pod {pod}"
        output, complaint, code = self._exec(
            pod, container, ["sh", "-c", READ_FILE, "sh", path, str(limit_bytes + 1)], what
        )
        if code != 0:
            raise Permanent(
                f"Reading {path} from pod {pod} ended with exit code {code}: {complaint.strip() or 'no word'}."
            )
        size, _, encoded = output.lstrip().partition("\n")
        if not size.strip().isdigit():
            raise Transient(f"Reading {path} from pod {pod} broke off before its size came; try again.", SOON)
        if int(size) > limit_bytes:
            raise Permanent(
                f"{path} of pod {pod} holds {size.strip()} bytes and at most {limit_bytes} are taken in: its tests "
                "print too much; lower their output."
            )
        return _decoded(encoded, int(size), what)

    @property
    def _api(self) -> kubernetes.client.CoreV1Api:
        if self._made is None:
            self._made = kubernetes.client.CoreV1Api(self._client())
        return self._made

    def _list(self) -> tuple[ClusterNode, ...] | None:
        """Read page after page; None when the list expired on the way, so that it is read anew as a whole."""
        found: list[ClusterNode] = []
        token: str | None = None
        while True:
            try:
                response = self._api.list_node(
                    limit=PAGE, _continue=token, _preload_content=False, _request_timeout=TIMEOUT_SECONDS
                )
            except ApiException as error:
                if error.status == EXPIRED:
                    return None
                raise _translated(error, "listing nodes") from error
            except urllib3.exceptions.HTTPError as error:
                raise _silent("listing nodes") from error
            page = json.loads(response.data)
            found.extend(cluster_node(row) for row in page["items"])
            token = page["metadata"].get("continue")
            if not token:
                return tuple(found)

    def _read(self, name: str) -> Json | None:
        return self._get(f"reading Node {name}", self._api.read_node, name)

    def _get(self, what: str, call: Callable[..., Any], *names: str, **selectors: str) -> Json | None:
        """Read one object, or a list by its selectors; None for what is not there."""
        try:
            response = call(*names, **selectors, _preload_content=False, _request_timeout=TIMEOUT_SECONDS)
        except ApiException as error:
            if error.status == NOT_FOUND:
                return None
            raise _translated(error, what) from error
        except urllib3.exceptions.HTTPError as error:
            raise _silent(what) from error
        document: Json = json.loads(response.data)
        return document

    def _patch(self, name: str, patch: Json) -> bool:
        """Write under the patch's resourceVersion; False when somebody was faster."""
        try:
            self._api.patch_node(
                name,
                patch,
                _content_type="application/merge-patch+json",
                _preload_content=False,
                _request_timeout=TIMEOUT_SECONDS,
            )
        except ApiException as error:
            if error.status == CONFLICT:
                return False
            raise _translated(error, f"writing Node {name}") from error
        except urllib3.exceptions.HTTPError as error:
            raise _silent(f"writing Node {name}") from error
        return True

    def _exec(self, pod: str, container: str, command: Sequence[str], what: str) -> tuple[str, str, int | None]:
        """Run a command to its end; return its output, its complaints and its exit code."""
        # A client of its own: while a stream opens, the library patches the request function of its client.
        api = kubernetes.client.CoreV1Api(self._client())
        try:
            running = kubernetes.stream.stream(
                api.connect_get_namespaced_pod_exec,
                pod,
                self._namespace,
                container=container,
                command=list(command),
                stdin=False,
                stdout=True,
                stderr=True,
                tty=False,
                _preload_content=False,
            )
            running.run_forever(timeout=EXEC_TIMEOUT_SECONDS)
            if running.is_open():
                running.close()
                raise Transient(f"{_sentence(what)} took longer than {EXEC_TIMEOUT_SECONDS} s; try again.", SOON)
            return running.read_stdout(timeout=0), running.read_stderr(timeout=0), running.returncode
        except ApiException as error:
            raise _translated(error, what) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _silent(what) from error


class Door:
    """The way to the core API for adapters beside this one. `kubeconfig` as for `ClusterKubernetes`."""

    def __init__(self, kubeconfig: str | None, client: Callable[[], kubernetes.client.ApiClient] | None = None) -> None:
        self._client = client or (lambda: _client(kubeconfig))
        self._made: kubernetes.client.CoreV1Api | None = None

    @property
    def core(self) -> kubernetes.client.CoreV1Api:
        """The core API, made when it is first used."""
        if self._made is None:
            self._made = kubernetes.client.CoreV1Api(self._client())
        return self._made

    def ask(self, what: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the answer; None for what is gone, or there, already. Raises our errors for the library's."""
        try:
            return call(*arguments, **options, _request_timeout=TIMEOUT_SECONDS)
        except ApiException as error:
            if error.status in (NOT_FOUND, CONFLICT):
                return None
            raise _translated(error, what) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _silent(what) from error


def _client(kubeconfig: str | None) -> kubernetes.client.ApiClient:
    configuration = kubernetes.client.Configuration()
    try:
        if kubeconfig:
            kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
        else:
            kubernetes.config.load_incluster_config(client_configuration=configuration)
    except (kubernetes.config.ConfigException, OSError) as error:
        where = kubeconfig or "the pod's service account"
        raise Permanent(
            f"The cluster's access was read from {where} and cannot be used ({error}): correct it."
        ) from error
    return kubernetes.client.ApiClient(configuration)


def _decoded(encoded: str, size: int, what: str) -> bytes:
    try:
        content = base64.b64decode("".join(encoded.split()), validate=True)
    except binascii.Error:
        content = b""
    if len(content) != size:
        raise Transient(
            f"{_sentence(what)} gave {len(content)} of {size} bytes: the stream broke off; try again.",
            SOON,
        )
    return content


def _translated(error: ApiException, what: str) -> NodeworthyError:
    """Our error for the API's, by status; the server's own message is the reason."""
    reason = _message(error)
    if error.status in DENIED:
        return Permanent(
            f"{_sentence(what)} was denied with HTTP {error.status} ({reason}): give our account the right to."
        )
    if not error.status or error.status == TOO_MANY or error.status >= SERVER_ERROR:
        return Transient(f"{_sentence(what)} got HTTP {error.status} ({reason}); try again.", SOON)
    return Permanent(f"{_sentence(what)} was refused with HTTP {error.status}: {reason}.")


def _message(error: ApiException) -> str:
    try:
        message = json.loads(error.body or b"")["message"]
    except (ValueError, TypeError, KeyError):
        message = error.reason
    return str(message or "no reason given").strip().rstrip(".")


def _silent(what: str) -> Transient:
    return Transient(
        f"{_sentence(what)} got no answer from the Kubernetes API: check that it is up, then try again.", SOON
    )


def _sentence(what: str) -> str:
    return what[0].upper() + what[1:]
