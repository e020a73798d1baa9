"""A policy as it is stored: everything that it says, as canonical JSON."""

from collections.abc import Sequence

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.nlp_policies.model import Direction, NlpDraft, NlpPolicyType, OnMatch, Scope
from headgate.policies.model import Verdict


def document_of(draft: NlpDraft) -> JsonObject:
    return {
        "name": draft.name,
        "type": draft.type.value,
        "provider": draft.provider,
        "model": draft.model,
        "description": draft.description,
        "threshold": draft.threshold,
        "enabled": draft.enabled,
        "prompt": draft.prompt,
        "scope": draft.scope.record(),
        "on_match": draft.on_match.value,
        "on_error": draft.on_error.value,
        "on_unscannable": None if draft.on_unscannable is None else draft.on_unscannable.value,
        "daily_limit": draft.daily_limit,
    }


def stored_text(draft: NlpDraft) -> str:
    return canonical_bytes(document_of(draft)).decode()


def draft_of(text: str) -> NlpDraft:
    """What ``stored_text`` wrote; our own, so that another form is a defect."""
    document = parse_strict(text.encode())
    assert isinstance(document, dict)  # noqa: S101 - written by stored_text
    return draft_of_document(document)


def draft_of_document(document: JsonObject) -> NlpDraft:
    """What ``document_of`` made."""
    scope = document["scope"]
    assert isinstance(scope, dict)  # noqa: S101 - as above
    on_unscannable = document.get("on_unscannable")  # versions of before have none
    threshold, daily_limit = document["threshold"], document["daily_limit"]
    assert isinstance(threshold, int | float)  # noqa: S101 - as above
    assert isinstance(daily_limit, int)  # noqa: S101 - as above
    return NlpDraft(
        name=str(document["name"]),
        type=NlpPolicyType(str(document["type"])),
        provider=str(document["provider"]),
        model=_optional(document["model"]),
        description=_optional(document["description"]),
        threshold=float(threshold),
        enabled=document["enabled"] is True,
        prompt=_optional(document["prompt"]),
        scope=Scope(
            _names(scope["tools"]),
            _names(scope["operations"]),
            _names(scope["agents"]),
            Direction(str(scope["direction"])),
            _names(scope.get("except_headers")),
            _names(scope.get("kinds")),
            _names(scope.get("except_tools")),
        ),
        on_match=OnMatch(str(document["on_match"])),
        on_error=Verdict(str(document["on_error"])),
        on_unscannable=None if on_unscannable is None else Verdict(str(on_unscannable)),
        daily_limit=daily_limit,
    )


def _optional(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, Sequence) else ()
