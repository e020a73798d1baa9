"""/admin/keys: every key of the organization; keys for administrators' programs and for webhooks."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import KeyId
from admin_api.keys.listing import keys_page
from admin_api.keys.schemas import (
    IssuedKeyAnswer,
    KeyAnswer,
    Leaked,
    NewKey,
    RevokedKeysAnswer,
    issued_key_answer,
    key_answer,
)
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    list_request,
)
from headgate.agents.key_listing_store import KeyFilter
from headgate.agents.leaks import parse_leak, revoke_matching
from headgate.agents.model import KeyStatus
from headgate.agents.scopes import KeyKind, parse_scopes
from headgate.agents.service import create_key, revoke_key, take_over_key
from headgate.agents.store import get_key
from headgate.kernel.errors import ForbiddenError
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=GuardedRoute, tags=["keys"])


@router.post("/admin/keys", status_code=201)
async def create(body: NewKey, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> IssuedKeyAnswer:
    """Creates a key for a program of an administrator, or for the verification of webhooks. The response shows it,
    once."""
    kind = KeyKind(body.kind)
    scopes = parse_scopes(kind, body.scopes)
    async with administer(principal, dependencies) as change:
        issued = await create_key(
            change,
            kind=kind,
            scopes=scopes,
            name=body.name,
            expires_at=body.ends(change.at, dependencies.key_lifetime_days),
        )
    return issued_key_answer(issued)


@router.get("/admin/keys", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.KEY))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    kind: KeyKind | None = None,
    status: KeyStatus | None = None,
    rotation_due: Annotated[bool, Query(description="Only active keys that are at least 90 days old.")] = False,
) -> Page[KeyAnswer, CursorPagination] | Page[KeyAnswer, CamelPagination]:
    """Lists all keys, newest first, including agent keys and inactive keys."""
    wanted, now = KeyFilter(kind=kind, status=status, rotation_due=rotation_due), dependencies.clock()
    async with dependencies.database.transaction(principal.org_id) as connection:
        return await keys_page(connection, principal.org_id, wanted, request, now)


@router.post("/admin/keys/revoke-matching")
async def revoke_all_matching(
    body: Leaked, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> RevokedKeysAnswer:
    """Revokes all keys of this organization that match a leaked text. They stop working immediately."""
    leak = parse_leak(body.matching)
    async with administer(principal, dependencies) as change:
        keys, count = await revoke_matching(change, leak, only_show=body.only_show)
    return RevokedKeysAnswer(data=[key_answer(key, change.at) for key in keys], revoked=count)


@router.get("/admin/keys/{id}")
async def get(id: KeyId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeyAnswer:  # noqa: A002 - the specification's name of the parameter
    """Gets one key, without the key itself."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return key_answer(await get_key(connection, principal.org_id, id), dependencies.clock())


@router.post("/admin/keys/{id}/take-over")
async def take_over(id: KeyId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeyAnswer:  # noqa: A002 - the specification's name of the parameter
    """Adopts a program key from its creator. A key that stopped when its creator was deactivated works again. The key
    votes as its new owner."""
    if principal.identity is not None:
        raise ForbiddenError("A person must own a key. Use a person's token or session, not an API key.")
    async with administer(principal, dependencies) as change:
        key = await take_over_key(change, id)
    return key_answer(key, change.at)


@router.delete("/admin/keys/{id}")
async def revoke(id: KeyId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeyAnswer:  # noqa: A002 - the specification's name of the parameter
    """Revokes a key. It stops working immediately, also inside open tunnels. Its record is kept."""
    async with administer(principal, dependencies) as change:
        key = await revoke_key(change, id)
    return key_answer(key, change.at)
