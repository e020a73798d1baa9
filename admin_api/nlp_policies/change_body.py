"""PATCH of an NLP policy: any subset of its fields; what is left out stays, and null empties what may be empty."""

from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import ConfigDict, Field, StrictBool, StrictFloat

from admin_api.json_values import WholeNumber
from admin_api.nlp_policies.schemas import NewScope
from admin_api.schema import BaseModel
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import (
    MODEL_MAX_CHARACTERS,
    PROMPT_MAX_CHARACTERS,
    NlpDraft,
    NlpPolicyType,
    OnMatch,
)
from headgate.policies.model import DESCRIPTION_MAX_CHARACTERS, NAME_MAX_CHARACTERS, Verdict

_MAY_BE_NULL = frozenset({"description", "model", "prompt", "on_unscannable"})


class NlpPolicyChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=NAME_MAX_CHARACTERS)
    type: NlpPolicyType | None = None
    description: str | None = Field(default=None, max_length=DESCRIPTION_MAX_CHARACTERS)
    provider: str | None = None
    model: str | None = Field(default=None, max_length=MODEL_MAX_CHARACTERS)
    threshold: StrictFloat | None = Field(default=None, ge=0, le=1)
    enabled: StrictBool | None = None
    prompt: str | None = Field(default=None, max_length=PROMPT_MAX_CHARACTERS)
    scope: NewScope | None = None
    on_match: OnMatch | None = None
    on_error: Literal["deny", "require_approval"] | None = None
    on_unscannable: Literal["allow", "deny", "require_approval"] | None = None
    daily_limit: Annotated[WholeNumber, Field(ge=1)] | None = Field(default=None)
    version: Annotated[WholeNumber, Field(ge=1)] | None = Field(
        default=None, description="The version to change. 409 if it is not the newest."
    )

    def applied_to(self, draft: NlpDraft) -> NlpDraft:
        """Raises ValidationError for a null where a value is needed."""
        changes: dict[str, Any] = {}  # by field, each checked above
        for name in self.model_fields_set - {"version"}:
            value = getattr(self, name)
            if value is None and name not in _MAY_BE_NULL:
                raise ValidationError(f"{name} cannot be null", details={"field": name, "reason": "cannot be null"})
            changes[name] = _typed(name, value)
        if "model" not in changes and ("type" in changes or "provider" in changes):
            changes["model"] = None  # another type's or provider's model would say nothing
        return replace(draft, **changes)


def _typed(name: str, value: Any) -> Any:
    if isinstance(value, NewScope):
        return value.scope()
    if name in ("on_error", "on_unscannable") and value is not None:
        return Verdict(value)
    return value
