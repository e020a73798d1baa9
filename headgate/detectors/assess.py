"""The models of the provider ``embedded``: a text to a judgement, in the words in which a language model answers.

``pii``, ``secrets`` and ``keywords`` find what they name, by form and checksum. The others are heuristics: they say so
(``engine``), and never claim much confidence. ``safety``, ``intent`` and ``injection`` look for injected instructions.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from headgate.detectors.carried_text import CARRIED_TEXT_KINDS, finder_of_carried_text
from headgate.detectors.commands import command_kinds, find_commands
from headgate.detectors.credential_destinations import without_expected
from headgate.detectors.credential_homes import away_from_home
from headgate.detectors.dangerous_calls import dangerous_call_kinds, find_dangerous_calls
from headgate.detectors.document import Attachment, JoinedText
from headgate.detectors.host_names import HOST_NAME_KINDS, find_host_names
from headgate.detectors.injection import INJECTION, find_injections, find_signed_injections
from headgate.detectors.inspect import Aside, Detector, InspectedContent, Look
from headgate.detectors.keywords import parse_keywords
from headgate.detectors.limits import DEFAULT_LIMITS, Limits
from headgate.detectors.metadata_reads import without_metadata_reads
from headgate.detectors.model import Finding, Inspection
from headgate.detectors.named_values import find_named_values
from headgate.detectors.password_columns import find_password_columns
from headgate.detectors.payout_addresses import find_payout_addresses
from headgate.detectors.personal_data import find_personal_data, personal_data_kinds
from headgate.detectors.phrases import find_intent, find_unsafe
from headgate.detectors.published_cards import without_published_cards
from headgate.detectors.recovery_phrases import find_recovery_phrases
from headgate.detectors.searches import not_searched_for
from headgate.detectors.secrets import find_secrets, find_split_secrets
from headgate.detectors.sensitive_accounts import SENSITIVE_IBAN, finder_of_sensitive_accounts
from headgate.detectors.signing_headers import without_signing_header
from headgate.detectors.tool_definitions import find_told_in_definitions, finder_of_names
from headgate.detectors.transfers import find_transfers
from headgate.detectors.wallets import find_wallet_keys
from headgate.kernel.canonical_json import JsonValue

HEURISTIC_CONFIDENCE_MAX: Final = 0.5
HEURISTIC_RISK_MAX: Final = 0.9
_NOTHING_FOUND_CONFIDENCE: Final = 0.8
_NAMED_MAX: Final = 5


class EmbeddedModel(StrEnum):
    PII = "pii"
    SECRETS = "secrets"
    SAFETY = "safety"
    INTENT = "intent"
    INJECTION = "injection"
    COMMANDS = "commands"
    HOST_NAMES = "host_names"
    KEYWORDS = "keywords"


EXACT_MODELS: Final = (EmbeddedModel.SECRETS, EmbeddedModel.KEYWORDS)
"""They know what they look for exactly enough to read texts of several places as one."""


class Engine(StrEnum):
    DETECTOR = "detector"
    HEURISTIC = "heuristic"


HEURISTICS: Final = frozenset(EmbeddedModel) - {EmbeddedModel.PII, *EXACT_MODELS}
_DETECTORS: Final[dict[EmbeddedModel, Sequence[Detector]]] = {
    EmbeddedModel.PII: (find_personal_data,),
    EmbeddedModel.SECRETS: (
        find_secrets,
        find_wallet_keys,
        find_recovery_phrases,
        find_named_values,
        find_password_columns,
    ),
    EmbeddedModel.SAFETY: (find_unsafe, find_signed_injections),
    EmbeddedModel.INTENT: (find_intent, find_signed_injections),
    EmbeddedModel.INJECTION: (find_injections,),
    EmbeddedModel.COMMANDS: (find_commands, find_transfers, find_dangerous_calls, find_payout_addresses),
    EmbeddedModel.HOST_NAMES: (find_host_names,),
}
_JOINED_DETECTORS: Final[dict[EmbeddedModel, Sequence[Detector]]] = {EmbeddedModel.SECRETS: (find_split_secrets,)}
_LOOK_FOR_INSTRUCTIONS: Final = frozenset((EmbeddedModel.SAFETY, EmbeddedModel.INTENT, EmbeddedModel.INJECTION))


class Assessment(Struct, frozen=True):
    """``risk_score`` and ``confidence`` from 0 to 1; ``issues``: the kinds found, each once."""

    risk_score: float
    confidence: float
    issues: tuple[str, ...]
    reasoning: str
    engine: Engine
    inspection: Inspection


class Query(Struct, frozen=True):
    """What a policy asks a model about a content. ``kinds``: that count; empty: all. ``aside``: what it asks about
    beside the content. ``joined``: what the content makes together with requests before it. ``call``: content and
    ``aside`` as one value, what signs in by the name of its field (``http.sent.cookie``), for ``HOST_NAMES``; None: the
    content. ``signs_in``: the header fields that the policy excepts, for ``SECRETS`` (``credential_homes``)."""

    model: EmbeddedModel
    keywords: str | None = None
    kinds: tuple[str, ...] = ()
    aside: Aside | None = None
    joined: tuple[JoinedText, ...] = ()
    call: JsonValue = None
    signs_in: Mapping[str, Sequence[str]] = field(default_factory=dict)


class AssessedContent:
    """One content for the queries of several. ``other_tools``: it holds definitions of tools, and these are the names
    of other servers' tools. As ``InspectedContent``, it takes milliseconds and is for one thread at a time."""

    def __init__(
        self,
        value: JsonValue,
        limits: Limits = DEFAULT_LIMITS,
        attachments: Sequence[Attachment] = (),
        other_tools: frozenset[str] | None = None,
    ) -> None:
        self._value = value
        self._other_tools = other_tools
        self._content = InspectedContent(value, limits, attachments)

    def assess(self, query: Query) -> Assessment:
        """Raises ValidationError for keywords that cannot be used."""
        model = query.model
        inspection = self._content.inspection(self._look(query))
        if model is EmbeddedModel.SECRETS:
            findings = without_expected(inspection.findings, self._value)
            findings = without_signing_header(findings, self._value, signs_in=bool(query.signs_in))
            inspection = replace(inspection, findings=(*findings, *away_from_home(query.signs_in, self._value)))
        elif model is EmbeddedModel.COMMANDS:
            findings = without_metadata_reads(not_searched_for(inspection.findings, self._value), self._value)
            inspection = replace(inspection, findings=findings)
        elif model is EmbeddedModel.PII:
            inspection = replace(inspection, findings=without_published_cards(inspection.findings, self._value))
        heuristic = model in HEURISTICS
        risk = _combined(inspection) if heuristic else max((one.confidence for one in inspection.findings), default=0.0)
        confidence = max((one.confidence for one in inspection.findings), default=_NOTHING_FOUND_CONFIDENCE)
        return Assessment(
            risk_score=round(risk, 4),
            confidence=round(min(confidence, HEURISTIC_CONFIDENCE_MAX) if heuristic else confidence, 4),
            issues=inspection.kinds,
            reasoning=_reasoning(inspection, heuristic=heuristic),
            engine=Engine.HEURISTIC if heuristic else Engine.DETECTOR,
            inspection=inspection,
        )

    def _look(self, query: Query) -> Look:
        detectors = self._detectors(query)
        joined_detectors = _JOINED_DETECTORS.get(query.model, detectors) if query.model in EXACT_MODELS else ()
        return Look(detectors, joined_detectors, query.joined, frozenset(query.kinds), query.aside)

    def _detectors(self, query: Query) -> Sequence[Detector]:
        if self._other_tools is None:
            detectors = _detectors(query.model, query.keywords)
        else:
            detectors = _strict_detectors(query.model, query.keywords, self._other_tools)
        if query.model is EmbeddedModel.HOST_NAMES:
            detectors = (*detectors, finder_of_carried_text(self._value if query.call is None else query.call))
        elif query.model is EmbeddedModel.PII and SENSITIVE_IBAN in query.kinds:
            detectors = (*detectors, finder_of_sensitive_accounts(self._value))
        return detectors


def assess(
    model: EmbeddedModel,
    value: JsonValue,
    keywords: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    attachments: Sequence[Attachment] = (),
    joined: Sequence[JoinedText] = (),
    kinds: Sequence[str] = (),
    other_tools: frozenset[str] | None = None,
) -> Assessment:
    """``AssessedContent`` for one query."""
    query = Query(model, keywords, tuple(kinds), joined=tuple(joined))
    return AssessedContent(value, limits, attachments, other_tools).assess(query)


def kinds_of(model: EmbeddedModel) -> frozenset[str]:
    """That a policy may choose from (``scope.kinds``); empty: all or nothing. Raises ValidationError for a table that
    cannot be used."""
    match model:
        case EmbeddedModel.PII:
            return personal_data_kinds() | {SENSITIVE_IBAN}
        case EmbeddedModel.COMMANDS:
            return command_kinds() | dangerous_call_kinds()
        case EmbeddedModel.HOST_NAMES:
            return HOST_NAME_KINDS | CARRIED_TEXT_KINDS
        case _:
            return frozenset()


def _detectors(model: EmbeddedModel, keywords: str | None) -> Sequence[Detector]:
    if model is EmbeddedModel.KEYWORDS:
        return (parse_keywords(keywords or "").find,)
    return _DETECTORS[model]


def _strict_detectors(model: EmbeddedModel, keywords: str | None, other_tools: frozenset[str]) -> Sequence[Detector]:
    """Of definitions of tools: those that look for instructions look closer."""
    if model not in _LOOK_FOR_INSTRUCTIONS:
        return _detectors(model, keywords)
    ordinary = [one for one in _detectors(model, keywords) if one is not find_injections]
    detectors = [*dict.fromkeys((*ordinary, find_signed_injections))]
    of_names = finder_of_names(other_tools)
    return [*detectors, find_told_in_definitions, *([] if of_names is None else [of_names])]


def _combined(inspection: Inspection) -> float:
    """Several weak signs together say more than one: as independent ones would (noisy or), each sample once.

    Injected instructions count by the likeliest: the detector looks at thousands of windows of a long text, and those
    that it takes for instructions by chance would add up."""
    weights: dict[tuple[str, str], float] = {}
    for one in inspection.findings:
        key = one.kind, "" if one.kind == INJECTION else one.sample
        weights[key] = max(weights.get(key, 0.0), one.confidence)
    return min(HEURISTIC_RISK_MAX, 1 - math.prod(1 - weight for weight in weights.values()))


def _named(finding: Finding) -> str:
    # A content that is one text has no other place.
    return finding.kind if finding.place.path == "$" else f"{finding.kind} at {finding.place.path}"


def _reasoning(inspection: Inspection, *, heuristic: bool) -> str:
    how = "by phrases (heuristic)" if heuristic else "by form and checksum"
    if inspection.findings:
        places = "; ".join(_named(one) for one in inspection.findings[:_NAMED_MAX])
        said = f"{len(inspection.findings)} found {how}: {places}"
    else:
        said = f"nothing found {how}"
    if inspection.gaps:
        said += ". Not inspected wholly: " + "; ".join(gap.detail for gap in inspection.gaps)
    return said
