"""NLP policies, what one of them says about one content, and what follows from all of them.

Frozen types without I/O. The specification's section "NLP policy" names the fields; the optional ones beyond it are
``prompt``, ``scope``, ``on_match``, ``on_error``, ``on_unscannable`` and ``daily_limit``.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.detectors.model import Finding
from headgate.judges.model import NO_USAGE, Usage
from headgate.kernel.canonical_json import JsonObject
from headgate.policies.model import FoundText, Verdict

EMBEDDED: Final = "embedded"
ONNX: Final = "onnx"
LOCAL_PROVIDERS: Final = frozenset((EMBEDDED, ONNX))
"""They are asked in this process: nothing leaves it, and none needs a setting or a key."""

PROMPT_MAX_CHARACTERS: Final = 20_000
MODEL_MAX_CHARACTERS: Final = 200
SCOPE_MAX: Final = 100
POLICIES_MAX: Final = 50
DEFAULT_THRESHOLD: Final = 0.7
DEFAULT_DAILY_LIMIT: Final = 10_000


class NlpPolicyType(StrEnum):
    CONTENT_SAFETY = "content_safety"
    PII_DETECTION = "pii_detection"
    INTENT_CLASSIFICATION = "intent_classification"
    CUSTOM = "custom"


class Direction(StrEnum):
    """What of a call is judged."""

    REQUEST = "request"
    RESPONSE = "response"
    BOTH = "both"


class OnMatch(StrEnum):
    """What a match does to a call. ``tag``: the call passes, and is labelled with the kinds of what was found.
    ``mask``: it passes with what was found replaced; where that cannot be done, it is held."""

    DENY = "deny"
    REQUIRE_APPROVAL = "require_approval"
    TAG = "tag"
    MASK = "mask"

    @property
    def verdict(self) -> Verdict:
        """Of a match by itself: whoever cannot mask holds."""
        return _VERDICTS[self]


_VERDICTS: Final = {
    OnMatch.DENY: Verdict.DENY,
    OnMatch.REQUIRE_APPROVAL: Verdict.REQUIRE_APPROVAL,
    OnMatch.TAG: Verdict.ALLOW,
    OnMatch.MASK: Verdict.REQUIRE_APPROVAL,
}


class Outcome(StrEnum):
    CLEAR = "clear"
    MATCH = "match"
    ERROR = "error"


class Scope(Struct, frozen=True):
    """Which calls the policy is asked about; an empty list is all, ``except_tools`` aside. ``except_headers``: names of
    header fields of a request, in lower case, that detectors do not look at. ``kinds``: the kinds of findings that
    count."""

    tools: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    direction: Direction = Direction.REQUEST
    except_headers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    except_tools: tuple[str, ...] = ()

    def covers(self, *, tool: str, operation: str, agent_id: str, direction: Direction) -> bool:
        return (
            self.direction in (direction, Direction.BOTH)
            and (not self.tools or tool in self.tools)
            and tool not in self.except_tools
            and (not self.operations or operation in self.operations)
            and (not self.agents or agent_id in self.agents)
        )

    def record(self) -> JsonObject:
        return {
            "tools": list(self.tools),
            "operations": list(self.operations),
            "agents": list(self.agents),
            "direction": self.direction.value,
            "except_headers": list(self.except_headers),
            "kinds": list(self.kinds),
            "except_tools": list(self.except_tools),
        }


class NlpDraft(Struct, frozen=True):
    """What somebody wants to be a policy; ``check.checked_draft`` says whether it can be one.

    ``on_error`` is never allow: a judge that does not answer has not agreed. ``on_unscannable`` is for what nobody can
    open (a picture, an encrypted archive); None: as ``on_error``.
    """

    name: str
    type: NlpPolicyType
    provider: str = EMBEDDED
    model: str | None = None
    description: str | None = None
    threshold: float = DEFAULT_THRESHOLD
    enabled: bool = True
    prompt: str | None = None
    scope: Scope = Scope()
    on_match: OnMatch = OnMatch.REQUIRE_APPROVAL
    on_error: Verdict = Verdict.REQUIRE_APPROVAL
    on_unscannable: Verdict | None = None
    daily_limit: int = DEFAULT_DAILY_LIMIT

    @property
    def is_local(self) -> bool:
        """Whether no language model is asked."""
        return self.provider in LOCAL_PROVIDERS

    @property
    def if_unscannable(self) -> Verdict:
        return self.on_error if self.on_unscannable is None else self.on_unscannable


class NlpPolicy(Struct, frozen=True):
    """One version of a policy. ``draft.model`` is never None here."""

    org_id: str
    policy_id: str
    version: int
    draft: NlpDraft
    created_at: datetime
    updated_at: datetime

    @property
    def model(self) -> str:
        return self.draft.model or ""


class NlpResult(Struct, frozen=True):
    """What one policy said about one content. ``error`` is why it could not say; then the score counts as the worst.

    ``engine``: detector, heuristic, classifier or judge. ``findings`` only from detectors; never what was found itself.
    ``question``: a digest of everything that a judge's answer depends on; ``template``: the version of its prompt;
    ``cached``: nobody was asked for this answer. ``tags``: the kinds that the call is labelled with, whether it passes
    or not. ``to_mask``: what of it is to be replaced; with the decision ``allow``, it was.
    """

    policy_id: str
    version: int
    provider: str
    model: str
    outcome: Outcome
    decision: Verdict
    risk_score: float
    confidence: float
    issues: tuple[str, ...]
    reasoning: str
    engine: str
    latency_ms: float
    error: str | None = None
    findings: tuple[Finding, ...] = ()
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    cached: bool = False
    template: str | None = None
    question: str | None = None
    tags: tuple[str, ...] = ()
    to_mask: tuple[FoundText, ...] = ()

    @property
    def action(self) -> str:
        """What is done, in a word: ``tag`` or ``mask`` where the call passes so, else the decision."""
        if self.decision is Verdict.ALLOW and (self.tags or self.to_mask):
            return OnMatch.TAG.value if self.tags else OnMatch.MASK.value
        return self.decision.value

    def record(self) -> JsonObject:
        """An entry of ``nlp`` in the decision and its event; a judge's says what its answer took, and to what."""
        entry: JsonObject = {
            "policy_id": self.policy_id,
            "version": self.version,
            "provider": self.provider,
            "model": self.model,
            "outcome": self.outcome.value,
            "decision": self.action,
            "score": self.risk_score,
            "issues": list(self.issues),
            "reasoning": self.reasoning,
            "error": self.error,
            "latency_ms": self.latency_ms,
        }
        if self.tags:
            entry["tags"] = list(self.tags)
        if self.question is None:
            return entry
        return entry | {
            "confidence": self.confidence,
            "template": self.template,
            "question": self.question,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "cost_usd": self.cost_usd,
            "cached": self.cached,
        }


_STRICTNESS: Final = {Verdict.ALLOW: 0, Verdict.REQUIRE_APPROVAL: 1, Verdict.DENY: 2}


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Allow where there is none."""
    return max(verdicts, key=lambda verdict: _STRICTNESS[verdict], default=Verdict.ALLOW)
