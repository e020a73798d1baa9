"""/admin/settings/captures: whose calls are kept for review, and how much of them."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import dependencies_of
from admin_api.etag import IfMatch
from admin_api.guarded_route import GuardedRoute
from admin_api.settings.tagged import replaced, shown
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import SettingName
from headgate.traffic.rules import capture_rules_document
from headgate.traffic.settings_service import load_capture_rules, put_capture_rules

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


@router.get("/admin/settings/captures", response_class=Response)
async def get_captures(request: Request) -> Response:
    """Gets the capture rules. Without a rule nothing is captured."""
    return await shown(request, SettingName.CAPTURES, _rules)


@router.put("/admin/settings/captures", response_class=Response)
async def set_captures(request: Request, if_match: IfMatch = None) -> Response:
    """Replaces all capture rules. They apply to every call that is decided from now on, in every process.

    If-Match: only if they are still at that version.
    """

    async def put(change: OrganizationChange, document: JsonValue) -> JsonObject:
        # The proxies seal what they spool, and have no right to make the first key.
        await dependencies_of(request).vault.make_first_keys(change.connection, change.org_id)
        return capture_rules_document(await put_capture_rules(change, document))

    return await replaced(request, SettingName.CAPTURES, if_match, put)


async def _rules(connection: Connection, org_id: str) -> JsonObject:
    return capture_rules_document(await load_capture_rules(connection, org_id))
