"""perftest 6.20: ib_write_bw and ib_write_lat, over an adapter's own loopback or between two nodes of the lab.

Between nodes the server really listens where `-p` and `--bind_source_ip` say, and tells its client what its side of the
wire lets through; a client without a server cannot connect, as with the real tool. What a server prints is not kept.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from lab.tools.view import NodeView, Output, disturbed

_RULE = "-" * 87
_BYTES = 65536
_SWITCH_US = 0.6
"""What one leaf switch adds to a latency; made up."""
_PATIENCE_SECONDS = 20.0
_WITH_VALUE = {"-d": "--ib-dev", "-s": "--size", "-D": "--duration", "-n": "--iters", "-p": "--port",
               "--bind_source_ip": "--bind_source_ip"}  # fmt: skip
_LOOPBACK = "127.0.0.1"


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one run: a server, or a client with its figures."""
    options, partner = _options(arguments)
    name = options.get("-d", "")
    rail = next((rail for rail in view.document["rdma"] if rail["device"] == name), None)
    if rail is None:
        return Output(f" IB device {name} not found\n Unable to find the Infiniband/RoCE device\n", 1, 0.2)
    if "--use_cuda_bus_id" in options and options["--use_cuda_bus_id"] not in _buses(view):
        return Output("initializing CUDA\nCouldn't initialize CUDA device\nFailed to init memory\n", 1, 0.2)
    own = _offer(rail, view, by_gpu="--use_cuda_bus_id" in options)
    if not partner:
        return serve(own, options) if "-p" in options else Output("", seconds=1.0)
    if partner == _LOOPBACK and "-p" not in options:
        return Output(_text(tool, name, own, options, view), seconds=_seconds(tool))
    try:
        other = ask(partner, int(options["-p"]), own)
    except OSError:
        text = f"Couldn't connect to {partner}:{options['-p']}\n Unable to open file descriptor for socket connection"
        return Output(f"{text}\n", 1, 0.1)
    if not (own["up"] and other["up"]):
        words = " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n"
        return Output(_head(tool, name) + words, 1, 4.0)
    return Output(_text(tool, name, _over_wire(own, other), options, view), seconds=_seconds(tool))


def _options(arguments: list[str]) -> tuple[dict[str, str], str]:
    """The options with their values, and the server's address, which stands last where there is one."""
    options: dict[str, str] = {}
    partner, place = "", 0
    while place < len(arguments):
        word = arguments[place]
        if word in _WITH_VALUE and place + 1 < len(arguments):
            options[word] = arguments[place + 1]
            place += 1
        elif word.startswith("-"):
            name, _, value = word.partition("=")
            options[name] = value
        else:
            partner = word
        place += 1
    return options, partner


def _buses(view: NodeView) -> list[str]:
    return [str(gpu["pci_bus_id"])[4:].lower() for gpu in view.gpus]


def _offer(rail: dict[str, Any], view: NodeView, *, by_gpu: bool) -> dict[str, Any]:
    """What this side brings: the rates of the adapter over its PCIe path, and of its cable and leaf port."""
    share = float(view.document.get("gpu_direct_share", 1.0)) if by_gpu else 1.0
    return {
        "up": rail.get("up", True),
        "adapter_gbps": float(rail["write_gbps"]) * share,
        "port_gbps": float(rail.get("port_gbps", rail["write_gbps"])),
        "latency_us": float(rail["latency_us"]),
    }


def _over_wire(own: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    rate = min(float(side[name]) for side in (own, other) for name in ("adapter_gbps", "port_gbps"))
    latency = (own["latency_us"] + other["latency_us"]) / 2 + _SWITCH_US
    return {"adapter_gbps": rate, "latency_us": latency}


def serve(own: dict[str, Any], options: dict[str, str]) -> Output:
    """Wait for one client and tell it what this side brings."""
    address = (options.get("--bind_source_ip", ""), int(options["-p"]))
    try:
        with socket.create_server(address) as listener:
            listener.settimeout(_PATIENCE_SECONDS)
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                stream.readline()
                stream.write(json.dumps(own).encode() + b"\n")
    except OSError as error:
        return Output(f"Couldn't listen to port {options['-p']}: {error}\n", 1)
    return Output("")


def ask(address: str, port: int, own: dict[str, Any]) -> dict[str, Any]:
    """What the server brings. OSError when nobody listens there."""
    with socket.create_connection((address, port), _PATIENCE_SECONDS) as connection:
        stream = connection.makefile("rwb")
        stream.write(json.dumps(own).encode() + b"\n")
        stream.flush()
        told: dict[str, Any] = json.loads(stream.readline() or b"{}")
    if not told:
        raise ConnectionError("the server hung up")
    return told


def _seconds(tool: str) -> float:
    return 2.0 if tool.endswith("_lat") else 5.0


def _text(tool: str, name: str, path: dict[str, Any], options: dict[str, str], view: NodeView) -> str:
    noise = view.noise(f"{tool} {name}", view.attempt(tool))
    if tool.endswith("_lat"):
        lines = _latency(float(path["latency_us"]))
    else:
        lines = _bandwidth(disturbed(float(path["adapter_gbps"]), noise), timed="-D" in options)
    bus = options.get("--use_cuda_bus_id")
    gpu = [] if bus is None else _on_gpu(bus, dmabuf="--use_cuda_dmabuf" in options)
    return "\n".join([*gpu, _head(tool, name) + "\n".join(lines), _RULE]) + "\n"


def _on_gpu(bus: str, *, dmabuf: bool) -> list[str]:
    how = ["using DMA-BUF for GPU buffer address at 0x7f5c4c000000 aligned at 0x7f5c4c000000"] if dmabuf else []
    return ["initializing CUDA", "Listing all CUDA devices in system:", f"CUDA device 0: PCIe address is {bus[5:10]}",
            "", "Picking device No. 0", "creating CUDA Ctx", "making it the current CUDA Ctx",
            "cuMemAlloc() of a 131072 bytes GPU buffer", *how]  # fmt: skip


def _head(tool: str, name: str) -> str:
    kind = "Latency" if tool.endswith("_lat") else "BW"
    lines = [_RULE, f"                    RDMA_Write {kind} Test",
             f" Dual-port       : OFF\t\tDevice         : {name}", " Number of qps   : 1\t\tTransport type : IB",
             " Connection type : RC\t\tUsing SRQ      : OFF", " Mtu             : 4096[B]", " Link type       : IB",
             " rdma_cm QPs\t : OFF", " Data ex. method : Ethernet", _RULE]  # fmt: skip
    return "\n".join(lines) + "\n"


def _bandwidth(gbps: float, *, timed: bool) -> list[str]:
    """A run for a duration knows no peak."""
    rate, peak = gbps * 1e9 / 8 / _BYTES / 1e6, 0.0 if timed else gbps * 1.0005
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    return [head, f" {_BYTES:<10} 5000             {peak:.2f}             {gbps:.2f} \t\t   {rate:.6f}"]


def _latency(typical: float) -> list[str]:
    figures = (typical * 0.97, typical * 3, typical, typical * 1.01, 0.05, typical * 1.1, typical * 2)
    return [" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
            "99% percentile[usec]   99.9% percentile[usec]",
            " 2       1000          " + "   ".join(f"{figure:.2f}" for figure in figures)]  # fmt: skip
