"""Runs a tool once per device and prints one section each: ``python -m nodeworthy_probe.each_device DEVICES TOOL ...``.

DEVICES is a list with commas; ``{device}`` in an argument becomes the device's name. A tool that knows no option for it
sees the one GPU alone, by CUDA_VISIBLE_DEVICES. The tools of perftest need a
partner, so their server is started first on the same device and the client goes to the loopback address. A section ends
with its exit code; what a tool prints on standard error goes where ours goes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

HEAD = "=== device "
END = "=== exit "
_PERFTEST = "ib_"
_OF_ONE_GPU = ("cublaslt_gemm",)
_SERVER_SECONDS = 0.5
_TRIES = 5


def main(arguments: Sequence[str]) -> int:
    """Run the tool on every device; 0 whatever the tool's own exit codes, which stand in the sections."""
    devices, tool, *rest = arguments
    for device in devices.split(","):
        command = [tool, *(argument.replace("{device}", device) for argument in rest)]
        sys.stdout.write(f"{HEAD}{device}\n")
        sys.stdout.flush()
        try:
            code = (
                _with_partner(command)
                if tool.startswith(_PERFTEST)
                else subprocess.run(command, env=_environment(tool, device), check=False).returncode
            )
        except OSError as error:
            sys.stderr.write(f"{tool} cannot be started: {error}\n")
            return 127
        sys.stdout.write(f"{END}{code}\n")
        sys.stdout.flush()
    return 0


def _environment(tool: str, device: str) -> dict[str, str]:
    return {**os.environ, **({"CUDA_VISIBLE_DEVICES": device} if tool in _OF_ONE_GPU else {})}


def _with_partner(command: list[str]) -> int:
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    code = 1
    try:
        for _ in range(_TRIES):
            time.sleep(_SERVER_SECONDS)  # the server says nothing when it begins to listen
            client = subprocess.run([*command, "127.0.0.1"], stdout=subprocess.PIPE, check=False)
            code = client.returncode
            if b"Couldn't connect" not in client.stdout:
                sys.stdout.buffer.write(client.stdout)
                break
    finally:
        server.terminate()
        server.wait(10)
    return code


def sections(text: str) -> Iterator[tuple[str, str, int | None]]:
    """The (device, output, exit code) of each section; without an end the code is None and the output was cut."""
    for part in ("\n" + text).split(f"\n{HEAD}")[1:]:
        device, _, body = part.partition("\n")
        output, mark, code = body.rpartition(END)
        digits = code.strip().removeprefix("-")
        if mark and digits.isdigit():
            yield device.strip(), output, int(code)
        else:
            yield device.strip(), body, None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
