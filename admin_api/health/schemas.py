"""Bodies of the health routes. ``details`` is null for everybody but the operator, ``breakers`` for everybody but
administrators."""

from typing import Literal

from pydantic import Field

from admin_api.schema import BaseModel
from admin_api.settings.kill_switch_routes import StopAnswer

type PartState = Literal["ok", "unavailable", "not configured"]


class LiveAnswer(BaseModel):
    status: Literal["ok"]


class HealthAnswer(BaseModel):
    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, PartState]
    latency_ms: dict[str, float | None] = Field(description="Response time of each part. Null: no response.")
    break_glass_open_reviews: int | None = Field(
        description="Open reviews of break-glass uses, over all organizations. Null: unknown."
    )
    warnings: list[str] | None = Field(
        default=None, description="Only in /health, for the operator: configuration that is probably a mistake."
    )
    stops: list[StopAnswer] | None = Field(
        default=None, description="Only in /health, for administrators: active stops of their organization."
    )


class BuildAnswer(BaseModel):
    name: str
    version: str
    interface_version: str
    commit: str | None = Field(description="Null: unknown in this installation.")
    built_at: str | None = Field(description="RFC 3339. Null: unknown.")


class BurnAnswer(BaseModel):
    burn_rate: float = Field(description="1: the error budget lasts exactly for its period.")
    good: float
    total: float
    covered_seconds: float = Field(description="Shorter than the window if counting started later.")


class SloAnswer(BaseModel):
    name: str
    description: str
    target: float
    state: Literal["ok", "warning", "critical"]
    windows: dict[str, BurnAnswer]


class SlosAnswer(BaseModel):
    status: Literal["ok", "warning", "critical", "not measured yet"]
    period_days: int
    objectives: list[SloAnswer]


class PoolAnswer(BaseModel):
    size: int
    idle: int
    most: int
    waiting: int
    requests: int
    errors: int


class TableAnswer(BaseModel):
    name: str
    bytes: int
    estimated_rows: int


class DatabaseDetails(BaseModel):
    server_version: str
    connections: int
    most_connections: int
    database_bytes: int
    tables: list[TableAnswer]


class DatabaseAnswer(BaseModel):
    state: PartState
    latency_ms: float | None
    pool: PoolAnswer
    unsealed_events: int | None
    oldest_unsealed_seconds: float | None
    details: DatabaseDetails | None


class RedisDetails(BaseModel):
    server_version: str
    used_memory_bytes: int
    most_memory_bytes: int = Field(description="0: unlimited.")
    connected_clients: int
    uptime_seconds: int
    evicted_keys: int


class RedisAnswer(BaseModel):
    state: PartState
    latency_ms: float | None
    rate_limits: Literal["shared", "per process", "off"]
    details: RedisDetails | None


class BreakerAnswer(BaseModel):
    kind: str
    name: str
    state: str


class BreakersAnswer(BaseModel):
    """``breakers``: for administrators, including the destinations of their organization."""

    status: Literal["ok", "degraded"]
    closed: int
    open: int
    half_open: int
    breakers: list[BreakerAnswer] | None


class PlatformAnswer(BaseModel):
    """Public figures. Decisions are counted over all processes of the machine, since counting started."""

    status: Literal["ok", "degraded", "unavailable"]
    version: str
    uptime_seconds: float
    decisions: dict[str, int]
    held_calls: int
    open_approvals: int | None
    unsealed_events: int | None
