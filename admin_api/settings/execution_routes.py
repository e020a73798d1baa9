"""/admin/settings/executions and /admin/settings/credentials: how calls are limited, and what they carry.

Values of credentials are shown to nobody, and never recorded.
"""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, dependencies_of, principal_of
from admin_api.etag import IfMatch
from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from admin_api.settings.tagged import replaced, shown
from headgate.db.database import Connection
from headgate.executions.credentials import credential_names
from headgate.executions.limits import load_limits
from headgate.executions.model import limits_document
from headgate.executions.service import put_credentials, put_limits
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import SettingName

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


class CredentialsAnswer(BaseModel):
    """Names of the stored credentials. ``send.credential`` of a catalogue names the credential of its calls; if its
    host begins with ``*.``, a host follows: ``NAME@HOST``."""

    credentials: list[str]


@router.get("/admin/settings/executions", response_class=Response)
async def get_limits(request: Request) -> Response:
    """Gets the execution limits. Limits that were never set have their defaults."""
    ceiling = dependencies_of(request).execution_concurrency_max

    async def limits(connection: Connection, org_id: str) -> JsonObject:
        return limits_document((await load_limits(connection, org_id)).within(ceiling))

    return await shown(request, SettingName.EXECUTIONS, limits)


@router.put("/admin/settings/executions", response_class=Response)
async def set_limits(request: Request, if_match: IfMatch = None) -> Response:
    """Replaces all execution limits. Omitted limits get their defaults. They apply from the next attempt on. If-Match:
    only if they are still at that version."""

    ceiling = dependencies_of(request).execution_concurrency_max

    async def put(change: OrganizationChange, document: JsonValue) -> JsonObject:
        return limits_document(await put_limits(change, document, concurrency_max=ceiling))

    return await replaced(request, SettingName.EXECUTIONS, if_match, put)


@router.get("/admin/settings/credentials")
async def get_credentials(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CredentialsAnswer:
    """Lists the names of the stored credentials for catalogues, without their values."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        names = await credential_names(connection, principal.org_id, dependencies.vault)
    return CredentialsAnswer(credentials=names)


@router.put("/admin/settings/credentials")
async def set_credentials(request: Request, dependencies: CurrentDependencies) -> CredentialsAnswer:
    """Sets credentials for catalogues: ``{"credentials": {NAME: value}}``. null deletes one; others are kept. Where a
    catalogue's host begins with ``*.``, the name is NAME@HOST."""
    principal = principal_of(request)
    document = parse_strict(await request.body())
    async with administer(principal, dependencies) as change:
        await put_credentials(change, document, dependencies.vault, dependencies.catalogue)
        names = await credential_names(change.connection, principal.org_id, dependencies.vault)
    return CredentialsAnswer(credentials=names)
