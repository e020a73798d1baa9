"""/reports: creates, follows, downloads and deletes reports."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.audit_reports.routes import create, delete, list_all
from admin_api.audit_reports.schemas import NewReport
from admin_api.identifiers import ReportId
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError
from headgate.reports.model import ReportFormat, ReportType

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/reports"
_AT_ONCE: Final = 50
_TYPES: Final = {
    ReportType.COMPLIANCE: "Compliance: controls and their evidence",
    ReportType.ACTIVITY: "Activity: actions, decisions, executions",
    ReportType.APPROVALS: "Approvals: who decided what, and when",
    ReportType.POLICY_CHANGES: "Policy changes",
    ReportType.ACCESS: "Access: people, keys, sign-ins",
}


@router.get(_PATH, response_class=Response)
async def reports(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def ask(api: CurrentApi) -> Response:
    """Creates a report from the form. The worker makes the file."""
    form = await form_of(api.request)
    try:
        body = checked(
            NewReport,
            {
                "type": form.text("type"),
                "format": form.text("format"),
                "start_date": form.optional("start_date"),
                "end_date": form.optional("end_date"),
            },
        )
        await api.call(create, body, api.principal, api.dependencies, Response())
    except HeadgateError as error:
        return await _page(api, error)
    return see_other(_PATH)


@router.post("/reports/{report_id}/delete", response_class=Response)
async def remove(api: CurrentApi, report_id: ReportId) -> Response:
    """Deletes a report with its file. The audit log still shows that it existed."""
    await api.call(delete, report_id, api.principal, api.dependencies)
    return see_other(_PATH)


async def _page(api: Api, error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE)
    found = await api.call(list_all, page, api.principal, api.dependencies)
    context: dict[str, object] = {
        "reports": found.data,
        "types": [(one.value, _TYPES[one]) for one in ReportType],
        "formats": [(one.value, one.value.upper()) for one in ReportFormat],
        "may_delete": api.may(Scope.ADMIN),
    }
    return await shell_page(api, "reports.html", _PATH, context, error=error)
