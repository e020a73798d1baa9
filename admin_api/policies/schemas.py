"""Bodies about rule policies (specification, "Rule policy")."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headgate.policies.draft import NOTE_MAX_CHARACTERS, PolicyDraft
from headgate.policies.model import (
    DEFAULT_PRIORITY,
    DESCRIPTION_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    PRIORITY_MAX,
    REGO_MAX_BYTES,
    PolicyMode,
    RulePolicy,
)
from headgate.policies.service import SavedPolicy
from headgate.policies.shadow_store import ShadowTally


def _content_as_rego(body: Any) -> Any:
    """The reference example's name of the field, where it comes alone; beside the schema's it is unknown."""
    if isinstance(body, dict) and "content" in body and "rego_policy" not in body:
        return {("rego_policy" if name == "content" else name): value for name, value in body.items()}
    return body


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, body: Any) -> Any:
        return _content_as_rego(body)


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("must not be null: leave it out to keep what it is")
    return value


type _Kept[Value] = Annotated[Value | None, BeforeValidator(_not_null)]

_NOTE = Field(default=None, max_length=NOTE_MAX_CHARACTERS, description="Why, for those who read the versions.")
_VERSION = Field(default=None, ge=1, description="The version that this changes: 409 where it is not the newest.")


class NewPolicy(_Body):
    """POST /admin/policies. ``content`` is taken for ``rego_policy`` where it comes alone."""

    name: str = Field(min_length=1, max_length=NAME_MAX_CHARACTERS)
    rego_policy: str = Field(min_length=1, max_length=REGO_MAX_BYTES, description="OPA Rego")
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    enabled: bool = True
    priority: int = Field(default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX, description="A lower number is asked first.")
    mode: PolicyMode = Field(
        default=PolicyMode.ENFORCE, description="shadow: evaluated and recorded beside the decision, never deciding."
    )
    change_note: str | None = _NOTE

    def draft(self) -> PolicyDraft:
        return PolicyDraft(self.name, self.rego_policy, self.description, self.enabled, self.priority, self.mode)


class PolicyReplacement(NewPolicy):
    """PUT /admin/policies/{id}: what is left out gets its default."""

    version: int | None = _VERSION


class PolicyChange(_Body):
    """PATCH /admin/policies/{id}: what is left out stays. ``quarantine: null`` lets a policy be evaluated again."""

    name: _Kept[str] = Field(default=None, min_length=1, max_length=NAME_MAX_CHARACTERS)
    rego_policy: _Kept[str] = Field(default=None, min_length=1, max_length=REGO_MAX_BYTES)
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    enabled: _Kept[bool] = None
    priority: _Kept[int] = Field(default=None, ge=0, le=PRIORITY_MAX)
    mode: _Kept[PolicyMode] = None
    quarantine: Literal[None] = None
    change_note: str | None = _NOTE
    version: int | None = _VERSION

    def changes(self) -> dict[str, Any]:
        """What was sent, by the names of ``RulePolicy``."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"change_note", "version"}}


class PolicyToCheck(_Body):
    """POST /admin/policies/check. ``policy_id``: the policy that this would be the next version of."""

    rego_policy: str = Field(min_length=1, max_length=REGO_MAX_BYTES)
    name: str = Field(default="draft", min_length=1, max_length=NAME_MAX_CHARACTERS)
    priority: int = Field(default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX)
    mode: PolicyMode = PolicyMode.ENFORCE
    policy_id: str | None = None

    def draft(self) -> PolicyDraft:
        return PolicyDraft(self.name, self.rego_policy, None, True, self.priority, self.mode)


class CheckAnswer(BaseModel):
    """Of a policy that could be saved; one that could not is a 400 with its place."""

    valid: Literal[True] = True
    warnings: list[str]


class Restoration(BaseModel):
    """POST /admin/policies/{id}/restore."""

    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1, description="The version whose content is made the newest.")
    change_note: str | None = _NOTE


class PolicyAnswer(BaseModel):
    id: str
    name: str
    description: str | None
    rego_policy: str
    enabled: bool
    priority: int
    mode: PolicyMode
    created_at: datetime
    updated_at: datetime
    version: int
    quarantine: str | None = Field(description="Why it is not evaluated and denies instead; null: it is evaluated.")


class ShadowAnswer(BaseModel):
    """What a shadow policy said of calls since this version of it was saved."""

    asked: int = Field(description="Calls that it was asked about.")
    said: dict[str, int] = Field(description="By allow, deny, require_approval, none.")
    would_change: int = Field(description="Calls that would have been decided otherwise, had it been enforced.")
    changes: dict[str, int] = Field(description='Those by what it would have changed: "allow -> deny".')
    since: datetime | None


class PolicyDetailAnswer(PolicyAnswer):
    """``shadow`` is there for a policy that only watches."""

    shadow: ShadowAnswer | None = None


class SavedPolicyAnswer(PolicyAnswer):
    warnings: list[str] = Field(description="What whoever saved it should know, such as which policies it hides.")


def _members(policy: RulePolicy) -> dict[str, Any]:
    return {
        "id": policy.policy_id,
        "name": policy.name,
        "description": policy.description,
        "rego_policy": policy.rego_policy,
        "enabled": policy.enabled,
        "priority": policy.priority,
        "mode": policy.mode,
        "created_at": policy.created_at,
        "updated_at": policy.updated_at,
        "version": policy.version,
        "quarantine": policy.quarantine,
    }


def policy_answer(policy: RulePolicy) -> PolicyAnswer:
    return PolicyAnswer(**_members(policy))


def policy_detail_answer(policy: RulePolicy, tally: ShadowTally | None) -> PolicyDetailAnswer:
    if tally is None:
        return PolicyDetailAnswer(**_members(policy))
    shadow = ShadowAnswer(
        asked=tally.asked,
        said=tally.said,
        would_change=tally.would_change,
        changes=tally.changes,
        since=tally.since,
    )
    return PolicyDetailAnswer(**_members(policy), shadow=shadow)


def saved_policy_answer(saved: SavedPolicy) -> SavedPolicyAnswer:
    return SavedPolicyAnswer(**_members(saved.policy), warnings=list(saved.warnings))
