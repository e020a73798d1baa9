"""Bodies about rule policies (specification, "Rule policy")."""

import json
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, model_validator
from pydantic.json_schema import SkipJsonSchema

from admin_api.description.choices import at_most_one, exactly_one
from admin_api.identifiers import PolicyId
from admin_api.json_values import WholeNumber
from admin_api.pagination import Shape
from admin_api.schema import BaseModel
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import ValidationError
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
from headgate.policies.rule_shape import parse_rules
from headgate.policies.service import SavedPolicy
from headgate.policies.shadow_store import ShadowTally
from headgate.policies.suites.cases import cases_of
from headgate.policies.translate_rules import translate


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
        raise ValueError("must not be null: leave it out to keep the current value")
    return value


CASES_MAX: Final = 500
_NOT_CONTENT: Final = frozenset({"change_note", "version", "accept_failing_cases"})
_Value = TypeVar("_Value")
# Not ``type``: each use would be a schema of its own in the description.
_Kept = Annotated[_Value | SkipJsonSchema[None], BeforeValidator(_not_null)]

_NOTE = Field(default=None, max_length=NOTE_MAX_CHARACTERS, description="Note for the version history.")
_CASES = Field(
    default=None,
    max_length=CASES_MAX,
    description="Test cases, kept with the version. They run before it is saved. PUT without them keeps the cases.",
)
_ACCEPT = Field(default=False, description="Save although tests fail.")
_VERSION = Field(default=None, description="The version to change. 409 if it is not the newest.")


class NewPolicy(_Body):
    """POST /admin/policies. ``content`` is an alias of ``rego_policy`` if it is given alone."""

    model_config = ConfigDict(json_schema_extra=exactly_one(rego_policy="string", rules="array"))

    name: str = Field(min_length=1, max_length=NAME_MAX_CHARACTERS)
    rego_policy: str | None = Field(
        default=None, min_length=1, max_length=REGO_MAX_BYTES, description="OPA Rego. Required unless rules are given."
    )
    rules: list[dict[str, Any]] | None = Field(
        default=None, description="Rules in the camelCase shape instead, which are translated to Rego."
    )
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    enabled: StrictBool = True
    priority: WholeNumber = Field(
        default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX, description="A lower number runs first."
    )
    mode: PolicyMode = Field(
        default=PolicyMode.ENFORCE, description="shadow: evaluated and recorded, but not enforced."
    )
    cases: list[dict[str, Any]] | None = _CASES
    accept_failing_cases: StrictBool = _ACCEPT
    change_note: str | None = _NOTE

    def draft(self) -> PolicyDraft:
        text, rules = policy_text(self.name, self.rego_policy, self.rules)
        cases = cases_text(self.cases)
        return PolicyDraft(self.name, text, self.description, self.enabled, self.priority, self.mode, rules, cases)


def policy_text(name: str, rego_policy: str | None, rules: list[dict[str, Any]] | None) -> tuple[str, str | None]:
    """The Rego, and the rules that it was made from, where it was. Raises ValidationError."""
    if rules is not None and rego_policy is not None:
        raise ValidationError("rego_policy or rules, not both", details={"field": "rules", "reason": "beside Rego"})
    if rules is not None:
        parsed, kept = parse_rules(list(rules))
        return translate(name, parsed), canonical_bytes(kept).decode()
    if rego_policy is None:
        raise ValidationError(
            "rego_policy is required, or rules in its place", details={"field": "rego_policy", "reason": "required"}
        )
    return rego_policy, None


def cases_text(cases: list[dict[str, Any]] | None) -> str | None:
    """As they are stored. Raises ValidationError for a case that cannot be read, also where failures are accepted."""
    if cases is not None:
        cases_of([*cases], file="cases")
    return None if cases is None else canonical_bytes(cases).decode()


class PolicyReplacement(NewPolicy):
    """PUT /admin/policies/{id}: what is left out gets its default, but for the test cases."""

    version: Annotated[WholeNumber, Field(ge=1)] | None = _VERSION


class PolicyChange(_Body):
    """PATCH /admin/policies/{id}. Omitted fields keep their values. ``quarantine: null`` releases a policy."""

    model_config = ConfigDict(json_schema_extra=at_most_one(rego_policy="string", rules="array"))

    name: _Kept[Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARACTERS)]] = None
    rego_policy: _Kept[Annotated[str, Field(min_length=1, max_length=REGO_MAX_BYTES)]] = None
    rules: _Kept[list[dict[str, Any]]] = Field(default=None, description="In the camelCase shape; instead of Rego.")
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    enabled: _Kept[StrictBool] = None
    priority: _Kept[Annotated[WholeNumber, Field(ge=0, le=PRIORITY_MAX)]] = None
    mode: _Kept[PolicyMode] = None
    quarantine: Literal[None] = None
    cases: _Kept[Annotated[list[dict[str, Any]], Field(max_length=CASES_MAX)]] = Field(
        default=None, description="Test cases that replace the stored ones. [] removes them."
    )
    accept_failing_cases: StrictBool = _ACCEPT
    change_note: str | None = _NOTE
    version: Annotated[WholeNumber, Field(ge=1)] | None = _VERSION

    def changes(self) -> dict[str, Any]:
        """What was sent, by the names of ``RulePolicy``. Raises ValidationError."""
        sent = {name: getattr(self, name) for name in self.model_fields_set - _NOT_CONTENT}
        if "cases" in sent:
            sent["cases"] = cases_text(self.cases)
        if self.rules is not None:
            sent["rego_policy"], sent["rules"] = policy_text(self.name or "policy", self.rego_policy, self.rules)
        return sent


class PolicyToCheck(_Body):
    """POST /admin/policies/check. ``policy_id``: the policy that this would be the next version of."""

    rego_policy: str = Field(min_length=1, max_length=REGO_MAX_BYTES)
    name: str = Field(default="draft", min_length=1, max_length=NAME_MAX_CHARACTERS)
    priority: WholeNumber = Field(default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX)
    mode: PolicyMode = PolicyMode.ENFORCE
    policy_id: PolicyId | None = None

    def draft(self) -> PolicyDraft:
        return PolicyDraft(self.name, self.rego_policy, None, True, self.priority, self.mode)


class CheckAnswer(BaseModel):
    """Of a policy that could be saved; one that could not is a 400 with its place."""

    valid: Literal[True] = True
    warnings: list[str]


class Restoration(BaseModel):
    """POST /admin/policies/{id}/restore."""

    model_config = ConfigDict(extra="forbid")

    version: WholeNumber = Field(ge=1, description="The version whose content becomes the newest version.")
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
    quarantine: str | None = Field(
        description="Why the policy is quarantined: not evaluated, and denying instead. Null: it is evaluated."
    )
    cases: list[dict[str, Any]] = Field(description="Its test cases.")


class ShadowAnswer(BaseModel):
    """Results of a policy in shadow mode since this version was saved."""

    asked: int = Field(description="Calls that it evaluated.")
    said: dict[str, int] = Field(description="By allow, deny, require_approval, none.")
    would_change: int = Field(description="Calls whose decision would change if the policy were enforced.")
    changes: dict[str, int] = Field(description='These calls by change: "allow -> deny".')
    since: datetime | None


class PolicyDetailAnswer(PolicyAnswer):
    """``shadow`` is set for a policy in shadow mode."""

    shadow: ShadowAnswer | None = None


class CamelPolicyAnswer(BaseModel):
    """``?shape=camel``: the specification's alternate shape, and what it has no words for.

    ``rules`` is empty for a policy that was written as Rego.
    """

    id: str
    name: str
    description: str | None
    rules: list[dict[str, Any]]
    enabled: bool
    created_at: datetime = Field(serialization_alias="createdAt")
    updated_at: datetime = Field(serialization_alias="updatedAt")
    version: int
    priority: int
    mode: PolicyMode
    rego_policy: str = Field(serialization_alias="regoPolicy")


class SavedCamelPolicyAnswer(CamelPolicyAnswer):
    warnings: list[str]


class SavedPolicyAnswer(PolicyAnswer):
    warnings: list[str] = Field(description="Warnings for the person who saved it, such as shadowed policies.")


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
        "cases": json.loads(policy.cases),
    }


def policy_answer(policy: RulePolicy) -> PolicyAnswer:
    return PolicyAnswer(**_members(policy))


def _camel_members(policy: RulePolicy) -> dict[str, Any]:
    return {
        "id": policy.policy_id,
        "name": policy.name,
        "description": policy.description,
        "rules": [] if policy.rules is None else json.loads(policy.rules),
        "enabled": policy.enabled,
        "created_at": policy.created_at,
        "updated_at": policy.updated_at,
        "version": policy.version,
        "priority": policy.priority,
        "mode": policy.mode,
        "rego_policy": policy.rego_policy,
    }


def camel_policy_answer(policy: RulePolicy) -> CamelPolicyAnswer:
    return CamelPolicyAnswer(**_camel_members(policy))


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


def saved_policy_answer(saved: SavedPolicy, shape: Shape) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    if shape == "camel":
        return SavedCamelPolicyAnswer(**_camel_members(saved.policy), warnings=list(saved.warnings))
    return SavedPolicyAnswer(**_members(saved.policy), warnings=list(saved.warnings))
