"""Service root, sessions and accounts."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import ROOT, collection, link, resource
from lab.redfish.resources.unsafe import unsafe
from lab.redfish.routes import Answer, Context, Document, delete, get, post
from lab.truth import seeded


@get("")
def root(context: Context) -> Document:
    """The service root, which anyone may read."""
    services = (
        "Systems",
        "Chassis",
        "Fabrics",
        "Managers",
        "UpdateService",
        "SessionService",
        "AccountService",
        "EventService",
        "ComponentIntegrity",
    )
    return {
        "@odata.id": ROOT,
        "@odata.type": "#ServiceRoot.v1_16_1.ServiceRoot",
        "Id": "RootService",
        "Name": "Root Service",
        "RedfishVersion": context.platform.redfish_version,
        "UUID": seeded.identity(context.node.seed, context.node.name, "bmc"),
        "Vendor": context.platform.manufacturer,
        "Product": context.platform.bmc_product,
        "ProtocolFeaturesSupported": {
            "ExpandQuery": {
                "ExpandAll": False,
                "Levels": context.platform.supports_expand,
                "Links": False,
                "NoLinks": context.platform.supports_expand,
                "MaxLevels": 1,
            },
            "FilterQuery": False,
            "SelectQuery": True,
        },
        **{name: link(name) for name in services},
        "Tasks": link("TaskService"),
        "Links": {"Sessions": link("SessionService/Sessions")},
        "Oem": {"NodeworthyLab": {"Simulated": True}},
    }


@get("odata")
def odata(context: Context) -> Document:
    """The OData service document."""
    names = ("Systems", "Chassis", "Fabrics", "Managers", "UpdateService", "SessionService", "TaskService")
    rows = [{"name": name, "kind": "Singleton", "url": ROOT + name} for name in names]
    return {"@odata.context": ROOT + "$metadata", "value": rows}


@get("SessionService")
def session_service(context: Context) -> Document:
    """How sessions behave here; their time-out counts real seconds."""
    return resource(
        "SessionService",
        "SessionService.v1_1_9",
        "Session Service",
        ServiceEnabled=True,
        SessionTimeout=int(context.platform.account.session_timeout_seconds),
        Sessions=link("SessionService/Sessions"),
    )


@get("SessionService/Sessions")
def sessions(context: Context) -> Document:
    """The open sessions."""
    return collection("SessionService/Sessions", "Session", context.bmc.sessions)


@post("SessionService/Sessions")
def log_in(context: Context) -> Answer:
    """Open a session."""
    for name in ("UserName", "Password"):
        if name not in context.body:
            raise errors.missing(name)
    session = context.door.log_in(context.node, context.bmc, context.body["UserName"], context.body["Password"])
    path = f"SessionService/Sessions/{session.id}"
    return Answer(201, _session(path, session.user), {"Location": ROOT + path, "X-Auth-Token": session.token})


@get("SessionService/Sessions/{session}")
def one_session(context: Context, session: str) -> Document:
    """One session; its token is never shown again."""
    if session not in context.bmc.sessions:
        raise errors.not_found(ROOT + context.path)
    return _session(context.path, context.bmc.sessions[session].user)


@delete("SessionService/Sessions/{session}")
def log_out(context: Context, session: str) -> Answer:
    """Close a session."""
    if context.bmc.sessions.pop(session, None) is None:
        raise errors.not_found(ROOT + context.path)
    return Answer()


def _session(path: str, user: str) -> Document:
    return resource(path, "Session.v1_7_0", "User Session", UserName=user)


@get("AccountService")
def account_service(context: Context) -> Document:
    """The rules of accounts."""
    rules = context.platform.account
    return resource(
        "AccountService",
        "AccountService.v1_15_0",
        "Account Service",
        ServiceEnabled=True,
        AccountLockoutThreshold=rules.lockout_threshold,
        AccountLockoutDuration=int(rules.lockout_seconds),
        Accounts=link("AccountService/Accounts"),
    )


@get("AccountService/Accounts")
def accounts(context: Context) -> Document:
    """The account that we log in with, and the factory's, which is switched off."""
    return collection("AccountService/Accounts", "ManagerAccount", ["1", "2"])


@get("AccountService/Accounts/{account}")
def account(context: Context, account: str) -> Document:
    """An account, without its password."""
    if account not in ("1", "2"):
        raise errors.not_found(ROOT + context.path)
    if account == "2":
        enabled = unsafe(context, "password") is not None
        return _account(context, "factory", enabled=enabled, locked=False, change=True)
    locked = context.bmc.locked_until is not None and context.world.clock.now() < context.bmc.locked_until
    return _account(context, context.door.username, enabled=True, locked=locked, change=False)


def _account(context: Context, name: str, *, enabled: bool, locked: bool, change: bool) -> Document:
    return resource(
        context.path,
        "ManagerAccount.v1_12_0",
        "User Account",
        UserName=name,
        Enabled=enabled,
        RoleId="Administrator",
        Locked=locked,
        PasswordChangeRequired=change,
    )


@get("Systems")
def systems(context: Context) -> Document:
    """The host and the HGX baseboard; quirk 1 lists the baseboard first."""
    order = [context.host_system, context.platform.baseboard_system]
    if context.has("baseboard-first"):
        order.reverse()
    return collection("Systems", "ComputerSystem", order)


@get("Chassis")
def chassis(context: Context) -> Document:
    """Every chassis: the server, the baseboard, and one per GPU that is there."""
    return collection("Chassis", "Chassis", chassis_ids(context))


@get("Managers")
def managers(context: Context) -> Document:
    """The BMC, the baseboard's controller and the fabric manager."""
    platform = context.platform
    return collection(
        "Managers", "Manager", [platform.host_manager, platform.baseboard_manager, *platform.other_managers]
    )


def chassis_ids(context: Context) -> list[str]:
    """Ids of all chassis, the server's first."""
    platform = context.platform
    gpus = [platform.gpu_chassis.format(number=gpu.index + 1) for gpu in context.parts.gpus if gpu.present]
    return [platform.host_chassis, platform.baseboard_chassis, *platform.other_chassis, *gpus]
