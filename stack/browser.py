"""A real Chromium, driven over the Chrome DevTools Protocol: log in to Airflow, open a page, take its picture.

The protocol is spoken directly (JSON over one WebSocket) because a browser-automation package would bring a browser of
its own. Chromium comes from the system (`chromium` in Debian).
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip
START_PATIENCE_SECONDS = 30.0


def executable() -> str | None:
    """Return the path of an installed Chromium, None when there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = count(1)

    def send(self, method: str, **parameters: Any) -> Any:
        """Call one method of the protocol and return its result. RuntimeError when the browser refuses it."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def log_in(self, url: str, token: str) -> None:
        """Give the tab an Airflow session."""
        self.send("Network.enable")
        self.send("Network.setCookie", name="_token", value=token, url=url, path="/")

    def open(self, url: str, *, until: str, patience_seconds: float = 60.0) -> None:
        """Open an address and wait until the page's text contains `until`. TimeoutError when it does not."""
        self.send("Page.navigate", url=url)
        deadline = time.monotonic() + patience_seconds
        while until not in self.text():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{url} never showed {until!r}; it shows: {self.text()[:500]}")
            time.sleep(0.3)

    def text(self) -> str:
        """Return the text that the page shows now."""
        return str(self.evaluate("document.body ? document.body.innerText : ''"))

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    def size(self, width: int, height: int) -> None:
        """Give the tab this size in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path: Path) -> None:
        """Write a PNG of what the tab shows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser() -> Iterator[Page]:
    """Start Chromium with an empty profile and yield its tab; end it whatever happens."""
    program = executable()
    if program is None:
        raise SystemExit("No Chromium is installed: `apt-get install chromium` brings one.")
    # Chromium's helpers may still write while the profile is taken away.
    with tempfile.TemporaryDirectory(prefix="nodeworthy-browser-", ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_tab(Path(profile)), max_size=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(timeout=20)


def _tab(profile: Path) -> str:
    """Return the WebSocket address of the first tab, once the browser has written down its port."""
    port_file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + START_PATIENCE_SECONDS
    while not port_file.exists() or not port_file.read_text().strip():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Chromium did not open its port within {START_PATIENCE_SECONDS:.0f} s.")
        time.sleep(0.1)
    port = int(port_file.read_text().splitlines()[0])
    with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
        tabs = json.load(answer)
    return str(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"))
