"""/errors/{code}: the page that explains an error code to a developer. Public: it says nothing of an organization."""

import json
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import WithJsonSchema
from starlette.responses import Response

from admin_api.guarded_route import GuardedRoute
from admin_api.pages import page, pages
from admin_api.refusals.reference import error_pages
from headgate.kernel.errors import ErrorCode

router = APIRouter(route_class=GuardedRoute, tags=["service"])

# Refusals of what is recorded as an action: its own page explains them.
_RECORDED: Final = frozenset(
    {
        ErrorCode.ACTION_DENIED,
        ErrorCode.APPROVAL_PENDING,
        ErrorCode.APPROVAL_DENIED,
        ErrorCode.RESPONSE_WITHHELD,
        ErrorCode.UPSTREAM_FAILED,
        ErrorCode.CONNECTION_REFUSED,
        ErrorCode.CONNECTION_BROKEN,
    }
)

# In the document only, and not checked: for an unknown code the page lists all codes.
type _Code = Annotated[
    str, WithJsonSchema({"type": "string", "pattern": "^[A-Z][A-Z_]*$", "examples": [ErrorCode.ACTION_DENIED]})
]


@router.get("/errors/{code}", response_class=Response, responses=pages(200, 404))
async def explain(code: _Code) -> Response:
    """Explains an error code: its cause, and what a developer can do."""
    found = error_pages().get(code)
    if found is None:
        codes = sorted(error_pages())
        return page("error_codes.html", {"code": code, "codes": codes}, status=404)
    is_counted = found.origin != "API" and code not in _RECORDED
    shown = json.dumps(json.loads(found.example), indent=2, ensure_ascii=False)
    context = {
        "error": found,
        "example": shown,
        "is_recorded": code in _RECORDED,
        "is_counted": is_counted and code != ErrorCode.AGENT_UNAUTHORIZED,
        "is_unknown_agent": code == ErrorCode.AGENT_UNAUTHORIZED,
    }
    return page("error_code.html", context)
