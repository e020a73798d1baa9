"""Bodies of /admin/overview/health."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.actions.instance_store import ReportedProcess
from headgate.deliveries.backlog_store import PendingDeliveries

_UP_TO: Final = "Counted up to 10,000."


class BacklogAnswer(BaseModel):
    waiting: int = Field(description=_UP_TO)
    oldest_at: datetime | None = Field(description="Null: nothing waits.")


class ExecutionBacklogAnswer(BaseModel):
    """``waiting`` may run now, ``scheduled`` wait for their time."""

    waiting: int = Field(description=_UP_TO)
    scheduled: int = Field(description=_UP_TO)
    running: int = Field(description=_UP_TO)
    oldest_seconds: float = Field(description="Wait time of the oldest queued execution.")


class SiemBacklogAnswer(BaseModel):
    """Over all enabled destinations of the SIEM export."""

    destinations: int
    failing: int
    behind: int = Field(description="Events that the destination furthest behind has not received.")


class ReportedProcessAnswer(BaseModel):
    """``silent``: no heartbeat for 10 seconds."""

    kind: str = Field(description="proxy or worker")
    version: str
    state: Literal["running", "silent"]
    started_at: datetime
    heartbeat_at: datetime


class OverviewHealthAnswer(BaseModel):
    executions: ExecutionBacklogAnswer
    webhooks: BacklogAnswer
    notifications: BacklogAnswer
    integrations: BacklogAnswer
    siem: SiemBacklogAnswer
    processes: list[ReportedProcessAnswer] = Field(
        description="Of this installation, which may serve other organizations too."
    )


def backlog_answer(found: PendingDeliveries) -> BacklogAnswer:
    return BacklogAnswer(waiting=found.deliveries, oldest_at=found.oldest_at)


def process_answers(found: Sequence[ReportedProcess]) -> list[ReportedProcessAnswer]:
    return [
        ReportedProcessAnswer(
            kind=one.kind,
            version=one.version,
            state="silent" if one.is_silent else "running",
            started_at=one.started_at,
            heartbeat_at=one.heartbeat_at,
        )
        for one in found
    ]
