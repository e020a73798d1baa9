"""Agents and the keys that prove who is calling."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.agents.scopes import KeyKind, Scope


class AgentStatus(StrEnum):
    """A suspended agent can be resumed; a deactivated one is history."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    DEACTIVATED = "deactivated"


class AgentLimits(Struct, frozen=True):
    """An agent's own limits in the place of everybody's; None: as everybody's.

    ``requests_per_minute`` holds for all of its keys together, through the API and through the gate.
    """

    requests_per_minute: int | None = None
    open_approvals: int | None = None


NO_LIMITS: Final = AgentLimits()


class KeyStatus(StrEnum):
    """``STOPPED``: the person who made it for a program was deactivated, and nobody has taken it over."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"
    STOPPED = "stopped"


class Agent(Struct, frozen=True):
    org_id: str
    agent_id: str
    name: str
    description: str | None
    status: AgentStatus
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    owner: str | None = None
    tags: tuple[str, ...] = ()
    limits: AgentLimits = NO_LIMITS
    status_reason: str | None = None


class ApiKey(Struct, frozen=True):
    """A key as it is stored: everything about it except the key itself. ``user_id``: who answers for it, which is who
    made it, or has taken it over. ``stopped_at``: when they were deactivated; an agent's key is its agent's.
    """

    org_id: str
    key_id: str
    kind: KeyKind
    agent_id: str | None
    user_id: str | None
    name: str | None
    display: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    stopped_at: datetime | None = None

    def status(self, now: datetime) -> KeyStatus:
        """Revocation outranks expiry: it is what a person did."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return KeyStatus.EXPIRED
        return KeyStatus.ACTIVE if self.stopped_at is None else KeyStatus.STOPPED


class KeyIdentity(Struct, frozen=True):
    """Who a valid key speaks for, as of one generation of the organization's state. ``owner_issuer``: the issuer of the
    person who answers for it; None: nobody does, or it is an agent's."""

    org_id: str
    key_id: str
    kind: KeyKind
    agent_id: str | None
    agent_name: str | None
    user_id: str | None
    scopes: frozenset[Scope]
    expires_at: datetime | None
    generation: int
    limits: AgentLimits = NO_LIMITS
    owner_issuer: str | None = None
