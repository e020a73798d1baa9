"""/admin/keys: every key of the organization; keys for administrators' programs and for webhooks."""

from fastapi import APIRouter

from admin_api.change import change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.keys.schemas import IssuedKeyAnswer, KeyAnswer, NewKey, issued_key_answer, key_answer
from admin_api.pagination import CurrentPage, Page, Pagination, pagination_of
from headgate.agents.scopes import KeyKind, parse_scopes
from headgate.agents.service import create_key, revoke_key
from headgate.agents.store import count_keys, find_key, list_keys
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, parse_id

router = APIRouter(route_class=GuardedRoute, tags=["keys"])


@router.post("/admin/keys", status_code=201)
async def create(body: NewKey, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> IssuedKeyAnswer:
    kind = KeyKind(body.kind)
    scopes = parse_scopes(kind, body.scopes)
    async with dependencies.database.transaction(principal.org_id) as connection:
        issued = await create_key(
            connection,
            change_by(principal, dependencies),
            kind=kind,
            scopes=scopes,
            name=body.name,
            expires_at=body.expires_at,
        )
    return issued_key_answer(issued)


@router.get("/admin/keys", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> Page[KeyAnswer, Pagination]:
    """Newest first, agents' keys and keys that no longer work among them."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        keys = await list_keys(connection, principal.org_id, limit=page.limit, offset=page.offset)
        total, is_minimum = await count_keys(connection, principal.org_id, exact=page.exact_total)
    now = dependencies.clock()
    return Page(
        data=[key_answer(key, now) for key in keys], pagination=pagination_of(page, total, is_minimum=is_minimum)
    )


@router.get("/admin/keys/{id}")
async def get(id: str, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeyAnswer:  # noqa: A002 - the specification's name of the parameter
    key_id = parse_id(IdPrefix.KEY, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        key = await find_key(connection, principal.org_id, key_id)
    if key is None:
        raise NotFoundError(f"there is no key {key_id}")
    return key_answer(key, dependencies.clock())


@router.delete("/admin/keys/{id}")
async def revoke(id: str, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeyAnswer:  # noqa: A002 - the specification's name of the parameter
    """It stops working now, inside open tunnels too; the record of it stays."""
    key_id = parse_id(IdPrefix.KEY, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        key = await revoke_key(connection, change_by(principal, dependencies), key_id)
    dependencies.keys.forget(principal.org_id)
    return key_answer(key, dependencies.clock())
