"""/v1/connections: made, listed, bound, tested and removed; their secrets are shown to nobody."""

from typing import Annotated

from fastapi import APIRouter, Query
from msgspec.structs import replace
from starlette.responses import Response

from admin_api.change import administer
from admin_api.connections.answers import (
    ConnectionAnswer,
    ConnectionDayAnswer,
    ConnectionHealthAnswer,
    ConnectionTestAnswer,
    ConnectionUsageAnswer,
    PlatformsAnswer,
    connection_answer,
    platform_answer,
)
from admin_api.connections.schemas import ChangedConnection, NewConnection
from admin_api.connections.tagged import seen_revision, tagged_answer
from admin_api.deleted import DeletedAnswer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ConnectionId
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from headgate.approvals.change_account import end_what_was_asked
from headgate.audit.model import EventType
from headgate.connections.check import CheckOutcome
from headgate.connections.draft import (
    ConnectionDraft,
    invalid,
    parse_hosts,
    parse_place,
    parse_secrets,
    parse_settings,
)
from headgate.connections.model import ConnectionKind, ConnectionStatus
from headgate.connections.platforms import find_platform, platforms
from headgate.connections.service import create_connection, rebind_connection, record, remove_connection
from headgate.connections.store import get_connection, list_connections
from headgate.connections.use_store import uses_of
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=GuardedRoute, tags=["connections"])


@router.get("/v1/connections/platforms")
async def list_platforms() -> PlatformsAnswer:
    """Lists the platforms for connections. Includes their kinds and the hosts that receive the credential."""
    return PlatformsAnswer(data=[platform_answer(one) for one in platforms().values()])


@router.get("/v1/connections", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    platform: Annotated[str | None, Query(max_length=64)] = None,
    status: ConnectionStatus | None = None,
    name: Annotated[str | None, Query(max_length=64, description="The exact name.")] = None,
) -> CountedPage[ConnectionAnswer]:
    """Lists connections, newest first."""
    async with dependencies.database.transaction(principal.org_id) as db:
        found = await list_connections(
            db,
            principal.org_id,
            platform=platform,
            status=status,
            name=name,
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
    return counted_page(
        page, [connection_answer(one) for one in found.connections], found.total, is_minimum=found.total_is_minimum
    )


@router.post("/v1/connections", status_code=201)
async def create(
    body: NewConnection, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Creates a connection with an existing credential: a key, a password, a certificate, or an OAuth client."""
    bound, platform = body.bound(), find_platform(body.platform)
    if body.kind not in platform.kinds:
        raise invalid("kind", f"{platform.name} accepts only {', '.join(one.value for one in platform.kinds)} here")
    draft = ConnectionDraft(
        name=bound.name,
        platform=platform.name,
        kind=body.kind,
        hosts=parse_hosts(body.hosts),
        place=parse_place(body.kind, body.place.location.value, body.place.name, body.place.prefix),
        agents=bound.agents,
        tools=bound.tools,
        needs_placeholder=bound.needs_placeholder,
        account=body.account,
        scopes=tuple(body.scopes),
        settings=parse_settings(body.kind, dict(body.settings)),
        secrets=parse_secrets(body.kind, body.credentials),
    )
    waits = body.kind is ConnectionKind.CLIENT_CREDENTIALS
    async with administer(principal, dependencies) as change:
        connection = await create_connection(
            change,
            draft,
            dependencies.vault,
            status=ConnectionStatus.PENDING if waits else ConnectionStatus.ACTIVE,
            refresh_at=change.at if waits else None,
        )
    if waits:
        try:
            connection = await dependencies.connections.refreshes.refresh(
                principal.org_id, connection.connection_id, actor=principal.actor, seen_version=1
            )
        except HeadgateError:
            # It is there, and says why it does not work; the worker goes on asking where that may help.
            async with dependencies.database.transaction(principal.org_id) as db:
                connection = await get_connection(db, principal.org_id, connection.connection_id)
    return connection_answer(connection)


@router.get("/v1/connections/{connection_id}")
async def get(
    connection_id: ConnectionId, response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Gets one connection, without its secrets."""
    async with dependencies.database.transaction(principal.org_id) as db:
        return tagged_answer(await get_connection(db, principal.org_id, connection_id), response)


@router.patch("/v1/connections/{connection_id}")
async def update(
    connection_id: ConnectionId,
    body: ChangedConnection,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> ConnectionAnswer:
    """Updates the agents and tools of a connection, and its secret. Applies to the next decision. If-Match: only if it
    is still at that version."""
    async with administer(principal, dependencies) as change:
        before = await get_connection(change.connection, principal.org_id, connection_id)
        binding = replace(body.binding(), seen_revision=seen_revision(if_match))
        if body.credentials is not None:
            binding = replace(binding, secrets=parse_secrets(before.kind, body.credentials))
        after = await rebind_connection(change, before.connection_id, binding, dependencies.vault)
        return tagged_answer(await end_what_was_asked(change, before, after), response)


@router.delete("/v1/connections/{connection_id}")
async def delete(
    connection_id: ConnectionId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeletedAnswer:
    """Deletes a connection and its secret. Calls carry it no longer from the next decision on."""
    async with administer(principal, dependencies) as change:
        await remove_connection(change, connection_id, dependencies.vault)
    return DeletedAnswer(id=connection_id)


@router.post("/v1/connections/{connection_id}/refresh")
async def refresh(
    connection_id: ConnectionId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Refreshes the credential now. Concurrent requests share one request to the platform."""
    refreshed = await dependencies.connections.refreshes.refresh(principal.org_id, connection_id, actor=principal.actor)
    return connection_answer(refreshed)


@router.get("/v1/connections/{connection_id}/usage")
async def usage(
    connection_id: ConnectionId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    days: Annotated[int, Query(ge=1, le=90)] = 30,
) -> ConnectionUsageAnswer:
    """Gets the use of a connection by day and agent, newest day first. Each use is also in the audit log."""
    async with dependencies.database.transaction(principal.org_id) as db:
        connection = await get_connection(db, principal.org_id, connection_id)
        found = await uses_of(db, principal.org_id, connection.connection_id, days=days)
    return ConnectionUsageAnswer(
        connection_id=connection.connection_id,
        days=days,
        uses=sum(one.uses for one in found),
        rejected=sum(one.rejected for one in found),
        last_used_at=max((one.last_used_at for one in found), default=None),
        data=[
            ConnectionDayAnswer(
                day=one.day,
                agent_id=one.agent_id,
                uses=one.uses,
                rejected=one.rejected,
                last_used_at=one.last_used_at,
            )
            for one in found
        ],
    )


@router.get("/v1/connections/{connection_id}/health")
async def health(
    connection_id: ConnectionId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionHealthAnswer:
    """Gets the stored state of a connection, without a request to the platform."""
    async with dependencies.database.transaction(principal.org_id) as db:
        one = await get_connection(db, principal.org_id, connection_id)
    has_expired = one.expires_at is not None and one.expires_at <= dependencies.clock()
    return ConnectionHealthAnswer(
        connection_id=one.connection_id,
        status=one.status,
        is_usable=one.status is ConnectionStatus.ACTIVE and not has_expired,
        message=one.status_reason or ("its credential has expired" if has_expired else None),
        failures=one.failures,
        checked_at=one.checked_at,
        expires_at=one.expires_at,
        refresh_at=one.refresh_at,
    )


@router.post("/v1/connections/{connection_id}/test")
async def test(
    connection_id: ConnectionId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionTestAnswer:
    """Tests a connection with a read-only request to the platform. If the platform refuses it, the connection is marked
    as broken."""
    found = await dependencies.connections.checks.check(principal.org_id, connection_id, actor=principal.actor)
    async with administer(principal, dependencies) as change:
        one = await get_connection(change.connection, principal.org_id, connection_id)
        await record(change, EventType.CONNECTION_TESTED, one, outcome=found.outcome.value)
    return ConnectionTestAnswer(
        connection_id=one.connection_id,
        outcome=found.outcome,
        success=found.outcome is CheckOutcome.WORKS,
        message=found.message,
        status=found.status,
        latency_ms=found.latency_ms,
    )
