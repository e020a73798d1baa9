"""What a judge is asked, what it answers, and how asking can fail. Frozen, without I/O."""

from enum import StrEnum
from typing import ClassVar, Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import PUBLIC_ONLY, DestinationRules

DEADLINE_SECONDS: Final = 3.0
CONNECT_SECONDS: Final = 0.5


class ProviderKind(StrEnum):
    """Who judges. ``embedded`` is no language model and needs no network (``headgate.detectors``)."""

    EMBEDDED = "embedded"
    OPENAI_COMPATIBLE = "openai_compatible"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class Provider(Struct, frozen=True):
    """One configured service. ``base_url`` without a slash at the end. An administrator of the organization chose it:
    it is reached only where ``rules`` permit the address that is connected to.

    Prices are in US dollars for a million tokens; None: unknown, and then no cost is told.
    """

    kind: ProviderKind
    base_url: str
    api_key: Secret | None = None
    input_price: float | None = None
    output_price: float | None = None
    rules: DestinationRules = PUBLIC_ONLY


class Question(Struct, frozen=True):
    """``action``: canonical JSON, secrets already masked. ``identity``: what else makes an answer this policy's own
    (organization, policy, version)."""

    provider: Provider
    model: str
    policy: str
    threshold: float
    action: bytes
    identity: tuple[str, ...]


class Judgement(Struct, frozen=True):
    """Exactly the members that the prompt asks for."""

    flagged: bool
    risk_score: float
    confidence: float
    detected_issues: tuple[str, ...]
    reasoning: str


class Usage(Struct, frozen=True):
    """Tokens, as the provider counts them; 0 where it does not say."""

    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)

    def cost(self, provider: Provider) -> float | None:
        """US dollars."""
        if provider.input_price is None or provider.output_price is None:
            return None
        return (self.input_tokens * provider.input_price + self.output_tokens * provider.output_price) / 1e6


NO_USAGE: Final = Usage()


class Verdict(Struct, frozen=True):
    """A judgement and what it took. ``cached``: it was made before, for the same question."""

    judgement: Judgement
    usage: Usage
    requests: int
    cached: bool = False


class Failure(StrEnum):
    """Why there is no judgement; recorded as ``error`` of the entry."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    RATE_LIMITED = "rate_limited"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    PROVIDER_ERROR = "provider_error"
    MALFORMED_ANSWER = "malformed_answer"
    BREAKER_OPEN = "breaker_open"
    BUDGET_EXHAUSTED = "budget_exhausted"
    TOO_LARGE = "too_large"
    NOT_INSPECTED = "not_inspected"
    UNSCANNABLE = "unscannable"
    NOT_CONFIGURED = "not_configured"
    INTERNAL = "internal"


class JudgeError(HeadgateError):
    """There is no judgement; the message holds nothing of the action and no key."""

    code: ClassVar[ErrorCode] = ErrorCode.SERVICE_UNAVAILABLE

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message, details={"failure": failure.value})
        self.failure = failure


ANSWER_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "flagged": {"type": "boolean"},
        "risk_score": {"type": "number"},
        "confidence": {"type": "number"},
        "detected_issues": {"type": "array", "items": {"type": "string"}},
        "reasoning": {"type": "string"},
    },
    "required": ["flagged", "risk_score", "confidence", "detected_issues", "reasoning"],
    "additionalProperties": False,
}
