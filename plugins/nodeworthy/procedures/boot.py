"""Boot a node into another image so that what runs afterwards is proven, and no schedulable moment exists.

Order matters. The Node object goes first, by uid: an object that outlives its image would be adopted by the next
kubelet with whatever taints it has, while a kubelet that finds none registers with the taint of its image; a running
kubelet does not register again, so there is no hurry between deletion and reset, and a crash there leaves a node that
nobody can schedule to. Then the boot override, then one power cycle. Proof is a Ready Node under a new uid, a new boot
id, the ordered image's label and our taint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.records import Effect
from nodeworthy.ports import Bmc, ClusterNode, Power
from nodeworthy.procedures.effect import FAILED, INTENDED, PROVEN, Case
from nodeworthy.procedures.outcome import Waiting
from nodeworthy.procedures.reset import RESET, has_happened, send_reset

BOOT_OVERRIDE = "boot-override"
NODE_DELETE = "node-delete"
POWER_CYCLE = "PowerCycle"


@dataclass(frozen=True, slots=True)
class Image:
    """The image that is ordered: the name its kubelet shows as a label, and where firmware loads it from."""

    name: str
    uri: str


def boot(case: Case, step: str, image: Image) -> ClusterNode | Waiting:
    """Boot `image` once in this episode's attempt of `step`; return the proven Node, or wait for it.

    Raises Permanent when another image came up, or nothing did before the SKU's boot deadline.
    """
    key = _attempt(case, step)
    reset = case.newest(RESET, step)
    if reset is None or reset.key != key or reset.status == INTENDED:
        sent = _send(case, key, image)
        if isinstance(sent, Waiting):
            return sent
        reset = sent
    return _prove(case, reset, image)


def _attempt(case: Case, step: str) -> str:
    """Go on with the newest attempt; begin another when it failed, or when what it proved is no longer running."""
    newest = case.newest(RESET, step)
    if newest is not None and newest.status == PROVEN:
        seen = case.work.cluster.node(case.node.name)
        if seen is None or seen.boot_id != newest.proof["boot_id"]:
            return f"{step}/{int(newest.key.rsplit('/', 1)[1]) + 1}"
    keys = [case.attempt(kind, step) for kind in (NODE_DELETE, BOOT_OVERRIDE, RESET)]
    return max(keys, key=lambda key: int(key.rsplit("/", 1)[1]))


def _send(case: Case, key: str, image: Image) -> Effect | Waiting:
    """Delete, override, reset: each written down before it is done, none done twice."""
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        earlier = case.newest(RESET, key.rsplit("/", 1)[0])
        if earlier is None or earlier.key != key:
            before = _delete_node(case, key)
            _override(case, bmc, key, image)
        else:
            before = {name: earlier.detail.get(name, "") for name in ("uid", "boot_id", "machine_id")}
        state = bmc.state()
        return send_reset(case, bmc, "On" if state.power is Power.OFF else POWER_CYCLE, key, before)


def _delete_node(case: Case, key: str) -> Mapping[str, str]:
    """Delete the Node object that the old image registered; return what it was. Idempotent by uid."""
    name = case.node.name
    seen = case.work.cluster.node(name)
    detail = {
        "uid": seen.uid if seen else "",
        "boot_id": seen.boot_id if seen else "",
        "machine_id": seen.machine_id if seen else "",
    }
    asked = case.work.clock.now()
    effect = case.intend(NODE_DELETE, key, detail)
    before = {field: str(effect.detail[field]) for field in detail}
    if effect.status == INTENDED:
        if before["uid"] and seen is not None and seen.uid == before["uid"]:
            case.work.say(f"Deleting Node {name} (uid {before['uid']}): the next image registers as a new one.")
            case.in_time(asked, "The deletion of the Node")
            case.work.cluster.delete_node(name, uid=before["uid"])
        case.settle(effect, PROVEN, {"gone": before["uid"]})
    return before


def _override(case: Case, bmc: Bmc, key: str, image: Image) -> None:
    """Order the image for the next boot; proven by reading it back."""
    asked = case.work.clock.now()
    effect = case.intend(BOOT_OVERRIDE, key, {"uri": image.uri})
    if effect.status != INTENDED:
        return
    if effect.fresh or bmc.state().boot_override_uri != image.uri:
        case.work.say(f"Ordering image {image.name} ({image.uri}) for the next boot of {case.node.name}.")
        case.in_time(asked, f"The order to boot {image.name}")
        bmc.set_boot(image.uri, effect_id=effect.id)
    state = bmc.state()
    if state.boot_override_uri != image.uri or state.boot_override_enabled not in ("Once", "Continuous"):
        case.settle(effect, FAILED, {"uri": state.boot_override_uri, "enabled": state.boot_override_enabled})
        raise Permanent(
            f"The BMC of {case.node.name} took the order to boot {image.uri} and shows override "
            f"{state.boot_override_enabled or 'none'} of {state.boot_override_uri or 'nothing'}: update the BMC, or "
            "boot by PXE."
        )
    case.settle(effect, PROVEN, {"uri": state.boot_override_uri})


def _prove(case: Case, reset: Effect, image: Image) -> ClusterNode | Waiting:
    seen = case.work.cluster.node(case.node.name)
    policy = case.work.library.policy(case.node.pool)
    if seen is None or not is_new(seen, reset):
        deadline = _deadline(case, reset)
        if case.work.clock.now() >= deadline:
            _give_up(case, reset, image, deadline)
        return Waiting(
            f"{case.node.name} to boot {image.name}",
            policy["waits"]["cluster_poll"],
            deadline,
            {
                "kind": "node-booted",
                "image": image.name,
                "not_boot_id": reset.detail.get("boot_id", ""),
                "not_uid": reset.detail.get("uid", ""),
            },
        )
    _check_image(case, reset, image, seen)
    case.work.say(
        f"{case.node.name} runs {seen.image}: boot id {seen.boot_id} (was {reset.detail.get('boot_id') or 'none'}), "
        f"uid {seen.uid} (was {reset.detail.get('uid') or 'none'}), machine id {seen.machine_id}, kernel {seen.kernel}."
    )
    case.settle(reset, PROVEN, proof_of(seen))
    return seen


def _deadline(case: Case, reset: Effect) -> datetime:
    """Return until when the boot may take; a reset that the BMC took and does not show is given up much earlier."""
    waits = case.work.library.policy(case.node.pool)["waits"]
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        ignored = has_happened(case, reset, bmc.state()) is False
    longest: timedelta = waits["power"] if ignored else case.sku.bmc.boot_deadline + waits["node_ready"]
    return reset.intended_at + longest


def is_new(seen: ClusterNode, reset: Effect) -> bool:
    """Tell whether a Ready Node came up after this reset."""
    return (
        seen.ready
        and bool(seen.boot_id)
        and seen.boot_id != reset.detail.get("boot_id", "")
        and seen.uid != reset.detail.get("uid", "")
    )


def _check_image(case: Case, reset: Effect, image: Image, seen: ClusterNode) -> None:
    if seen.image != image.name:
        case.settle(reset, FAILED, proof_of(seen))
        raise Permanent(
            f"{case.node.name} booted image {seen.image or 'without a label'} where {image.name} was ordered: check "
            f"that {image.uri} serves that image and that the BMC honours a one-time HTTP boot, then clear this task."
        )
    isolation = case.work.library.lifecycle().projection("validation_booted").taints
    missing = [taint.key for taint in isolation if taint.key not in {one.key for one in seen.taints}]
    if missing:
        case.work.cluster.project(case.node.name, taints=isolation, labels={}, episode=case.lease.episode)
        case.settle(reset, FAILED, proof_of(seen))
        raise Permanent(
            f"Image {image.name} registered {case.node.name} without the taint {', '.join(missing)}, which was put on "
            "at once: make the image's kubelet register with it, since customers' pods could have come in between."
        )


def _give_up(case: Case, reset: Effect, image: Image, deadline: datetime) -> None:
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        state = bmc.state()
    moved = _moved(reset, state.last_reset)
    case.settle(reset, FAILED, {"power": state.power.value, "boot_progress": state.boot_progress, "moved": moved})
    seen = f"power {state.power}, boot progress {state.boot_progress or 'unknown'}"
    if not moved:
        seen += ", and the time of the last reset has not changed: the BMC ignored the reset"
    elif state.last_reset is None:
        seen += ", and no time of any reset: it may have ignored the reset"
    raise Permanent(
        f"{case.node.name} was sent into image {image.name} and no Ready Node came back by {deadline:%H:%M} UTC; its "
        f"BMC says {seen}: look at the console, then clear this task."
    )


def _moved(reset: Effect, last_reset: datetime | None) -> bool:
    return last_reset is None or last_reset.isoformat() != reset.detail["last_reset"]


def proof_of(seen: ClusterNode) -> dict[str, Any]:
    """Return what a boot is proven by."""
    return {"boot_id": seen.boot_id, "uid": seen.uid, "image": seen.image, "machine_id": seen.machine_id}
