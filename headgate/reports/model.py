"""What a report is: its kind, its form, what it is about, and how far its making has got. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError


class ReportType(StrEnum):
    """The specification's example names compliance; the rest are Headgate's."""

    COMPLIANCE = "compliance"
    ACTIVITY = "activity"
    APPROVALS = "approvals"
    POLICY_CHANGES = "policy_changes"
    ACCESS = "access"


class ReportFormat(StrEnum):
    PDF = "pdf"
    HTML = "html"
    CSV = "csv"
    JSON = "json"


class Section(StrEnum):
    """What ``include`` may name. The first four are the specification's."""

    ACTIONS = "actions"
    APPROVALS = "approvals"
    DENIALS = "denials"
    RISK_SUMMARY = "risk_summary"
    AGENTS = "agents"
    EXECUTIONS = "executions"
    EXCEPTIONS = "exceptions"
    POLICY_CHANGES = "policy_changes"
    ACCESS = "access"
    CONTROLS = "controls"
    EVENTS = "events"


DEFAULT_SECTIONS: Final[Mapping[ReportType, tuple[Section, ...]]] = MappingProxyType(
    {
        ReportType.COMPLIANCE: tuple(one for one in Section if one is not Section.EVENTS),
        ReportType.ACTIVITY: (
            Section.RISK_SUMMARY, Section.ACTIONS, Section.AGENTS, Section.DENIALS, Section.EXECUTIONS,
        ),
        ReportType.APPROVALS: (Section.RISK_SUMMARY, Section.APPROVALS, Section.EXCEPTIONS),
        ReportType.POLICY_CHANGES: (Section.POLICY_CHANGES,),
        ReportType.ACCESS: (Section.ACCESS, Section.EXCEPTIONS),
    }
)  # fmt: skip


class ReportStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self in (ReportStatus.READY, ReportStatus.FAILED)


_MOVES: Final = {
    ReportStatus.QUEUED: {ReportStatus.RUNNING, ReportStatus.FAILED},
    # A worker that was killed leaves it running; the next attempt begins from there.
    ReportStatus.RUNNING: {ReportStatus.RUNNING, ReportStatus.READY, ReportStatus.FAILED},
    ReportStatus.READY: set[ReportStatus](),
    ReportStatus.FAILED: set[ReportStatus](),
}


def may_become(after: ReportStatus) -> list[str]:
    """The states out of which a report comes into this one; the store moves it out of no other."""
    return [before.value for before, moves in _MOVES.items() if after in moves]


class Stage(StrEnum):
    """What the worker is at; ``done`` of ``total`` events."""

    WAITING = "waiting"
    VERIFYING = "verifying"
    READING = "reading"
    RENDERING = "rendering"
    DONE = "done"


# Where each stage begins and ends, in percent of the whole.
_SHARE: Final = {
    Stage.WAITING: (0, 0), Stage.VERIFYING: (0, 40), Stage.READING: (40, 90), Stage.RENDERING: (90, 99),
    Stage.DONE: (100, 100),
}  # fmt: skip


class Progress(Struct, frozen=True):
    stage: Stage
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> int:
        first, last = _SHARE[self.stage]
        return first + (last - first) * min(self.done, self.total) // self.total if self.total else first


class ReportRequest(Struct, frozen=True):
    """What somebody asked for. ``start`` and ``end`` bound the time of sealing, both inclusive, as
    POST /admin/audit/verify takes them: such a range is a run of the chain without holes. ``most_events``: rest on
    the checkpoint of this size, and leave out what it does not cover."""

    report_type: ReportType
    format: ReportFormat
    sections: tuple[Section, ...]
    start: datetime | None
    end: datetime
    most_events: int | None = None


class Result(Struct, frozen=True):
    """What was made, and what it rests on; ``checkpoint_*`` None: nothing was signed that covers it."""

    first_seq: int | None
    last_seq: int | None
    checkpoint_size: int | None
    checkpoint_root: bytes | None
    size_bytes: int
    sha256: bytes


class Report(Struct, frozen=True):
    org_id: str
    report_id: str
    request: ReportRequest
    status: ReportStatus
    progress: Progress
    attempt: int
    failure: str | None
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: Result | None

    @property
    def file_name(self) -> str:
        """ASCII, for Content-Disposition; what range of time it is about is in it."""
        start = "beginning" if self.request.start is None else f"{self.request.start:%Y%m%d}"
        kind = self.request.report_type.value.replace("_", "-")
        return f"headgate-{kind}-{start}-{self.request.end:%Y%m%d}.{self.request.format.value}"


def sections_of(report_type: ReportType, named: Sequence[str] | None) -> tuple[Section, ...]:
    """Those that were asked for, in the order in which they are printed. Raises ValidationError."""
    if not named:
        return DEFAULT_SECTIONS[report_type]
    known = {one.value for one in Section}
    unknown = [one for one in named if one not in known]
    if unknown:
        raise ValidationError(
            f"include: {unknown[0]!r} is not a part of a report",
            details={"field": "include", "reason": f"one of {', '.join(sorted(known))}"},
        )
    return tuple(one for one in Section if one.value in named)
