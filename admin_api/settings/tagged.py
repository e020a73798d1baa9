"""Settings whose answer is a document, with the version that If-Match names (RFC 9110, section 13.1.1)."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import Dependencies, dependencies_of, principal_of
from admin_api.errors import JSON
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.principal import Principal
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.policies.versions import ExpectedVersion


async def tag_of(connection: Connection, org_id: str, name: SettingName, response: Response) -> None:
    """What was never set has no version."""
    setting = await get_setting(connection, org_id, name)
    if setting is not None:
        set_etag(response, setting.version)


async def require_before(
    connection: Connection, org_id: str, name: SettingName, expected: ExpectedVersion | None
) -> None:
    """After the change, whose row is locked by now: what this raises undoes it. Raises PreconditionFailedError."""
    setting = None if expected is None else await get_setting(connection, org_id, name)
    if expected is not None and setting is not None:
        expected.require(setting.version - 1)


async def shown(
    request: Request, name: SettingName, load: Callable[[Connection, str], Awaitable[JsonObject]]
) -> Response:
    """``load`` gives the document of now."""
    dependencies, principal = dependencies_of(request), principal_of(request)
    async with dependencies.database.transaction(principal.org_id) as connection:
        return await _tagged(connection, principal.org_id, name, await load(connection, principal.org_id))


async def replaced(
    request: Request,
    name: SettingName,
    if_match: IfMatch,
    put: Callable[[OrganizationChange, JsonValue], Awaitable[JsonObject]],
) -> Response:
    """``put`` stores the body in place of the document, and gives it as it is from now on. Where If-Match names another
    version than the one before, nothing is changed."""
    return await replaced_with(
        principal_of(request), dependencies_of(request), name, await request.body(), if_match, put
    )


async def replaced_with(
    principal: Principal,
    dependencies: Dependencies,
    name: SettingName,
    body: bytes,
    if_match: str | None,
    put: Callable[[OrganizationChange, JsonValue], Awaitable[JsonObject]],
) -> Response:
    """The same with ``body`` as the document, as JSON."""
    expected = expected_version(if_match, None)
    document = parse_strict(body)
    async with administer(principal, dependencies) as change:
        stored = await put(change, document)
        await require_before(change.connection, principal.org_id, name, expected)
        return await _tagged(change.connection, principal.org_id, name, stored)


async def _tagged(connection: Connection, org_id: str, name: SettingName, document: JsonObject) -> Response:
    response = Response(canonical_bytes(document), media_type=JSON)
    await tag_of(connection, org_id, name, response)
    return response
