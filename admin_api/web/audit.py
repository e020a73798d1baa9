"""/audit: lists the events of the log, shows one event with its proof, and verifies the log against its checkpoints."""

from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.audit.filters import CurrentFilter, CurrentList
from admin_api.audit.routes import get, list_all
from admin_api.audit.schemas import ListedEventAnswer, VerifyRequest
from admin_api.audit.verification_routes import BackgroundVerificationAnswer
from admin_api.audit.verification_routes import show as show_verification
from admin_api.audit.verification_routes import start as start_verification
from admin_api.evidence.routes import checkpoints, own_signing_keys
from admin_api.evidence.schemas import KeysAnswer
from admin_api.identifiers import EventId
from admin_api.pages import see_other
from admin_api.pagination import CursorPagination, Page
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.audit.model import EventType
from headgate.kernel.errors import HeadgateError, NotFoundError, UnavailableError
from headgate.policies.model import RiskLevel, Verdict

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/audit"
_CHECKPOINTS: Final = 20
_LOOKED_AT: Final = 500


@router.get(_PATH, response_class=Response)
async def events(request: Request, api: CurrentApi, wanted: CurrentList, asked: CurrentFilter) -> Response:
    answer = await api.call(list_all, wanted, asked, api.principal, api.dependencies)
    found = Page[ListedEventAnswer, CursorPagination].model_validate_json(bytes(answer.body))
    context = {
        "events": found.data,
        "next_cursor": found.pagination.next_cursor,
        "given": asked.given,
        "from_time": _local(asked.wanted.start),
        "to_time": _local(asked.wanted.end),
        "types": [("", "any event")] + [(one.value, one.value) for one in EventType],
        "decisions": [("", "any decision")] + [(one.value, one.value.replace("_", " ")) for one in Verdict],
        "risks": [("", "any risk")] + [(one.value, one.value) for one in RiskLevel],
    }
    return await shell_page(api, "audit.html", _PATH, context)


def _local(at: datetime | None) -> str:
    """The value of a field for a date and a time, in UTC. The API reads a time without an offset as UTC."""
    return "" if at is None else at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="minutes")


@router.get("/audit/checkpoints", response_class=Response)
async def signed(api: CurrentApi) -> Response:
    return await _checkpoints_page(api)


@router.post("/audit/checkpoints", response_class=Response)
async def verify_now(api: CurrentApi) -> Response:
    """Starts a verification of the events in a period. The page shows its progress and its result."""
    form = await form_of(api.request)
    kept = form.text("checkpoint")
    try:
        body = checked(
            VerifyRequest,
            {
                "start_date": form.optional("start_date"),
                "end_date": form.optional("end_date"),
                "checkpoints": [f"{kept}\n"] if kept else [],
            },
        )
        await api.call(start_verification, api.principal, api.dependencies, body)
    except HeadgateError as error:
        return await _checkpoints_page(api, error)
    return see_other("/audit/checkpoints")


@router.get("/audit/{event_id}", response_class=Response)
async def one(api: CurrentApi, event_id: EventId) -> Response:
    event = await api.call(get, event_id, api.principal, api.dependencies)
    return await shell_page(api, "event.html", _PATH, {"event": event})


async def _checkpoints_page(api: Api, error: HeadgateError | None = None) -> Response:
    newest = await api.call(checkpoints, api.principal, api.dependencies, latest=True)
    # Each covers one event more than the one before it, at least.
    after = max(0, newest.data[0].size - _LOOKED_AT) if newest.data else 0
    listed = await api.call(checkpoints, api.principal, api.dependencies, after=after, limit=_LOOKED_AT)
    context = {
        "state": newest,
        "checkpoints": listed.data[::-1][:_CHECKPOINTS],
        "keys": await _keys(api),
        "verification": await _last_verification(api),
    }
    return await shell_page(api, "checkpoints.html", _PATH, context, error=error)


async def _last_verification(api: Api) -> BackgroundVerificationAnswer | None:
    """None: none was started."""
    try:
        return await api.call(show_verification, api.principal, api.dependencies)
    except NotFoundError:
        return None


async def _keys(api: Api) -> KeysAnswer | None:
    """None: nothing has been signed yet."""
    try:
        return await api.call(own_signing_keys, api.principal, api.dependencies)
    except UnavailableError:
        return None
