"""What policies say about one content (specification, "NLP policy routes": test, evaluate)."""

from pydantic import ConfigDict, Field

from admin_api.identifiers import ActionId
from admin_api.nlp_policies.schemas import CONTENT_MAX_CHARACTERS
from admin_api.schema import BaseModel
from headgate.nlp_policies.model import NlpResult


class Content(BaseModel):
    """POST …/test."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(max_length=CONTENT_MAX_CHARACTERS)


class EvaluatedContent(Content):
    """POST …/evaluate."""

    action_id: ActionId | None = Field(
        default=None, description="Only policies whose scope covers this action are evaluated."
    )


class FindingAnswer(BaseModel):
    type: str
    path: str
    offset: int | None = Field(description="Characters into the text after the decoding steps; null: in a name.")
    steps: list[str]
    sample: str = Field(description="Masked; never the finding itself.")
    confidence: float


class UsageAnswer(BaseModel):
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="Null if the provider's prices are not set.")


class DetailsAnswer(BaseModel):
    detected_issues: list[str]
    confidence: float
    findings: list[FindingAnswer]
    engine: str = Field(description="detector, heuristic, classifier, judge, or none if it failed.")
    outcome: str = Field(description="clear, match or error")
    error: str | None
    version: int
    provider: str
    model: str
    usage: UsageAnswer


class ResultAnswer(BaseModel):
    """``decision``: allow, tag, or the policy's decision on a match or error. On an error ``risk_score`` is maximal."""

    policy_id: str
    decision: str
    risk_score: float
    reasoning: str
    details: DetailsAnswer
    latency_ms: float


class EvaluationAnswer(BaseModel):
    """``decision``: the strictest of all. After a deny the other results are not awaited."""

    decision: str
    results: list[ResultAnswer]
    policies_asked: int
    latency_ms: float


def result_answer(result: NlpResult) -> ResultAnswer:
    findings = [
        FindingAnswer(
            type=one.kind,
            path=one.place.path,
            offset=one.place.offset,
            steps=list(one.place.steps),
            sample=one.sample,
            confidence=one.confidence,
        )
        for one in result.findings
    ]
    usage = UsageAnswer(
        input_tokens=result.usage.input_tokens, output_tokens=result.usage.output_tokens, cost_usd=result.cost_usd
    )
    return ResultAnswer(
        policy_id=result.policy_id,
        decision=result.action,
        risk_score=result.risk_score,
        reasoning=result.reasoning,
        details=DetailsAnswer(
            detected_issues=list(result.issues),
            confidence=result.confidence,
            findings=findings,
            engine=result.engine,
            outcome=result.outcome.value,
            error=result.error,
            version=result.version,
            provider=result.provider,
            model=result.model,
            usage=usage,
        ),
        latency_ms=result.latency_ms,
    )
