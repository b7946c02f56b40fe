"""dmesg: the node's kernel log, boot lines and what the tools added since."""

from __future__ import annotations

from lab.tools.view import NodeView, Output


def run(_tool: str, _arguments: list[str], view: NodeView) -> Output:
    """Print the log file beside the view, or the view's own lines where there is no file yet."""
    try:
        return Output((view.folder / "kmsg").read_text("utf-8", "replace"))
    except OSError:
        return Output("".join(f"{line}\n" for line in view.document.get("kernel_log", [])))
