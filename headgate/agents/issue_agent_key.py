"""Issues a short-lived key, with which an integration acts as the agent that its settings name."""

from datetime import timedelta

from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import IssuedKey, create_key
from headgate.organizations.change import OrganizationChange


async def issue_agent_key(change: OrganizationChange, agent_id: str, name: str, lifetime: timedelta) -> IssuedKey:
    """Issues and records a key like any other. Raises NotFoundError, or ConflictError if the agent is not active."""
    return await create_key(
        change, kind=KeyKind.AGENT, scopes=KIND_SCOPES[KeyKind.AGENT], agent_id=agent_id,
        name=name[:128], expires_at=change.at + lifetime,
    )  # fmt: skip
