"""Bodies about executions, which the specification leaves open (docs/guides/executions.md)."""

from datetime import datetime

from pydantic import ConfigDict, Field, StrictBool

from admin_api.identifiers import ExecutionId
from admin_api.schema import BaseModel
from headgate.executions.list_store import ListedExecution
from headgate.executions.statistics_store import DestinationState, ExecutionStatistics, ToolStatistics
from headgate.kernel.canonical_json import JsonObject, JsonValue


class ExecutionItem(BaseModel):
    """``source``: proxy for an agent's own call, api for an explicit action. ``due_at``: time of the next attempt."""

    id: str
    action_id: str
    agent_id: str
    source: str
    tool: str
    operation: str
    status: str
    attempts: int
    destination: str | None
    priority: int | None
    created_at: datetime
    queued_at: datetime | None
    due_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    error: str | None
    result: JsonValue
    can_retry: bool = Field(description="The execution failed, and its call is still stored.")


class ExecutionAction(BaseModel):
    """The executed action, with secrets masked."""

    id: str
    status: str
    tool: str
    operation: str
    agent_id: str
    risk_level: str
    approval_id: str | None
    params: JsonObject
    context: JsonObject | None
    http: JsonObject | None


class ExecutionDetail(ExecutionItem):
    action: ExecutionAction


class ProcessBody(BaseModel):
    """Without ``execution_id``: the execution that has waited longest."""

    model_config = ConfigDict(extra="forbid")

    execution_id: ExecutionId | None = None


class ProcessAllBody(BaseModel):
    """No members: all queued executions are meant."""

    model_config = ConfigDict(extra="forbid")


class ProcessAnswer(BaseModel):
    """``execution_id`` is null if the queue is empty."""

    execution_id: str | None
    processed: int


class RetryBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    execution_id: ExecutionId
    reset_attempts: StrictBool = False


class ToolFigures(BaseModel):
    succeeded: int
    failed: int
    success_rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


class StatisticsAnswer(BaseModel):
    """``queued`` may run now, ``scheduled`` wait for their time, ``retryable`` failed and can be retried: counted up to
    10,000. The rest is of the newest ``sampled`` executions (up to 2,000) that ended within ``window_seconds``,
    intercepted ones included."""

    queued: int
    scheduled: int
    oldest_queued_seconds: float
    running: int
    retryable: int
    window_seconds: int
    sampled: int
    throughput_per_second: float
    success_rate: float | None
    duration: ToolFigures | None
    tools: dict[str, ToolFigures]


class DestinationItem(BaseModel):
    """``breaker``: closed, open (nothing is sent until ``open_until``) or half_open (one call tests it)."""

    destination: str
    breaker: str
    failures: int
    open_until: datetime | None
    running: int


class DestinationsAnswer(BaseModel):
    data: list[DestinationItem]


def execution_item(listed: ListedExecution) -> ExecutionItem:
    execution = listed.execution
    return ExecutionItem(
        id=execution.execution_id,
        action_id=listed.action_id,
        agent_id=listed.agent_id,
        source=listed.source,
        tool=listed.tool,
        operation=listed.operation,
        status=execution.status.value,
        attempts=execution.attempts,
        destination=listed.destination or _destination(listed.request),
        priority=listed.priority,
        created_at=listed.created_at,
        queued_at=listed.queued_at,
        due_at=listed.due_at,
        started_at=execution.started_at,
        completed_at=execution.completed_at,
        error=execution.error,
        result=execution.result,
        can_retry=listed.can_retry,
    )


def _destination(request: JsonObject) -> str | None:
    http = request.get("http")
    return f"{http['host']}:{http['port']}" if isinstance(http, dict) else None


def execution_detail(listed: ListedExecution) -> ExecutionDetail:
    request = listed.request
    params, context, http = request.get("params"), request.get("context"), request.get("http")
    return ExecutionDetail(
        **dict(execution_item(listed)),
        action=ExecutionAction(
            id=listed.action_id,
            status=listed.action_status,
            tool=listed.tool,
            operation=listed.operation,
            agent_id=listed.agent_id,
            risk_level=listed.risk_level,
            approval_id=listed.approval_id,
            params=params if isinstance(params, dict) else {},
            context=context if isinstance(context, dict) else None,
            http=http if isinstance(http, dict) else None,
        ),
    )


def statistics_answer(found: ExecutionStatistics, window_seconds: int) -> StatisticsAnswer:
    # Where the sample is a part of the window, the rate is of the time that the part spans.
    return StatisticsAnswer(
        queued=found.queued,
        scheduled=found.scheduled,
        oldest_queued_seconds=round(found.oldest_queued_seconds, 3),
        running=found.running,
        retryable=found.retryable,
        window_seconds=window_seconds,
        sampled=found.sampled,
        throughput_per_second=round(found.sampled / max(found.sampled_seconds, 0.001), 3),
        success_rate=None if found.overall is None else _figures(found.overall).success_rate,
        duration=None if found.overall is None else _figures(found.overall),
        tools={one.tool: _figures(one) for one in found.tools},
    )


def _figures(found: ToolStatistics) -> ToolFigures:
    ended = found.succeeded + found.failed
    return ToolFigures(
        succeeded=found.succeeded,
        failed=found.failed,
        success_rate=round(found.succeeded / ended, 4) if ended else 0.0,
        p50_ms=found.p50_ms,
        p95_ms=found.p95_ms,
        p99_ms=found.p99_ms,
    )


def destination_item(found: DestinationState, *, breaker_failures: int, now: datetime) -> DestinationItem:
    is_open = found.open_until is not None and found.open_until > now
    breaker = "open" if is_open else "half_open" if found.failures >= breaker_failures else "closed"
    return DestinationItem(
        destination=found.destination,
        breaker=breaker,
        failures=found.failures,
        open_until=found.open_until if is_open else None,
        running=found.running,
    )
