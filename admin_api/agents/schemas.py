"""Bodies about agents (specification, "Agent")."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from admin_api.agents.stopped import stopped_text
from admin_api.identifiers import KeyId
from admin_api.keys.lifetime import ONE_END, KeyLifetime
from admin_api.keys.schemas import IssuedKeyAnswer
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.agents.listing_store import ListedAgent
from headgate.agents.model import Agent, AgentLimits, AgentStatus
from headgate.agents.service import MAX_OVERLAP_SECONDS
from headgate.organizations.mail_addresses import is_one_address
from headgate.organizations.stops import Stops


def _one_person_or_a_team(owner: str) -> str:
    """Separation of duties compares the whole text: a name with an address, or two addresses, would bar no person."""
    if "@" in owner and not is_one_address(owner):
        raise ValueError("must be one email address without a name, a user's id, or a team name without @")
    return owner


type AgentName = Annotated[StorableText, Field(min_length=1, max_length=128)]
type Description = Annotated[StorableText, Field(max_length=1024)]
type Owner = Annotated[StorableText, Field(min_length=1, max_length=320), AfterValidator(_one_person_or_a_team)]
type Tag = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9._:-]{0,63}$")]
type Tags = Annotated[list[Tag], Field(max_length=32)]
type StatusReasonText = Annotated[StorableText, Field(max_length=500)]


class Limits(BaseModel):
    """Null or omitted: the default limit."""

    model_config = ConfigDict(extra="forbid")

    requests_per_minute: int | None = Field(default=None, ge=1, le=100_000, description="For all of its keys together.")
    open_approvals: int | None = Field(default=None, ge=1, le=10_000)

    def parsed(self) -> AgentLimits:
        return AgentLimits(self.requests_per_minute, self.open_approvals)


class NewAgent(KeyLifetime):
    """POST /admin/agents; the lifetime is that of its first key."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"allOf": [ONE_END]})

    name: AgentName
    description: Description | None = None
    owner: Owner | None = Field(
        default=None,
        description=(
            "The person or team responsible for it: a user's id, an email address or a team name without @."
            " A person named here may read why its calls were denied, and is its owner for separation of duties."
        ),
    )
    tags: Tags = Field(default_factory=list)
    limits: Limits = Field(default_factory=Limits)


class ChangedAgent(BaseModel):
    """PUT /admin/agents/{id}. Omitted fields keep their values. null removes a value, except the name."""

    model_config = ConfigDict(extra="forbid")

    name: AgentName | SkipJsonSchema[None] = None
    description: Description | None = None
    owner: Owner | None = None
    tags: Tags | None = None
    limits: Limits | None = None


class StatusReason(BaseModel):
    """POST /admin/agents/{id}/suspend and /resume. The member, and the body itself, are optional."""

    model_config = ConfigDict(extra="forbid")

    reason: StatusReasonText | None = None


class KeyRotation(BaseModel):
    """POST /admin/agents/{id}/rotate-key. Every member, and the body itself, is optional."""

    model_config = ConfigDict(extra="forbid")

    overlap_seconds: int = Field(
        default=0, ge=0, le=MAX_OVERLAP_SECONDS, description="How long the replaced keys keep working."
    )
    key_id: KeyId | None = Field(default=None, description="Replace only this key. Default: all active keys.")


class AgentAnswer(BaseModel):
    id: str
    name: str
    description: str | None
    status: AgentStatus
    status_reason: str | None = Field(description="The reason of the suspension, if one was given.")
    stopped: str | None = Field(description="The stop of this agent or of the organization. Null: not stopped.")
    owner: str | None
    tags: list[str]
    limits: Limits
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime | None = Field(
        description="Time of the last use of one of its keys, with a delay of some seconds."
    )
    keys_due_for_rotation: int = Field(description="Active keys that are at least 90 days old.")


class CreatedAgentAnswer(AgentAnswer):
    """A new agent, with its first key, shown once."""

    api_key: IssuedKeyAnswer


class RotatedKeyAnswer(BaseModel):
    """The new key, and the keys that it replaces."""

    api_key: IssuedKeyAnswer
    replaced: list[str]
    overlap_seconds: int


def agent_answer(listed: ListedAgent, stops: Stops) -> AgentAnswer:
    agent = listed.agent
    return AgentAnswer(
        id=agent.agent_id,
        name=agent.name,
        description=agent.description,
        status=agent.status,
        status_reason=agent.status_reason,
        stopped=stopped_text(stops, agent.agent_id),
        owner=agent.owner,
        tags=list(agent.tags),
        limits=Limits(requests_per_minute=agent.limits.requests_per_minute, open_approvals=agent.limits.open_approvals),
        created_by=agent.created_by,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
        last_seen_at=listed.last_seen_at,
        keys_due_for_rotation=listed.keys_due_for_rotation,
    )


def created_agent_answer(agent: Agent, api_key: IssuedKeyAnswer, stops: Stops) -> CreatedAgentAnswer:
    return CreatedAgentAnswer(**dict(agent_answer(ListedAgent(agent, None, 0), stops)), api_key=api_key)
