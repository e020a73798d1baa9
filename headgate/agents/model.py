"""Agents and the keys that prove who is calling."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headgate.agents.scopes import KeyKind, Scope


class AgentStatus(StrEnum):
    ACTIVE = "active"
    DEACTIVATED = "deactivated"


class KeyStatus(StrEnum):
    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Agent:
    org_id: str
    agent_id: str
    name: str
    description: str | None
    status: AgentStatus
    created_by: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored: everything about it except the key itself."""

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

    def status(self, now: datetime) -> KeyStatus:
        """Revocation outranks expiry: it is what a person did."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return KeyStatus.EXPIRED
        return KeyStatus.ACTIVE


@dataclass(frozen=True, slots=True)
class KeyIdentity:
    """Who a valid key speaks for, as of one generation of the organization's state."""

    org_id: str
    key_id: str
    kind: KeyKind
    agent_id: str | None
    agent_name: str | None
    user_id: str | None
    scopes: frozenset[Scope]
    expires_at: datetime | None
    generation: int
