"""The lab in a thread, or a real cluster where NODEWORTHY_TEST_KUBECONFIG names one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.kubelet import sandbox
from tests.contract.kubernetes.harness import Lab, raw_client, ready_nodes, wait_for

REAL = os.environ.get("NODEWORTHY_TEST_KUBECONFIG")


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab | None]:
    """The lab, or None when the tests run against a real cluster."""
    if REAL:
        yield None
        return
    denied = sandbox.check()
    if denied:
        pytest.skip(denied)
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture
def lab_only(lab_server: Lab | None) -> Lab:
    """The lab, for tests that need control over machines or time."""
    if lab_server is None:
        pytest.skip("needs control over the lab; this is a real cluster")
    return lab_server


@pytest.fixture(scope="session")
def kubeconfig(lab_server: Lab | None) -> Path:
    """The administrator's kubeconfig."""
    return Path(REAL) if lab_server is None and REAL else lab_server.state_dir / "kubeconfig"  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def client(kubeconfig: Path) -> Any:
    """The official client's API client."""
    from kubernetes import config

    return config.new_client_from_config(str(kubeconfig))


@pytest.fixture(scope="session")
def core(client: Any) -> Any:
    """The official client's core API, once the nodes are ready."""
    from kubernetes import client as api

    core = api.CoreV1Api(client)
    wait_for(lambda: ready_nodes(core) >= 1, 30)
    return core


@pytest.fixture
def namespace(core: Any) -> Iterator[str]:
    """A fresh namespace that is deleted afterwards."""
    name = core.create_namespace({"metadata": {"generateName": "contract-"}}).metadata.name
    wait_for(lambda: core.list_namespaced_service_account(name).items or not REAL, 10)
    yield name
    core.delete_namespace(name)


@pytest.fixture(scope="session")
def raw(kubeconfig: Path, core: Any) -> Iterator[httpx.Client]:
    """Plain HTTP as the administrator."""
    with raw_client(kubeconfig) as client:
        yield client


@pytest.fixture
def node(core: Any) -> Iterator[str]:
    """A Node object without a machine, deleted afterwards."""
    name = core.create_node({"metadata": {"generateName": "contract-"}}).metadata.name
    yield name
    core.delete_node(name)
