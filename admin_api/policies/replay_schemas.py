"""Bodies about replays."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, model_validator

from admin_api.identifiers import AgentId, PolicyId
from admin_api.instants import InstantText
from admin_api.json_values import WholeNumber
from admin_api.policies.version_schemas import ActorAnswer
from admin_api.schema import BaseModel
from headgate.policies.model import DEFAULT_PRIORITY, PRIORITY_MAX, REGO_MAX_BYTES, PolicyMode
from headgate.policies.replay_report_store import KeptReport

DEFAULT_MOST = 100_000
_MOST = 1_000_000
_NEWEST_MOST = 10_000


class ReplayBody(BaseModel):
    """POST /admin/policies/replay: a policy as it would be. ``policy_id``: the policy that it changes; else a new one.

    ``mode`` is enforce unless it is named, so that a policy that only watches is replayed as deciding.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": "string"}}} for name in ("policy_id", "rego_policy")
            ]
        },
    )

    policy_id: PolicyId | None = None
    rego_policy: str | None = Field(default=None, min_length=1, max_length=REGO_MAX_BYTES)
    priority: Annotated[WholeNumber, Field(ge=0, le=PRIORITY_MAX)] | None = Field(default=None)
    enabled: StrictBool = True
    mode: PolicyMode = PolicyMode.ENFORCE
    start_date: InstantText | None = Field(default=None, description="Default: one day before the end.")
    end_date: InstantText | None = Field(default=None, description="Default: now.")
    agent_id: AgentId | None = None
    limit: WholeNumber = Field(
        default=DEFAULT_MOST, ge=1, le=_MOST, description="Maximum number of actions, oldest first."
    )
    newest: Annotated[WholeNumber, Field(ge=1, le=_NEWEST_MOST)] | None = Field(
        default=None, description="Only this number of newest actions of the period."
    )
    examples: WholeNumber = Field(default=3, ge=0, le=20, description="Of each kind of change.")
    detectors: StrictBool = Field(
        default=False,
        description="Also evaluate content policies without a language model on the recorded content, for both.",
    )
    keep: StrictBool = Field(default=False, description="Store the report.")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, body: Any) -> Any:
        if isinstance(body, dict) and "content" in body and "rego_policy" not in body:
            return {("rego_policy" if name == "content" else name): value for name, value in body.items()}
        return body

    @model_validator(mode="after")
    def _something(self) -> "ReplayBody":
        if self.policy_id is None and self.rego_policy is None:
            raise ValueError("Give policy_id or rego_policy.")
        return self

    @property
    def draft_priority(self) -> int:
        return DEFAULT_PRIORITY if self.priority is None else self.priority


class KeptReplayAnswer(BaseModel):
    id: str
    created_at: datetime
    created_by: ActorAnswer | None
    report: dict[str, Any]


def kept_replay_answer(kept: KeptReport) -> KeptReplayAnswer:
    actor = kept.created_by
    return KeptReplayAnswer(
        id=kept.replay_id,
        created_at=kept.created_at,
        created_by=None if actor is None else ActorAnswer(type=actor.type, id=actor.id, name=actor.name),
        report=kept.report,
    )
