"""What connections to social platforms have in common: how one is made, and whose it must be to be changed."""

from collections.abc import Mapping

from msgspec import Struct

from headgate.connections.draft import ConnectionDraft
from headgate.connections.model import AUTHORIZATION, Connection, ConnectionKind, Host
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.kernel.secrets import Secret


class Bound(Struct, frozen=True):
    """What every connection is made with."""

    name: str
    agents: frozenset[str]
    tools: frozenset[str]
    needs_placeholder: bool


def social_draft(
    bound: Bound,
    platform: str,
    kind: ConnectionKind,
    *,
    hosts: tuple[Host, ...],
    account: str | None,
    settings: JsonObject,
    secrets: Mapping[str, Secret],
) -> ConnectionDraft:
    return ConnectionDraft(
        name=bound.name,
        platform=platform,
        kind=kind,
        hosts=hosts,
        place=AUTHORIZATION,
        agents=bound.agents,
        tools=bound.tools,
        needs_placeholder=bound.needs_placeholder,
        account=account,
        scopes=(),
        settings=settings,
        secrets=secrets,
    )


def of_platform(connection: Connection, platform: str) -> Connection:
    """Raises ConflictError."""
    if connection.platform != platform:
        raise ConflictError(f"the connection {connection.name} is not to {platform}")
    return connection
