"""/admin/settings: what an organization has set. So far: the allowlist of destinations.

The document itself is the body, both ways; its form is that of semantics.md ("What scripts rely on") and is
``data.allowlist`` in policies.
"""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import Dependencies, dependencies_of, principal_of
from admin_api.errors import JSON
from admin_api.etag import IfMatch, expected_version
from admin_api.guarded_route import GuardedRoute
from admin_api.principal import Principal
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import NotFoundError
from headgate.organizations.model import Setting, SettingName
from headgate.organizations.service import put_allowlist
from headgate.organizations.store import get_setting

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


@router.get("/admin/settings/allowlist", response_class=Response)
async def get_allowlist(request: Request) -> Response:
    """Gets the allowlist. 404 if it was never set."""
    dependencies, principal = dependencies_of(request), principal_of(request)
    async with dependencies.database.transaction(principal.org_id) as connection:
        setting = await get_setting(connection, principal.org_id, SettingName.ALLOWLIST)
    if setting is None:
        raise NotFoundError("the allowlist is not set: Headgate connects to no private address")
    return _answer(setting)


@router.put("/admin/settings/allowlist", response_class=Response)
async def set_allowlist(request: Request, if_match: IfMatch = None) -> Response:
    """Replaces the allowlist. Decisions in flight are made again with it. If-Match: only if it is still at that
    version."""
    body = await request.body()
    return _answer(await save_allowlist(principal_of(request), dependencies_of(request), body, if_match))


async def save_allowlist(
    principal: Principal, dependencies: Dependencies, body: bytes, if_match: str | None
) -> Setting:
    """``body`` is the document, as JSON. Raises ValidationError, ConflictError (another version is there)."""
    expected = expected_version(if_match, None)
    document = parse_strict(body)
    async with administer(principal, dependencies) as change:
        setting = await put_allowlist(change, document)
        if expected is not None:
            expected.require(setting.version - 1)  # the row is locked by now; what this raises undoes the change
    return setting


def _answer(setting: Setting) -> Response:
    return Response(setting.document, media_type=JSON, headers={"ETag": f'"{setting.version}"'})
