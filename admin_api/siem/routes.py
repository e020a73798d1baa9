"""/admin/settings/siem: where recorded events are streamed to, and how far each destination is."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, principal_of
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from headgate.audit.feed_store import newest_seq
from headgate.db.database import Connection
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import parse_strict
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.siem.model import Destination, vault_name
from headgate.siem.service import load_destinations, put_destinations
from headgate.siem.store import load_states
from headgate.vault.service import Vault

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


class StreamAnswer(BaseModel):
    """``behind``: number of events not sent yet. ``failing_since`` and ``failure`` null: it accepts events."""

    address: str
    enabled: bool
    starts_at: str = Field(serialization_alias="from", description="The first events that the destination received.")
    has_authorization: bool
    last_seq: int | None
    behind: int | None
    sent_at: datetime | None
    failing_since: datetime | None
    failure: str | None


class StreamsAnswer(BaseModel):
    destinations: dict[str, StreamAnswer]


@router.get("/admin/settings/siem")
async def get_destinations(
    response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> StreamsAnswer:
    """Gets the SIEM destinations. If they were never set: no destinations, and no ETag."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        setting = await get_setting(connection, principal.org_id, SettingName.SIEM)
        if setting is not None:
            set_etag(response, setting.version)
        found = await load_destinations(connection, principal.org_id)
        return await _answer(connection, principal.org_id, found, dependencies.vault)


@router.put("/admin/settings/siem")
async def set_destinations(
    request: Request, response: Response, dependencies: CurrentDependencies, if_match: IfMatch = None
) -> StreamsAnswer:
    """Replaces the SIEM destinations. An omitted ``authorization`` is kept, unless the address changes. A new
    destination receives the events from now on, or all events (``"from": "beginning"``)."""
    principal = principal_of(request)
    expected = expected_version(if_match, None)
    document = parse_strict(await request.body())
    await apply_before_reading(dependencies.database, principal.org_id)  # "from now on" is behind what was recorded
    async with administer(principal, dependencies) as change:
        found, setting = await put_destinations(change, document, dependencies.vault)
        if expected is not None:
            expected.require(setting.version - 1)  # the row is locked by now; what this raises undoes the change
        set_etag(response, setting.version)
        return await _answer(change.connection, principal.org_id, found, dependencies.vault)


async def _answer(
    connection: Connection, org_id: str, destinations: dict[str, Destination], vault: Vault
) -> StreamsAnswer:
    states = {one.destination: one for one in await load_states(connection, org_id)}
    with_secret = set(await vault.names(connection, org_id, "siem/"))
    newest = await newest_seq(connection, org_id)
    shown: dict[str, StreamAnswer] = {}
    for name, one in destinations.items():
        state = states.get(name)
        shown[name] = StreamAnswer(
            address=one.address,
            enabled=one.enabled,
            starts_at=one.starts_at,
            has_authorization=vault_name(name) in with_secret,
            last_seq=None if state is None else state.seq,
            behind=None if state is None else newest - state.seq,
            sent_at=None if state is None else state.sent_at,
            failing_since=None if state is None else state.failing_since,
            failure=None if state is None else state.failure,
        )
    return StreamsAnswer(destinations=shown)
