"""The event service keeps subscriptions; the lab delivers no events."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.routes import Answer, Context, Document, delete, get, post

_SUBSCRIPTIONS = "EventService/Subscriptions"


@get("EventService")
def service(context: Context) -> Document:
    """The event service."""
    target = ROOT + "EventService/Actions/EventService.SubmitTestEvent"
    return resource(
        "EventService",
        "EventService.v1_10_2",
        "Event Service",
        ServiceEnabled=True,
        DeliveryRetryAttempts=3,
        DeliveryRetryIntervalSeconds=60,
        Subscriptions=link(_SUBSCRIPTIONS),
        Actions={"#EventService.SubmitTestEvent": {"target": target}},
        Status=OK,
    )


@get(_SUBSCRIPTIONS)
def subscriptions(context: Context) -> Document:
    """All subscriptions."""
    return collection(_SUBSCRIPTIONS, "EventDestination", context.bmc.subscriptions)


@post(_SUBSCRIPTIONS)
def subscribe(context: Context) -> Answer:
    """Add a subscription."""
    if "Destination" not in context.body:
        raise errors.missing("Destination")
    number = context.bmc.next_number()
    wanted = ("Destination", "Protocol", "Context", "EventTypes", "EventFormatType", "RegistryPrefixes")
    fields = {name: context.body[name] for name in wanted if name in context.body}
    row = resource(f"{_SUBSCRIPTIONS}/{number}", "EventDestination.v1_15_1", "Event Subscription", **fields)
    context.bmc.subscriptions[number] = row
    context.effect("event-subscription", destination=context.body["Destination"])
    return Answer(201, row, {"Location": f"{ROOT}{_SUBSCRIPTIONS}/{number}"})


@get(_SUBSCRIPTIONS + "/{subscription}")
def subscription(context: Context, subscription: str) -> Document:
    """One subscription."""
    if subscription not in context.bmc.subscriptions:
        raise errors.not_found(ROOT + context.path)
    return context.bmc.subscriptions[subscription]


@delete(_SUBSCRIPTIONS + "/{subscription}")
def unsubscribe(context: Context, subscription: str) -> Answer:
    """Remove a subscription."""
    if context.bmc.subscriptions.pop(subscription, None) is None:
        raise errors.not_found(ROOT + context.path)
    return Answer()


@post("EventService/Actions/EventService.SubmitTestEvent")
def test_event(context: Context) -> Answer:
    """Taken and thrown away."""
    return Answer()
