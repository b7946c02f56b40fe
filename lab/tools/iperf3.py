"""iperf3 3.16 between two nodes of the lab: a server that listens where it is told, and a client's report with -J."""

from __future__ import annotations

import json
from typing import Any

from lab.tools import perftest
from lab.tools.view import NodeView, Output, disturbed

_WITH_VALUE = ("-B", "-p", "-c", "-t", "-P")


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Serve one client, or measure what the slower of the two hosts lets through."""
    options = {word: arguments[place + 1] for place, word in enumerate(arguments[:-1]) if word in _WITH_VALUE}
    own = {"tcp_gbps": float(view.document["tcp_gbps"])}
    if "-s" in arguments:
        return perftest.serve(own, {"--bind_source_ip": options.get("-B", ""), "-p": options.get("-p", "5201")})
    try:
        other = perftest.ask(options["-c"], int(options.get("-p", "5201")), own)
    except OSError as error:
        refused = {"start": {"version": "iperf 3.16"}, "intervals": [], "end": {},
                   "error": f"unable to connect to server: {error.strerror}"}  # fmt: skip
        return Output(json.dumps(refused, indent="\t") + "\n", 1)
    noise = view.noise("iperf3", view.attempt("iperf3"))
    gbps = disturbed(min(own["tcp_gbps"], float(other["tcp_gbps"])), noise)
    seconds, streams = float(options.get("-t", "10")), int(options.get("-P", "1"))
    return Output(json.dumps(_report(gbps, seconds, streams), indent="\t") + "\n", seconds=seconds)


def _report(gbps: float, seconds: float, streams: int) -> dict[str, Any]:
    return {
        "start": {
            "version": "iperf 3.16",
            "test_start": {"protocol": "TCP", "num_streams": streams, "duration": int(seconds), "reverse": 0},
        },
        "intervals": [],
        "end": {
            "streams": [{"sender": _sum(gbps / streams, seconds), "receiver": _sum(gbps / streams, seconds)}] * streams,
            "sum_sent": {**_sum(gbps * 1.0002, seconds), "retransmits": 12, "sender": True},
            "sum_received": {**_sum(gbps, seconds), "sender": True},
        },
    }


def _sum(gbps: float, seconds: float) -> dict[str, Any]:
    moved = int(gbps * 1e9 / 8 * seconds)
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": moved, "bits_per_second": moved * 8 / seconds}
