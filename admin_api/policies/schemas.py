"""Bodies about rule policies (specification, "Rule policy")."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from headgate.policies.model import (
    DEFAULT_PRIORITY,
    DESCRIPTION_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    PRIORITY_MAX,
    REGO_MAX_BYTES,
    RulePolicy,
)


class NewPolicy(BaseModel):
    """POST /admin/policies."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=NAME_MAX_CHARACTERS)
    rego_policy: str = Field(min_length=1, max_length=REGO_MAX_BYTES, description="OPA Rego")
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    enabled: bool = True
    priority: int = Field(default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX, description="A lower number is asked first.")


class PolicyAnswer(BaseModel):
    id: str
    name: str
    description: str | None
    rego_policy: str
    enabled: bool
    priority: int
    created_at: datetime
    updated_at: datetime
    version: int
    quarantine: str | None = Field(description="Why it is not evaluated and denies instead; null: it is evaluated.")


class CreatedPolicyAnswer(PolicyAnswer):
    warnings: list[str] = Field(description="What whoever saved it should know, such as which policies it hides.")


def policy_answer(policy: RulePolicy) -> PolicyAnswer:
    return PolicyAnswer(
        id=policy.policy_id,
        name=policy.name,
        description=policy.description,
        rego_policy=policy.rego_policy,
        enabled=policy.enabled,
        priority=policy.priority,
        created_at=policy.created_at,
        updated_at=policy.updated_at,
        version=policy.version,
        quarantine=policy.quarantine,
    )


def created_policy_answer(policy: RulePolicy, warnings: tuple[str, ...]) -> CreatedPolicyAnswer:
    return CreatedPolicyAnswer(**dict(policy_answer(policy)), warnings=list(warnings))
