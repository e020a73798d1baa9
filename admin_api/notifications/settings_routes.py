"""/admin/settings/notifications: through which channels people are told what, and when. Secrets are never shown."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.deliveries.schemas import DeliveryAnswer, delivery_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, dependencies_of, principal_of
from admin_api.errors import JSON
from admin_api.etag import IfMatch, expected_version
from admin_api.guarded_route import GuardedRoute
from admin_api.pagination import CountedPage, CurrentPage
from admin_api.schema import BaseModel
from admin_api.settings.versions import SettingVersionAnswer, versions_page
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.notifications.model import DEFAULT_EVENTS, ChannelKind, NotificationSettings
from headgate.notifications.parse import secrets_of
from headgate.notifications.recipient import users_behind
from headgate.notifications.service import load_settings, put_notifications, send_test, vault_name
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.vault.service import Vault

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


class ChannelTest(BaseModel):
    """POST /admin/settings/notifications/test."""

    model_config = ConfigDict(extra="forbid")

    channel: Annotated[str, Field(min_length=1, max_length=64)]


@router.get("/admin/settings/notifications", response_class=Response)
async def get_notifications(request: Request) -> Response:
    """Gets the notification settings. Shows which secrets are stored, and ``warnings`` about events that reach nobody.
    Without settings: no channels."""
    dependencies, principal = dependencies_of(request), principal_of(request)
    async with dependencies.database.transaction(principal.org_id) as connection:
        settings = await load_settings(connection, principal.org_id)
        setting = await get_setting(connection, principal.org_id, SettingName.NOTIFICATIONS)
        version = 0 if setting is None else setting.version
        return await _answer(connection, principal.org_id, settings, version, dependencies.vault)


@router.put("/admin/settings/notifications", response_class=Response)
async def set_notifications(request: Request, if_match: IfMatch = None) -> Response:
    """Replaces the notification settings. Omitted secrets are kept. If-Match: only if they are still at
    that version."""
    dependencies, principal = dependencies_of(request), principal_of(request)
    expected = expected_version(if_match, None)
    document = parse_strict(await request.body())
    async with administer(principal, dependencies) as change:
        settings, setting = await put_notifications(change, document, dependencies.vault)
        if expected is not None:
            expected.require(setting.version - 1)  # the row is locked by now; what this raises undoes the change
        return await _answer(change.connection, principal.org_id, settings, setting.version, dependencies.vault)


@router.get("/admin/settings/notifications/versions", response_model_exclude_unset=True)
async def list_all_versions(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[SettingVersionAnswer]:
    """Lists versions of the notification settings, newest first."""
    return await versions_page(dependencies, principal, SettingName.NOTIFICATIONS, page)


@router.post("/admin/settings/notifications/test", status_code=202)
async def test_channel(
    body: ChannelTest, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeliveryAnswer:
    """Sends a test message to a channel, enabled or not. GET /admin/notifications/{id} shows the result."""
    async with administer(principal, dependencies) as change:
        delivery = await send_test(change, body.channel)
    return delivery_answer(delivery, [])


async def _answer(
    connection: Connection, org_id: str, settings: NotificationSettings, version: int, vault: Vault
) -> Response:
    kept = set(await vault.names(connection, org_id, "notification/"))
    document = settings.record()
    channels: JsonObject = {}
    for name, channel in settings.channels.items():
        shown = channel.record()
        for member in secrets_of(channel.kind):
            shown[f"has_{member}"] = vault_name(name, member) in kept
        if channel.kind is ChannelKind.SLACK:
            # What to enter as the request URL under "Interactivity & Shortcuts" of the Slack app.
            shown["interactivity_path"] = f"/webhooks/slack/{channel.connection_id}"
        channels[name] = shown
    document["channels"] = channels
    document["warnings"] = list[JsonValue](_warnings(settings) + await _unknown(connection, org_id, settings))
    return Response(canonical_bytes(document), media_type=JSON, headers={"ETag": f'"{version}"'})


async def _unknown(connection: Connection, org_id: str, settings: NotificationSettings) -> list[str]:
    """Nobody decides through the links of such a channel; they would only find out when it matters."""
    named = {name: channel.recipient for name, channel in settings.channels.items() if channel.recipient is not None}
    known = await users_behind(connection, org_id, set(named.values()))
    return [
        f"channels.{name}.recipient: {recipient} is not exactly one member: its links cannot decide"
        for name, recipient in named.items()
        if recipient not in known
    ]


def _warnings(settings: NotificationSettings) -> list[str]:
    if not any(channel.enabled for channel in settings.channels.values()):
        return ["no channel is enabled: nobody is notified of held actions"]
    routes = settings.routes
    covered = not routes or any(
        "approval.requested" in (route.events or DEFAULT_EVENTS)
        and not (route.risk_levels or route.tools or route.agents or route.assignees or route.hours)
        and any(settings.channels[name].enabled for name in route.channels)
        for route in routes
    )
    if covered:
        return []
    return ["no rule covers every approval request: nobody is notified of a request that no rule covers"]
