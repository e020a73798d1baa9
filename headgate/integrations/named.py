"""Checks that agents and users named by settings belong to the organization."""

from headgate.agents.store import find_agent
from headgate.db.database import Connection
from headgate.integrations.form import IntegrationSettings
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github_actions.settings import GitHubActionsSettings
from headgate.integrations.tracker_settings import AskingSettings
from headgate.kernel.errors import ValidationError
from headgate.organizations.store import find_users


async def require_known(connection: Connection, org_id: str, settings: IntegrationSettings) -> None:
    """Raises ValidationError, which names the member."""
    match settings:
        case GitHubSettings(agent_id=agent_id) if agent_id is not None:
            await _require_agent(connection, org_id, "agent_id", agent_id)
        case GitHubActionsSettings():
            for agent_id in dict.fromkeys(one.agent_id for one in settings.bindings):
                await _require_agent(connection, org_id, "bindings", agent_id)
        case AskingSettings():
            wanted = set(settings.people.values())
            if unknown := sorted(wanted - (await find_users(connection, org_id, wanted)).keys()):
                raise _unknown("people", f"there is no user {unknown[0]}")


async def _require_agent(connection: Connection, org_id: str, field: str, agent_id: str) -> None:
    if await find_agent(connection, org_id, agent_id) is None:
        raise _unknown(field, f"there is no agent {agent_id}")


def _unknown(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})
