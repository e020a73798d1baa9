"""Asking for a report, taking it, deleting it: each is an event of the record."""

from datetime import datetime
from typing import Final

from headgate.audit.model import EventType
from headgate.kernel.backoff import Backoff
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange
from headgate.queue.model import Job
from headgate.queue.store import defer
from headgate.reports.model import Report, ReportRequest
from headgate.reports.store import delete_report, get_report, insert_report, kept

MAKE_REPORT: Final = Job(
    "report.make", queue="reports", backoff=Backoff(first_seconds=2, cap_seconds=60, most_attempts=10)
)
"""The queue comes back while the database is away; how often a report is begun is counted by its row."""

MOST_ATTEMPTS: Final = 2
"""What a killed worker had begun is made again, and what ends its workers is not tried for ever."""
MOST_UNFINISHED: Final = 20
MOST_KEPT_BYTES: Final = 2 << 30
MOST_REPORT_BYTES: Final = 256 << 20


async def request_report(change: OrganizationChange, request: ReportRequest) -> Report:
    """Deferred in the caller's transaction. Raises ValidationError, ConflictError."""
    if request.start is not None and request.end < request.start:
        raise ValidationError(
            "end_date is before start_date", details={"field": "end_date", "reason": "before start_date"}
        )
    unfinished, kept_bytes = await kept(change.connection, change.org_id)
    if unfinished >= MOST_UNFINISHED:
        raise ConflictError(
            f"{unfinished} reports are being produced. Wait until one is finished.", details={"limit": MOST_UNFINISHED}
        )
    if kept_bytes >= MOST_KEPT_BYTES:
        raise ConflictError(
            f"The stored reports take {kept_bytes >> 20} MiB. Delete some first.",
            details={"limit_bytes": MOST_KEPT_BYTES},
        )
    report_id = new_id(IdPrefix.REPORT)
    await insert_report(change.connection, change.org_id, report_id, request, created_by=change.actor.id, at=change.at)
    await defer(change.connection, MAKE_REPORT, change.org_id, report_id)
    await change.record(EventType.REPORT_REQUESTED, about(report_id, request))
    return await get_report(change.connection, change.org_id, report_id)


async def record_download(change: OrganizationChange, report: Report) -> None:
    data = about(report.report_id, report.request)
    if report.result is not None:
        data["sha256"] = "sha256:" + report.result.sha256.hex()
    await change.record(EventType.REPORT_DOWNLOADED, data)


async def remove_report(change: OrganizationChange, report_id: str) -> None:
    """Raises NotFoundError."""
    report = await get_report(change.connection, change.org_id, report_id)
    await delete_report(change.connection, change.org_id, report_id)
    data = about(report_id, report.request)
    await change.record(EventType.REPORT_DELETED, data)


def about(report_id: str, request: ReportRequest) -> JsonObject:
    """What an event says of a report."""
    return {
        "report_id": report_id,
        "report_type": request.report_type.value,
        "format": request.format.value,
        "start": _instant(request.start),
        "end": _instant(request.end),
    }


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
