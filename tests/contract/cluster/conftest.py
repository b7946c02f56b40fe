"""The cluster that the Kubernetes contract tests use: the lab in a thread, or a real one."""

from tests.contract.kubernetes.conftest import client, core, kubeconfig, lab_server, namespace

__all__ = ["client", "core", "kubeconfig", "lab_server", "namespace"]
