"""Bodies about NLP policies (specification, "NLP policy" and "NLP policy routes")."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictFloat

from admin_api.identifiers import AgentId, CallName
from admin_api.json_values import WholeNumber
from admin_api.schema import BaseModel
from headgate.nlp_policies.check import warnings_about
from headgate.nlp_policies.model import (
    DEFAULT_DAILY_LIMIT,
    DEFAULT_THRESHOLD,
    EMBEDDED,
    MODEL_MAX_CHARACTERS,
    PROMPT_MAX_CHARACTERS,
    SCOPE_MAX,
    Direction,
    NlpDraft,
    NlpPolicy,
    NlpPolicyType,
    OnMatch,
    Scope,
)
from headgate.nlp_policies.templates import Template
from headgate.policies.model import DESCRIPTION_MAX_CHARACTERS, NAME_MAX_CHARACTERS, Verdict

CONTENT_MAX_CHARACTERS = 512 * 1024


type _ScopeName = Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARACTERS)]


class ScopeBody(BaseModel):
    """The calls that the policy evaluates. An empty list means all."""

    model_config = ConfigDict(extra="forbid")

    tools: list[_ScopeName] = Field(default_factory=list, max_length=SCOPE_MAX)
    operations: list[_ScopeName] = Field(default_factory=list, max_length=SCOPE_MAX)
    agents: list[_ScopeName] = Field(default_factory=list, max_length=SCOPE_MAX)
    direction: Direction = Direction.REQUEST
    except_headers: list[_ScopeName] = Field(
        default_factory=list,
        max_length=SCOPE_MAX,
        description="Request headers that detectors skip, in lowercase.",
    )
    kinds: list[_ScopeName] = Field(
        default_factory=list,
        max_length=SCOPE_MAX,
        description="Kinds of findings that count, for the models `pii` (`payment_card`, `iban`, …), `commands` and"
        " `host_names`.",
    )
    except_tools: list[_ScopeName] = Field(
        default_factory=list, max_length=SCOPE_MAX, description="Tools whose calls the policy skips."
    )

    def scope(self) -> Scope:
        return Scope(
            tuple(self.tools),
            tuple(self.operations),
            tuple(self.agents),
            self.direction,
            tuple(self.except_headers),
            tuple(self.kinds),
            tuple(self.except_tools),
        )


class NewScope(ScopeBody):
    """Names that no call can have would make a policy that evaluates nothing."""

    tools: list[CallName] = Field(default_factory=list, max_length=SCOPE_MAX)
    operations: list[CallName] = Field(default_factory=list, max_length=SCOPE_MAX)
    agents: list[AgentId] = Field(default_factory=list, max_length=SCOPE_MAX)
    except_tools: list[CallName] = Field(
        default_factory=list, max_length=SCOPE_MAX, description="Tools whose calls the policy skips."
    )


class NewNlpPolicy(BaseModel):
    """POST /admin/nlp-policies."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=NAME_MAX_CHARACTERS)
    type: NlpPolicyType
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    provider: str = Field(
        default=EMBEDDED,
        description="embedded, onnx (a local classifier), or one of /admin/settings/nlp-providers.",
    )
    model: str | None = Field(
        default=None,
        max_length=MODEL_MAX_CHARACTERS,
        description="With embedded: pii, secrets, safety, intent or keywords; left out: the type's own.",
    )
    threshold: StrictFloat = Field(
        default=DEFAULT_THRESHOLD, ge=0, le=1, description="A risk_score at or above it matches. 0: always."
    )
    enabled: StrictBool = True
    prompt: str | None = Field(
        default=None, max_length=PROMPT_MAX_CHARACTERS, description="The prompt. For keywords, one per line."
    )
    scope: NewScope = Field(default_factory=NewScope)
    on_match: OnMatch = Field(
        default=OnMatch.REQUIRE_APPROVAL,
        description="tag (provider embedded): the call passes, labelled with the kinds of what was found. mask"
        " (embedded pii, secrets or keywords): it passes with what was found replaced, or is held.",
    )
    on_error: Literal["deny", "require_approval"] = "require_approval"
    on_unscannable: Literal["allow", "deny", "require_approval"] | None = Field(
        default=None, description="For unreadable content (an image, an encrypted archive). Null: as on_error."
    )
    daily_limit: WholeNumber = Field(
        default=DEFAULT_DAILY_LIMIT, ge=1, description="Provider evaluations per day. Beyond the limit: on_error."
    )

    def draft(self) -> NlpDraft:
        return NlpDraft(
            name=self.name,
            type=self.type,
            provider=self.provider,
            model=self.model,
            description=self.description,
            threshold=self.threshold,
            enabled=self.enabled,
            prompt=self.prompt,
            scope=self.scope.scope(),
            on_match=self.on_match,
            on_error=Verdict(self.on_error),
            on_unscannable=None if self.on_unscannable is None else Verdict(self.on_unscannable),
            daily_limit=self.daily_limit,
        )


class NlpPolicyAnswer(BaseModel):
    id: str
    name: str
    description: str | None
    type: NlpPolicyType
    provider: str
    model: str
    threshold: float
    enabled: bool
    prompt: str | None
    scope: ScopeBody
    on_match: str
    on_error: str
    on_unscannable: str | None = Field(description="Null: as on_error.")
    daily_limit: int
    version: int
    created_at: datetime
    updated_at: datetime
    warnings: list[str] = Field(description="Warnings for the person who saved it.")


def nlp_policy_answer(policy: NlpPolicy, providers: Collection[str]) -> NlpPolicyAnswer:
    """``providers``: those that are configured."""
    draft = policy.draft
    return NlpPolicyAnswer(
        id=policy.policy_id,
        name=draft.name,
        description=draft.description,
        type=draft.type,
        provider=draft.provider,
        model=policy.model,
        threshold=draft.threshold,
        enabled=draft.enabled,
        prompt=draft.prompt,
        scope=scope_body(draft.scope),
        on_match=draft.on_match.value,
        on_error=draft.on_error.value,
        on_unscannable=None if draft.on_unscannable is None else draft.on_unscannable.value,
        daily_limit=draft.daily_limit,
        version=policy.version,
        created_at=policy.created_at,
        updated_at=policy.updated_at,
        warnings=list(warnings_about(draft, providers)),
    )


def scope_body(scope: Scope) -> ScopeBody:
    return ScopeBody(
        tools=list(scope.tools),
        operations=list(scope.operations),
        agents=list(scope.agents),
        direction=scope.direction,
        except_headers=list(scope.except_headers),
        kinds=list(scope.kinds),
        except_tools=list(scope.except_tools),
    )


class CaseAnswer(BaseModel):
    content: str
    expected: str = Field(description="match or clear")


class TemplateAnswer(BaseModel):
    """What POST /admin/nlp-policies takes, with cases; ``model`` null: name one of your provider's. ``profiles``: which
    ``headgate policy enable`` creates it with."""

    id: str
    profiles: list[str]
    name: str
    description: str
    type: NlpPolicyType
    provider: str
    model: str | None
    threshold: float
    prompt: str | None
    on_match: str
    on_error: str
    on_unscannable: str | None
    scope: ScopeBody
    cases: list[CaseAnswer]


class TemplatesAnswer(BaseModel):
    data: list[TemplateAnswer]


def template_answer(template: Template) -> TemplateAnswer:
    return TemplateAnswer(
        id=template.template_id,
        name=template.name,
        description=template.description,
        type=template.type,
        provider=template.provider,
        model=template.model or None,
        threshold=template.threshold,
        prompt=template.prompt,
        on_match=template.on_match.value,
        on_error=template.on_error.value,
        on_unscannable=None if template.on_unscannable is None else template.on_unscannable.value,
        scope=scope_body(template.scope),
        profiles=list(template.profiles),
        cases=[CaseAnswer(content=one.content, expected=one.expected.value) for one in template.cases],
    )
