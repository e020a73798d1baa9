"""What is answered about connections: no secret."""

from datetime import date, datetime
from typing import Any

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.connections.check import CheckOutcome
from headgate.connections.model import Connection, ConnectionKind, ConnectionStatus, Location
from headgate.connections.platforms import Platform


class StatusesAnswer(BaseModel):
    """As the instance has written them (docs.joinmastodon.org/entities/Status)."""

    data: list[dict[str, Any]]


class ConnectionPlatformAnswer(BaseModel):
    name: str
    title: str
    kinds: list[ConnectionKind]
    hosts: list[str]
    scopes: list[str]
    documentation: str


class PlatformsAnswer(BaseModel):
    data: list[ConnectionPlatformAnswer]


class ConnectionPlaceAnswer(BaseModel):
    location: Location = Field(serialization_alias="in")
    name: str
    prefix: str


class ConnectionAnswer(BaseModel):
    """`status_reason`: why it does not work, or why its refresh fails. `expires_at`: of the current credential, which
    is replaced before. Secrets are never shown."""

    id: str
    name: str
    placeholder: str
    platform: str
    kind: ConnectionKind
    status: ConnectionStatus
    status_reason: str | None
    hosts: list[str]
    place: ConnectionPlaceAnswer
    agents: list[str]
    tools: list[str]
    needs_placeholder: bool
    account: str | None
    scopes: list[str]
    settings: dict[str, str]
    expires_at: datetime | None
    checked_at: datetime | None
    owner_id: str | None
    created_at: datetime
    updated_at: datetime


class OAuthStartAnswer(BaseModel):
    """Show the scopes, then send the browser to `authorization_url` within ten minutes."""

    connection: ConnectionAnswer
    authorization_url: str
    state: str
    redirect_uri: str
    scopes: list[str]
    expires_at: datetime


class ConnectionDayAnswer(BaseModel):
    day: date
    agent_id: str
    uses: int
    rejected: int = Field(description="Calls that the platform answered with 401.")
    last_used_at: datetime


class ConnectionUsageAnswer(BaseModel):
    connection_id: str
    days: int
    uses: int
    rejected: int
    last_used_at: datetime | None
    data: list[ConnectionDayAnswer]


class ConnectionHealthAnswer(BaseModel):
    """The stored state, without a request to the platform (a test makes one)."""

    connection_id: str
    status: ConnectionStatus
    is_usable: bool
    message: str | None
    failures: int
    checked_at: datetime | None
    expires_at: datetime | None
    refresh_at: datetime | None


class ConnectionTestAnswer(BaseModel):
    connection_id: str
    outcome: CheckOutcome
    success: bool
    message: str
    status: int | None
    latency_ms: float | None


class MastodonStatusAnswer(BaseModel):
    connection_id: str
    instance: str
    title: str | None
    version: str | None
    account: str
    display_name: str
    statuses_count: int | None
    followers_count: int | None


def platform_answer(platform: Platform) -> ConnectionPlatformAnswer:
    return ConnectionPlatformAnswer(
        name=platform.name,
        title=platform.title,
        kinds=list(platform.kinds),
        hosts=[str(host) for host in platform.hosts],
        scopes=list(platform.scopes),
        documentation=platform.documentation,
    )


def connection_answer(one: Connection) -> ConnectionAnswer:
    return ConnectionAnswer(
        id=one.connection_id,
        name=one.name,
        placeholder=one.placeholder,
        platform=one.platform,
        kind=one.kind,
        status=one.status,
        status_reason=one.status_reason,
        hosts=[str(host) for host in one.hosts],
        place=ConnectionPlaceAnswer(location=one.place.location, name=one.place.name, prefix=one.place.prefix),
        agents=sorted(one.agents),
        tools=sorted(one.tools),
        needs_placeholder=one.needs_placeholder,
        account=one.account,
        scopes=list(one.scopes),
        settings={name: str(value) for name, value in one.settings.items()},
        expires_at=one.expires_at,
        checked_at=one.checked_at,
        owner_id=one.owner_id,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )
