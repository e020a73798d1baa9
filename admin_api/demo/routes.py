"""POST /v1/demo/evaluate, /v1/funnel-events and /csp-report: what a website sends before anybody has an account.

Open to all, limited by the sender's address, and nothing of it is kept but counts.
"""

import json
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field, JsonValue
from starlette.requests import Request
from starlette.responses import Response

from admin_api.demo.csp_reports import MOST_REPORT_BYTES, parse_reports, read_report
from admin_api.dependencies import dependencies_of
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.metrics import CSP_REPORTS, DEMO_EVALUATIONS, FUNNEL_EVENTS
from admin_api.schema import BaseModel
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import PayloadTooLargeError, ValidationError
from headgate.policies.demonstration import Scenario, demonstrate

router = APIRouter(route_class=GuardedRoute, tags=["demo"])

_SCENARIOS: Final = tuple(scenario.value for scenario in Scenario)


# The framework takes no component from ``openapi_extra``: the schema names nothing outside of itself.
_DEMO_BODY: Final = {
    "type": "object",
    "title": "DemoRequest",
    "required": ["scenarioId"],
    "properties": {"scenarioId": {"type": "string", "enum": list(_SCENARIOS)}},
}


class DemoAnswer(BaseModel):
    scenarioId: Scenario  # noqa: N815 - the specification's name
    decision: Literal["allow", "deny", "require_approval"]
    reason: str
    policyName: str  # noqa: N815 - the specification's name
    riskLevel: Literal["low", "medium", "high", "critical"]  # noqa: N815 - the specification's name
    tool: str
    operation: str
    warnings: list[str]
    createdAt: str  # noqa: N815 - the specification's name


class FlatError(BaseModel):
    """The specification's flat shape, on this route only."""

    error: str
    message: str | None = None


class FunnelEvent(BaseModel):
    """POST /v1/funnel-events."""

    model_config = ConfigDict(extra="forbid")

    event: Literal["signup_started", "account_created"]
    subject: Annotated[str, Field(min_length=1, max_length=320)]
    metadata: dict[str, JsonValue] | None = None


class FunnelAnswer(BaseModel):
    accepted: Literal[True]


@router.post(
    "/v1/demo/evaluate",
    response_class=Response,
    responses={200: {"model": DemoAnswer}, 400: {"model": FlatError}},
    openapi_extra={"requestBody": {"content": {JSON: {"schema": _DEMO_BODY}}, "required": True}},
)
async def evaluate(request: Request) -> Response:
    """Decides one of four scenarios with the real engine and bundled policies. Nothing is executed or recorded."""
    try:
        scenario = _scenario(parse_strict(await request.body()))
    except ValidationError as error:
        return Response(json.dumps({"error": error.code.value, "message": error.message}), 400, media_type=JSON)
    shown = demonstrate(scenario)
    DEMO_EVALUATIONS.labels(scenario.value).inc()
    answer = DemoAnswer(
        scenarioId=scenario,
        decision=shown.decision.verdict.value,
        reason=shown.decision.reason,
        policyName=shown.policy_name,
        riskLevel=shown.decision.risk_level.value,
        tool=shown.tool,
        operation=shown.operation,
        warnings=list(shown.warnings),
        createdAt=rfc3339(dependencies_of(request).clock()),
    )
    return Response(answer.model_dump_json(), 200, media_type=JSON)


@router.post("/v1/funnel-events", status_code=202)
async def funnel_event(body: FunnelEvent) -> FunnelAnswer:
    """Counts a sign-up event. The subject is neither stored nor logged."""
    FUNNEL_EVENTS.labels(body.event).inc()
    return FunnelAnswer(accepted=True)


@router.post(
    "/csp-report",
    response_class=Response,
    status_code=204,
    openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": {}}}}},
)
async def csp_report(request: Request) -> Response:
    """Counts reports of Content-Security-Policy violations, in either format, by directive. Accepts any JSON."""
    body = await request.body()
    if len(body) > MOST_REPORT_BYTES:
        raise PayloadTooLargeError(
            f"a report has at most {MOST_REPORT_BYTES} bytes", details={"limit_bytes": MOST_REPORT_BYTES}
        )
    for violation in parse_reports(read_report(body)):
        CSP_REPORTS.labels(violation.directive, violation.disposition).inc()
    return Response(status_code=204)


def _scenario(body: object) -> Scenario:
    named = body.get("scenarioId") if isinstance(body, dict) else None
    if not isinstance(named, str) or named not in _SCENARIOS:
        raise ValidationError(f"scenarioId: must be one of {', '.join(_SCENARIOS)}")
    return Scenario(named)
