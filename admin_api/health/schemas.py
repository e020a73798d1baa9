"""Bodies of the health routes. What stands under ``details`` is there for administrators only."""

from typing import Literal

from pydantic import BaseModel, Field

from admin_api.settings.kill_switch_routes import StopAnswer

type PartState = Literal["ok", "unavailable", "not configured"]


class LiveAnswer(BaseModel):
    status: Literal["ok"]


class HealthAnswer(BaseModel):
    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, PartState]
    latency_ms: dict[str, float | None] = Field(description="How long each part took to answer; null: it did not.")
    break_glass_open_reviews: int | None = Field(
        description="Of broken glasses, over all organizations; null: the database does not say."
    )
    warnings: list[str] | None = Field(
        default=None, description="Only in /health, for administrators: what works, and may not be what was meant."
    )
    stops: list[StopAnswer] | None = Field(
        default=None, description="Only in /health, for administrators: what of their organization is stopped."
    )


class BuildAnswer(BaseModel):
    name: str
    version: str
    interface_version: str
    commit: str | None = Field(description="Null: this installation does not know.")
    built_at: str | None = Field(description="RFC 3339; null: it was not built, or does not know.")


class BurnAnswer(BaseModel):
    burn_rate: float = Field(description="1: the error budget lasts exactly as long as its period.")
    good: float
    total: float
    covered_seconds: float = Field(description="Less than the window where counting began later.")


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
    """``breakers``: for administrators, those of their organization."""

    status: Literal["ok", "degraded"]
    closed: int
    open: int
    half_open: int
    breakers: list[BreakerAnswer] | None


class PlatformAnswer(BaseModel):
    """For a page that anybody may see. Decisions are since counting began, of all processes of the machine."""

    status: Literal["ok", "degraded", "unavailable"]
    version: str
    uptime_seconds: float
    decisions: dict[str, int]
    held_calls: int
    open_approvals: int | None
    unsealed_events: int | None
