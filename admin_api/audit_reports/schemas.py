"""Bodies about reports (specification, "Audit routes"; its example names the type, the format and ``include``)."""

import base64
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, WithJsonSchema

from admin_api.instants import InstantText
from admin_api.schema import BaseModel
from headgate.reports.model import Report, ReportFormat, ReportStatus, ReportType, Section, Stage


class NewReport(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: ReportType
    format: ReportFormat = ReportFormat.PDF
    start_date: InstantText | None = Field(default=None, description="ISO 8601. Default: from the first event on.")
    end_date: InstantText | None = Field(default=None, description="ISO 8601. Default: until now.")
    include: list[Annotated[str, WithJsonSchema({"type": "string", "enum": sorted(Section)})]] | None = Field(
        default=None,
        max_length=len(Section),
        description=f"Of {', '.join(sorted(Section))}; without it, what is usual for the type.",
    )
    checkpoint_size: int | None = Field(
        default=None,
        ge=1,
        le=2**53 - 1,
        description="Base the report on the checkpoint of this size, to reproduce a report. Default: the first that"
        " covers the period.",
    )


class ProgressAnswer(BaseModel):
    """``done`` of ``total`` events of this stage. ``percent`` is of the whole report."""

    stage: Stage
    done: int
    total: int
    percent: int


class ReportCheckpointAnswer(BaseModel):
    """The checkpoint of the report. GET /admin/audit/checkpoints has the signed text."""

    size: int
    root: str = Field(description="In base64, as in the checkpoint.")


class ReportAnswer(BaseModel):
    id: str
    type: ReportType
    format: ReportFormat
    include: list[Section]
    start_date: datetime | None
    end_date: datetime
    status: ReportStatus
    progress: ProgressAnswer
    attempts: int
    error: str | None
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    first_event: int | None = Field(description="Number of the first event in the report.")
    last_event: int | None
    checkpoint: ReportCheckpointAnswer | None
    size_bytes: int | None
    sha256: str | None
    file_name: str
    download_url: str | None = Field(description="Address of the file, when it is ready.")


def report_answer(report: Report) -> ReportAnswer:
    request, result, progress = report.request, report.result, report.progress
    checkpoint = None
    if result is not None and result.checkpoint_size is not None and result.checkpoint_root is not None:
        root = base64.b64encode(result.checkpoint_root).decode()
        checkpoint = ReportCheckpointAnswer(size=result.checkpoint_size, root=root)
    return ReportAnswer(
        id=report.report_id,
        type=request.report_type,
        format=request.format,
        include=list(request.sections),
        start_date=request.start,
        end_date=request.end,
        status=report.status,
        progress=ProgressAnswer(
            stage=progress.stage, done=progress.done, total=progress.total, percent=progress.percent
        ),
        attempts=report.attempt,
        error=report.failure,
        created_by=report.created_by,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        first_event=None if result is None else result.first_seq,
        last_event=None if result is None else result.last_seq,
        checkpoint=checkpoint,
        size_bytes=None if result is None else result.size_bytes,
        sha256=None if result is None else "sha256:" + result.sha256.hex(),
        file_name=report.file_name,
        download_url=f"/admin/audit/reports/{report.report_id}/download"
        if report.status is ReportStatus.READY
        else None,
    )
