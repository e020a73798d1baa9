"""Bodies about agents (specification, "Agent")."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from admin_api.keys.schemas import IssuedKeyAnswer
from admin_api.text import StorableText
from headgate.agents.model import Agent
from headgate.agents.service import MAX_OVERLAP_SECONDS


class NewAgent(BaseModel):
    """POST /admin/agents."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[StorableText, Field(min_length=1, max_length=128)]
    description: Annotated[StorableText, Field(max_length=1024)] | None = None


class KeyRotation(BaseModel):
    """POST /admin/agents/{id}/rotate-key. Every member, and the body itself, is optional."""

    model_config = ConfigDict(extra="forbid")

    overlap_seconds: int = Field(
        default=0, ge=0, le=MAX_OVERLAP_SECONDS, description="How long the replaced keys go on working."
    )
    key_id: str | None = Field(default=None, description="Replace this key only; default: all that work.")


class AgentAnswer(BaseModel):
    id: str
    name: str
    description: str | None
    status: str = Field(description="active or deactivated")
    created_by: str | None
    created_at: datetime
    updated_at: datetime


class CreatedAgentAnswer(AgentAnswer):
    """A new agent, with its first key, which is shown this once."""

    api_key: IssuedKeyAnswer


class RotatedKeyAnswer(BaseModel):
    """The new key, and which ones it replaces."""

    api_key: IssuedKeyAnswer
    replaced: list[str]
    overlap_seconds: int


def agent_answer(agent: Agent) -> AgentAnswer:
    return AgentAnswer(
        id=agent.agent_id,
        name=agent.name,
        description=agent.description,
        status=agent.status,
        created_by=agent.created_by,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def created_agent_answer(agent: Agent, api_key: IssuedKeyAnswer) -> CreatedAgentAnswer:
    return CreatedAgentAnswer(**dict(agent_answer(agent)), api_key=api_key)
