"""A connection: whose credential, towards which hosts, in which place, for which agents and tools.

Nothing here is secret: this is what decisions, lists and the record may hold. The secret itself is in the vault.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339

ANY: Final = "*"
PLACEHOLDER: Final = "hg_placeholder_"


class ConnectionKind(StrEnum):
    """How a call is authenticated. Stored; never renamed."""

    API_KEY = "api_key"
    BEARER = "bearer"
    BASIC = "basic"
    CLIENT_CREDENTIALS = "client_credentials"
    OAUTH2 = "oauth2"
    AWS_SIGV4 = "aws_sigv4"
    MTLS = "mtls"
    BLUESKY = "bluesky"


class ConnectionStatus(StrEnum):
    """``PENDING``: nobody has consented yet. ``BROKEN``: the platform no longer takes the credential."""

    PENDING = "pending"
    ACTIVE = "active"
    BROKEN = "broken"


class Location(StrEnum):
    HEADER = "header"
    QUERY = "query"
    BODY = "body"


class Place(Struct, frozen=True):
    """Where the credential goes: a header (``name`` in lower case) after ``prefix``, a member of the query, or a member
    at the top of a JSON or form body."""

    location: Location
    name: str
    prefix: str = ""

    def document(self) -> JsonObject:
        return {"in": self.location.value, "name": self.name, "prefix": self.prefix}


AUTHORIZATION: Final = Place(Location.HEADER, "authorization", "Bearer ")


class Host(Struct, frozen=True):
    """Exactly one origin; its scheme is https."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Connection(Struct, frozen=True):
    """``agents`` and ``tools``: which may use it; ``*`` in them: all. ``needs_placeholder``: only for calls that carry
    its placeholder; else for every call of these to its hosts. ``settings``: what its kind needs beside the secret.
    ``revision`` moves when a person changes it, or when it breaks. ``account_since``: when it last began to stand for
    another account, or for one of which nobody knows whether it is another."""

    org_id: str
    connection_id: str
    name: str
    platform: str
    kind: ConnectionKind
    status: ConnectionStatus
    status_reason: str | None
    hosts: tuple[Host, ...]
    place: Place
    agents: frozenset[str]
    tools: frozenset[str]
    needs_placeholder: bool
    account: str | None
    scopes: tuple[str, ...]
    settings: JsonObject
    revision: int
    secret_version: int
    expires_at: datetime | None
    refresh_at: datetime | None
    check_at: datetime | None
    checked_at: datetime | None
    failures: int
    owner_id: str | None
    account_since: datetime
    created_at: datetime
    updated_at: datetime

    @property
    def covered(self) -> str:
        """What an approval is bound to: this connection, as the account that it stands for."""
        if self.account_since == self.created_at:
            return self.connection_id
        return f"{self.connection_id} {rfc3339(self.account_since)}"

    @property
    def placeholder(self) -> str:
        return PLACEHOLDER + self.name

    @property
    def vault_name(self) -> str:
        return f"connection/{self.connection_id}"

    def serves(self, agent_id: str, tool: str) -> bool:
        """Whether it is bound to this agent and this tool."""
        return (ANY in self.agents or agent_id in self.agents) and (ANY in self.tools or tool in self.tools)

    def shown(self) -> JsonObject:
        """What policies read as ``input.connection``, and what the record says was used."""
        return {"id": self.connection_id, "name": self.name, "platform": self.platform}
