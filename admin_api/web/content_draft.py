"""Converts a content policy between its form and the API."""

from msgspec import Struct

from admin_api.nlp_policies.schemas import NlpPolicyAnswer, TemplateAnswer
from admin_api.web.form import Form, filled, whole_number
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import (
    DEFAULT_DAILY_LIMIT,
    DEFAULT_THRESHOLD,
    EMBEDDED,
    Direction,
    NlpPolicyType,
    OnMatch,
)
from headgate.policies.model import Verdict


class ContentDraft(Struct, frozen=True):
    """Texts as typed; lists are names separated by commas. ``version`` empty: a new policy."""

    name: str = ""
    type: str = NlpPolicyType.CONTENT_SAFETY
    description: str = ""
    provider: str = EMBEDDED
    model: str = ""
    threshold: str = str(DEFAULT_THRESHOLD)
    prompt: str = ""
    on_match: str = OnMatch.REQUIRE_APPROVAL
    on_error: str = Verdict.REQUIRE_APPROVAL
    on_unscannable: str = ""
    daily_limit: str = str(DEFAULT_DAILY_LIMIT)
    direction: str = Direction.REQUEST
    tools: str = ""
    operations: str = ""
    agents: str = ""
    except_headers: str = ""
    kinds: str = ""
    except_tools: str = ""
    enabled: bool = True
    version: str = ""


def content_draft_from(form: Form) -> ContentDraft:
    texts = {name: form.text(name) for name in ContentDraft.__struct_fields__ if name != "enabled"}
    return ContentDraft(**texts, enabled="enabled" in form.fields)


def content_draft_of(policy: NlpPolicyAnswer) -> ContentDraft:
    return ContentDraft(
        name=policy.name,
        type=policy.type,
        description=policy.description or "",
        provider=policy.provider,
        model=policy.model,
        threshold=str(policy.threshold),
        prompt=policy.prompt or "",
        on_match=policy.on_match,
        on_error=policy.on_error,
        on_unscannable=policy.on_unscannable or "",
        daily_limit=str(policy.daily_limit),
        direction=policy.scope.direction,
        tools=", ".join(policy.scope.tools),
        operations=", ".join(policy.scope.operations),
        agents=", ".join(policy.scope.agents),
        except_headers=", ".join(policy.scope.except_headers),
        kinds=", ".join(policy.scope.kinds),
        except_tools=", ".join(policy.scope.except_tools),
        enabled=policy.enabled,
        version=str(policy.version),
    )


def content_draft_of_template(template: TemplateAnswer) -> ContentDraft:
    return ContentDraft(
        name=template.name,
        type=template.type,
        description=template.description,
        provider=template.provider,
        model=template.model or "",
        threshold=str(template.threshold),
        prompt=template.prompt or "",
        on_match=template.on_match,
        on_error=template.on_error,
        on_unscannable=template.on_unscannable or "",
        direction=template.scope.direction,
        except_headers=", ".join(template.scope.except_headers),
        except_tools=", ".join(template.scope.except_tools),
    )


def body_of_draft(draft: ContentDraft) -> dict[str, object]:
    """The body for POST. PATCH also takes the version. Raises ValidationError."""
    try:
        threshold = float(draft.threshold)
    except ValueError as error:
        raise ValidationError("threshold: enter a number from 0 to 1", details={"field": "threshold"}) from error
    return {
        "name": draft.name,
        "type": draft.type,
        "description": draft.description or None,
        "provider": draft.provider,
        "model": draft.model or None,
        "threshold": threshold,
        "enabled": draft.enabled,
        "prompt": draft.prompt or None,
        "scope": {
            "tools": _names(draft.tools),
            "operations": _names(draft.operations),
            "agents": _names(draft.agents),
            "direction": draft.direction,
            "except_headers": _names(draft.except_headers),
            "kinds": _names(draft.kinds),
            "except_tools": _names(draft.except_tools),
        },
        "on_match": draft.on_match,
        "on_error": draft.on_error,
        "on_unscannable": draft.on_unscannable or None,
        "daily_limit": whole_number(draft.daily_limit, "daily_limit"),
    }


def _names(text: str) -> list[str]:
    return filled(text.split(","))
