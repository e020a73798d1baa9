"""Whether a draft can be a policy."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from headgate.classifiers.folder import CLASSIFIER_NAME
from headgate.detectors.assess import HEURISTICS, EmbeddedModel, kinds_of
from headgate.detectors.keywords import parse_keywords
from headgate.detectors.secret_checks import DOUBTFUL
from headgate.judges.model import ProviderKind
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import (
    EMBEDDED,
    MODEL_MAX_CHARACTERS,
    ONNX,
    PROMPT_MAX_CHARACTERS,
    SCOPE_MAX,
    Direction,
    NlpDraft,
    NlpPolicyType,
    OnMatch,
)
from headgate.nlp_policies.provider_settings import ProviderSetting
from headgate.policies.model import DESCRIPTION_MAX_CHARACTERS, NAME_MAX_CHARACTERS, Verdict

_DEFAULT_MODELS: Final = {
    NlpPolicyType.PII_DETECTION: EmbeddedModel.PII,
    NlpPolicyType.CONTENT_SAFETY: EmbeddedModel.SAFETY,
    NlpPolicyType.INTENT_CLASSIFICATION: EmbeddedModel.INTENT,
}
_MODELS: Final = {
    NlpPolicyType.PII_DETECTION: (EmbeddedModel.PII, EmbeddedModel.SECRETS),
    NlpPolicyType.CONTENT_SAFETY: (
        EmbeddedModel.SAFETY,
        EmbeddedModel.INJECTION,
        EmbeddedModel.COMMANDS,
        EmbeddedModel.HOST_NAMES,
        EmbeddedModel.SECRETS,
        EmbeddedModel.KEYWORDS,
    ),
    NlpPolicyType.INTENT_CLASSIFICATION: (
        EmbeddedModel.INTENT,
        EmbeddedModel.INJECTION,
        EmbeddedModel.COMMANDS,
        EmbeddedModel.SECRETS,
        EmbeddedModel.KEYWORDS,
    ),
    NlpPolicyType.CUSTOM: (
        EmbeddedModel.KEYWORDS,
        EmbeddedModel.SECRETS,
        EmbeddedModel.INJECTION,
        EmbeddedModel.COMMANDS,
        EmbeddedModel.HOST_NAMES,
    ),
}
_WITH_KINDS: Final = f"the models {', '.join(one.value for one in EmbeddedModel if kinds_of(one))}"
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")  # RFC 9110, section 5.6.2
_UNSTORABLE: Final = frozenset("\0") | frozenset(map(chr, range(0xD800, 0xE000)))


def checked_draft(draft: NlpDraft, providers: Mapping[str, ProviderSetting]) -> NlpDraft:
    """The draft with its model settled. ``providers``: those that are configured; a policy may also name a kind before
    it is, and what it concerns is held until then (``on_error``). Raises ValidationError.
    """
    _check("name", 1 <= len(draft.name) <= NAME_MAX_CHARACTERS, f"1 to {NAME_MAX_CHARACTERS} characters")
    _check(
        "description",
        len(draft.description or "") <= DESCRIPTION_MAX_CHARACTERS,
        f"at most {DESCRIPTION_MAX_CHARACTERS} characters",
    )
    _check("threshold", 0 <= draft.threshold <= 1, "a number from 0 to 1")
    _check("prompt", len(draft.prompt or "") <= PROMPT_MAX_CHARACTERS, f"at most {PROMPT_MAX_CHARACTERS} characters")
    stops = draft.on_match.verdict is not Verdict.ALLOW and draft.on_match is not OnMatch.MASK
    expected = f"deny or require_approval unless the provider is {EMBEDDED}"
    _check("on_match", stops or draft.provider == EMBEDDED, expected)
    _check("on_error", draft.on_error is not Verdict.ALLOW, "deny or require_approval")
    _check("daily_limit", 1 <= draft.daily_limit <= 10_000_000, "a whole number from 1 to 10000000")
    for name in ("tools", "operations", "agents", "except_headers", "kinds", "except_tools"):
        entries: tuple[str, ...] = getattr(draft.scope, name)
        fits = len(entries) <= SCOPE_MAX and all(0 < len(one) <= NAME_MAX_CHARACTERS for one in entries)
        _check(f"scope.{name}", fits, f"at most {SCOPE_MAX} names")
    _check("scope.except_headers", all(map(_HEADER.fullmatch, draft.scope.except_headers)), "header names, lower case")
    for name, text in (("name", draft.name), ("description", draft.description), ("prompt", draft.prompt)):
        _check(name, not _UNSTORABLE & set(text or ""), "text without NUL and lone surrogates")
    if draft.provider == EMBEDDED:
        return _embedded(draft)
    _check("scope.kinds", not draft.scope.kinds, f"empty but for {_WITH_KINDS} of {EMBEDDED}")
    if draft.provider == ONNX:
        return _local_classifier(draft)
    known = {*ProviderKind, ONNX, *providers}
    _check("provider", draft.provider in known, f"one of {', '.join(sorted(known))}")
    _check("model", 0 < len(draft.model or "") <= MODEL_MAX_CHARACTERS, "the name of one of the provider's models")
    setting = providers.get(draft.provider)
    if setting is not None and setting.models:
        _check("model", draft.model in setting.models, f"one of {', '.join(setting.models)}, as the settings say")
    if draft.type is NlpPolicyType.CUSTOM:
        _check("prompt", bool((draft.prompt or "").strip()), "given for the type custom: it is the policy")
    return draft


def warnings_about(draft: NlpDraft, providers: Collection[str]) -> Iterator[str]:
    """What a policy does not do, in sentences. ``providers``: those that are configured."""
    if not draft.is_local and draft.provider not in providers:
        yield f"the provider {draft.provider} is not configured: until it is, on_error decides"
    holds = draft.on_match is OnMatch.REQUIRE_APPROVAL or draft.on_error is Verdict.REQUIRE_APPROVAL
    if draft.scope.direction is not Direction.REQUEST and holds:
        yield "a response cannot be held for an approval: require_approval withholds it, as deny does"
    if draft.on_match is OnMatch.MASK:
        yield "encoded text, addresses, headers and signed calls cannot be masked: a match there is held or withheld"
    if draft.on_match is OnMatch.TAG:
        yield "a match passes: tag only labels the call"
    if draft.scope.direction is Direction.RESPONSE and not (draft.scope.tools or draft.scope.operations):
        yield "it inspects the responses of all calls: large responses, and those that are not text, are withheld"
    if draft.on_unscannable is Verdict.ALLOW:
        yield "unreadable content (pictures, encrypted archives) passes without an inspection"
    if (
        draft.provider == EMBEDDED
        and draft.model == EmbeddedModel.SECRETS
        and draft.scope.direction is not Direction.RESPONSE
        and not draft.scope.except_headers
    ):
        yield (
            "a credential with which an agent signs in itself (Authorization, Cookie) matches too: name the header in"
            " scope.except_headers, or let a connection carry the credential"
        )
    if draft.provider == EMBEDDED and draft.model == EmbeddedModel.SECRETS and draft.threshold > DOUBTFUL:
        yield f"the threshold is above {DOUBTFUL}, the score of tokens whose checksum does not fit"
    if draft.provider == EMBEDDED and draft.model == EmbeddedModel.PII:
        yield "names and postal addresses are not detected: they need a language model"
    if draft.provider == EMBEDDED and draft.model in HEURISTICS:
        yield "the model is a heuristic: it matches words and phrases, not their meaning"


def _embedded(draft: NlpDraft) -> NlpDraft:
    default = _DEFAULT_MODELS.get(draft.type)
    model = draft.model or (default.value if default is not None else None)
    allowed = [one.value for one in _MODELS[draft.type]]
    _check("model", model in allowed, f"one of {', '.join(allowed)} for {draft.type.value} with {EMBEDDED}")
    known = kinds_of(EmbeddedModel(model or ""))
    expected = f"some of {', '.join(sorted(known))}" if known else f"empty but for {_WITH_KINDS}"
    _check("scope.kinds", known.issuperset(draft.scope.kinds), expected)
    may_mask = draft.on_match is not OnMatch.MASK or model not in HEURISTICS
    _check("on_match", may_mask, "deny, require_approval or tag for a model that judges a text as a whole")
    if model == EmbeddedModel.KEYWORDS:
        parse_keywords(draft.prompt or "")
    return replace(draft, model=model)


def _local_classifier(draft: NlpDraft) -> NlpDraft:
    """Whether there is such a classifier on this machine is asked apart (``classifier_check``)."""
    named = CLASSIFIER_NAME.fullmatch(draft.model or "") is not None
    _check("model", named, "the name of a folder of a classifier: letters, digits, ., _ and -")
    _check("prompt", not draft.prompt, f"left out with {ONNX}: a classifier knows its labels only")
    return draft


def _check(field: str, holds: bool, expected: str) -> None:
    if not holds:
        raise ValidationError(f"{field} must be {expected}", details={"field": field, "reason": f"must be {expected}"})
