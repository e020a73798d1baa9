"""/links/{token}: what a notification's link opens. GET shows; POST, from that page alone, decides.

The token is the credential (``headgate.notifications.links``): whom it names must still be there, and still may decide.
"""

from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.client_address import client_address
from admin_api.dependencies import Dependencies, dependencies_of
from admin_api.description.parameters import in_path
from admin_api.guarded_route import GuardedRoute
from admin_api.links.view import Opened, no_link_page, open_link, view_page
from admin_api.own_form import require_own_form
from admin_api.pages import pages, see_other
from headgate.approvals.model import ApprovalStatus, VoteDecision, state_at
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=GuardedRoute, tags=["links"])

_MOST_FIELDS: Final = 4
_PARAMETERS: Final = [in_path("token", maxLength=2048)]


@router.get(
    "/links/{token}",
    response_class=Response,
    responses=pages(200, 400, 401, 403, 404, 409),
    openapi_extra={"parameters": _PARAMETERS},
)
async def show(request: Request) -> Response:
    """Shows the approval request of a link. Opening the page decides nothing."""
    try:
        return view_page(await _opened(request), dependencies_of(request).catalogue)
    except HeadgateError as error:
        return no_link_page(error)


@router.post(
    "/links/{token}",
    response_class=Response,
    responses={**pages(200, 400, 401, 403, 404, 409), 303: {"description": "Decided: the page once more"}},
    openapi_extra={"parameters": _PARAMETERS},
)
async def decide(request: Request) -> Response:
    """Records the decision of the link's form. The person whom the link names decides; the page is shown
    again (303)."""
    try:
        require_own_form(request)
        opened = await _opened(request)
        decision, reason = _read(await request.body())
    except HeadgateError as error:
        return no_link_page(error)
    dependencies = dependencies_of(request)
    try:
        await _vote(dependencies, opened, decision, reason)
    except (ConflictError, ForbiddenError, ValidationError) as error:
        return view_page(
            await _opened(request),
            dependencies.catalogue,
            message=error.message,
            typed=reason or "",
            status=error.http_status,
        )
    return see_other(request.url.path)


async def _opened(request: Request) -> Opened:
    dependencies = dependencies_of(request)
    opened = await open_link(
        dependencies.database,
        dependencies.vault,
        dependencies.clock(),
        str(request.path_params["token"]),
        dependencies.decide_approval.mapped_voter,
    )
    return opened.coming_from(client_address(request.scope))


async def _vote(dependencies: Dependencies, opened: Opened, decision: VoteDecision, reason: str | None) -> None:
    state = state_at(opened.approval, opened.now)
    if state is not ApprovalStatus.PENDING:
        raise ConflictError(f"The request is already {state.value}. Nothing was changed.")
    if opened.voter is None:
        raise ForbiddenError(opened.why_not or "This link only shows the request. It cannot decide.")
    await dependencies.decide_approval.decide(
        opened.approval.org_id, opened.approval.approval_id, opened.voter, decision, reason
    )


def _read(body: bytes) -> tuple[VoteDecision, str | None]:
    try:
        fields = parse_qs(body.decode(), max_num_fields=_MOST_FIELDS)
        decision = VoteDecision(fields["decision"][0])
    except (ValueError, KeyError) as error:
        raise NotFoundError("choose approve or deny") from error
    reason = "".join(fields.get("reason", [])[:1]).replace("\r\n", "\n").strip()
    if "\0" in reason:
        raise NotFoundError("the reason contains a character that cannot be stored")
    return decision, reason or None
