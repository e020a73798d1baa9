"""/admin/audit/reports: asked for here, made by the worker, taken here (specification, "Audit routes")."""

from typing import Final

from fastapi import APIRouter, Response
from starlette.responses import StreamingResponse

from admin_api.audit_reports.schemas import NewReport, ReportAnswer, report_answer
from admin_api.change import administer
from admin_api.deleted import DeletedAnswer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ReportId
from admin_api.instants import range_of_time
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from headgate.evidence.tree_store import get_checkpoint
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.reports.model import ReportFormat, ReportRequest, ReportStatus, ReportType, sections_of
from headgate.reports.service import record_download, remove_report, request_report
from headgate.reports.store import get_report, list_reports, pieces_of

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

_MEDIA_TYPES: Final = {
    ReportFormat.PDF: "application/pdf",
    ReportFormat.HTML: "text/html; charset=utf-8",
    ReportFormat.CSV: "text/csv; charset=utf-8; header=present",
    ReportFormat.JSON: "application/json",
}


@router.post("/admin/audit/reports", status_code=202)
async def create(
    body: NewReport, principal: CurrentPrincipal, dependencies: CurrentDependencies, response: Response
) -> ReportAnswer:
    """Creates a report of everything that was recorded until now. GET it until its status is ready or failed."""
    start, end = range_of_time(body.start_date, body.end_date)
    sections = sections_of(body.type, body.include)
    await apply_before_reading(dependencies.database, principal.org_id)
    now = dependencies.clock()
    if start is not None and start > now:
        raise ValidationError("start_date is in the future", details={"field": "start_date"})
    # What is not over yet cannot be reported: the same request of tomorrow would be another report.
    end = now if end is None or end > now else end
    request = ReportRequest(body.type, body.format, sections, start, end, body.checkpoint_size)
    async with administer(principal, dependencies) as change:
        if body.checkpoint_size is not None:
            await get_checkpoint(change.connection, principal.org_id, body.checkpoint_size)
        report = await request_report(change, request)
    response.headers["Location"] = f"/admin/audit/reports/{report.report_id}"
    return report_answer(report)


@router.get("/admin/audit/reports", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    type: ReportType | None = None,  # noqa: A002 - the name that the body has
    status: ReportStatus | None = None,
) -> CountedPage[ReportAnswer]:
    """Lists reports, newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_reports(
            connection,
            principal.org_id,
            report_type=type,
            status=status,
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
    return counted_page(
        page, [report_answer(one) for one in found.reports], found.total, is_minimum=found.total_is_minimum
    )


@router.get("/admin/audit/reports/{report_id}")
async def get(report_id: ReportId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> ReportAnswer:
    """Gets the progress of one report and its checkpoint."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return report_answer(await get_report(connection, principal.org_id, report_id))


@router.get(
    "/admin/audit/reports/{report_id}/download",
    response_class=Response,
    responses={409: {"description": "The file does not exist yet, or the report failed"}},
)
async def download(report_id: ReportId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> Response:
    """Downloads the file of a report. The audit log records the download first."""
    async with administer(principal, dependencies) as change:
        report = await get_report(change.connection, principal.org_id, report_id)
        if report.result is None:
            raise ConflictError(f"the report is {report.status} and has no file", details={"status": report.status})
        await record_download(change, report)
    headers = {
        "Content-Disposition": f'attachment; filename="{report.file_name}"',
        "Content-Length": str(report.result.size_bytes),
        "ETag": f'"{report.result.sha256.hex()}"',
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        # Opened as a page nevertheless, it may do nothing that its own policy does not allow, and is of no origin.
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    }
    return StreamingResponse(
        pieces_of(dependencies.database, principal.org_id, report_id),
        media_type=_MEDIA_TYPES[report.request.format],
        headers=headers,
    )


@router.delete("/admin/audit/reports/{report_id}")
async def delete(report_id: ReportId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> DeletedAnswer:
    """Deletes a report with its file, and cancels it if it is not finished. The audit log still shows that
    it existed."""
    async with administer(principal, dependencies) as change:
        await remove_report(change, report_id)
    return DeletedAnswer(id=report_id)
