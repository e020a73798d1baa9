"""Bodies about the versions of a policy."""

from datetime import datetime
from typing import Any

from pydantic import Field

from admin_api.policies.schemas import PolicyAnswer, policy_answer
from admin_api.schema import BaseModel
from headgate.audit.model import ActorType
from headgate.policies.versions import PolicyVersion, VersionChange, VersionDiff


class ActorAnswer(BaseModel):
    type: ActorType
    id: str
    name: str | None


class PolicyVersionAnswer(BaseModel):
    """One version. Lists omit ``policy``."""

    version: int
    change: VersionChange
    changed_at: datetime
    changed_by: ActorAnswer | None = Field(description="Null: created before this was stored; the audit log has it.")
    change_note: str | None
    restored_from: int | None = Field(description="The version whose content this one restored.")
    name: str
    enabled: bool
    priority: int


class VersionDetailAnswer(PolicyVersionAnswer):
    policy: PolicyAnswer


class DecidingRuleAnswer(BaseModel):
    """The rule that made a verdict. Lines null: unknown, because several rules may have made it."""

    policy_name: str
    line: int | None = Field(description="In the policy's Rego, from 1.")
    last_line: int | None
    source: str | None = Field(description="From one line to the other.")


class DiffAnswer(BaseModel):
    """``diff`` is a unified diff of the Rego, empty without a difference. ``changes`` lists the other fields."""

    from_version: int = Field(serialization_alias="from")
    to_version: int = Field(serialization_alias="to")
    diff: str
    changes: dict[str, Any]


def _members(version: PolicyVersion) -> dict[str, Any]:
    actor = version.actor
    return {
        "version": version.version,
        "change": version.change,
        "changed_at": version.policy.updated_at,
        "changed_by": None if actor is None else ActorAnswer(type=actor.type, id=actor.id, name=actor.name),
        "change_note": version.note,
        "restored_from": version.restored_from,
        "name": version.policy.name,
        "enabled": version.policy.enabled,
        "priority": version.policy.priority,
    }


def version_answer(version: PolicyVersion) -> PolicyVersionAnswer:
    return PolicyVersionAnswer(**_members(version))


def version_detail_answer(version: PolicyVersion) -> VersionDetailAnswer:
    return VersionDetailAnswer(**_members(version), policy=policy_answer(version.policy))


def diff_answer(before: int, after: int, diff: VersionDiff) -> DiffAnswer:
    return DiffAnswer(from_version=before, to_version=after, diff=diff.text, changes=diff.changes)
