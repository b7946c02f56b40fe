"""Gives the unmodified pynvml binding a driver library of the lab.

Python imports this module at start. It costs nothing until something imports ``pynvml``; then
loading ``libnvidia-ml.so.1`` through ctypes answers with a fake that renders the node view.
Every other library loads as usual.
"""

import sys

_LIBRARY = "libnvidia-ml.so.1"


class _WaitForPynvml:
    """An import hook that patches ctypes right before pynvml is imported, and finds nothing itself."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pynvml":
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _WaitForPynvml]
            _patch()


def _patch():
    import ctypes

    real = ctypes.CDLL

    class Loader(real):
        def __new__(cls, name, *arguments, **options):
            if name == _LIBRARY:
                from lab_nvml import FakeNvml

                return FakeNvml()  # not an instance of this class, so no real library is opened
            return super().__new__(cls)

    ctypes.CDLL = Loader


def _patch_statvfs():
    """How full the pretended host's file systems are, for what a process of the lab asks below its host's root."""
    import os

    real, whole = os.statvfs, 1_000_000

    def statvfs(path):
        root = os.environ.get("NODEWORTHY_HOST_ROOT")
        if not root or not str(path).startswith(root):
            return real(path)
        import json
        from pathlib import Path

        view = Path(os.environ.get("NODEWORTHY_LAB_VIEW") or "/run/nodeworthy-lab/view.json").read_text("utf-8")
        used = int(json.loads(view).get("settings", {}).get("used_percent", 12))
        free = whole - used * whole // 100
        return os.statvfs_result((4096, 4096, whole, free, free, 0, 0, 0, 0, 255))

    os.statvfs = statvfs


_patch_statvfs()
sys.meta_path.insert(0, _WaitForPynvml)
