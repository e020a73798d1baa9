"""/admin/policies: the rules by which calls are decided."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.pagination import CurrentPage, Page, Pagination, pagination_of
from admin_api.policies.schemas import (
    CreatedPolicyAnswer,
    NewPolicy,
    PolicyAnswer,
    created_policy_answer,
    policy_answer,
)
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.policies.data import policy_data
from headgate.policies.service import PolicyDraft, check_policy, create_policy, delete_policy
from headgate.policies.store import PolicyFilter, get_policy, list_policies

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.post("/admin/policies", status_code=201)
async def create(
    body: NewPolicy, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CreatedPolicyAnswer:
    """A new policy, in force with the next decision. Bad Rego: 400 with line, column and the offending line."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        allowlist = await get_setting(connection, org_id, SettingName.ALLOWLIST)
    draft = PolicyDraft(body.name, body.rego_policy, body.description, body.enabled, body.priority)
    # Between the two transactions: a policy is tried in a process of its own, which takes its time.
    checked = await check_policy(draft, policy_data(None if allowlist is None else allowlist.document))
    async with dependencies.database.transaction(org_id) as connection:
        created = await create_policy(
            connection,
            org_id,
            checked,
            actor=principal.actor,
            user_id=principal.user_id,
            clock=dependencies.clock,
        )
    return created_policy_answer(created.policy, created.warnings)


@router.get("/admin/policies", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    enabled: bool | None = None,
    name: str | None = None,
) -> Page[PolicyAnswer, Pagination]:
    """In the order in which they are asked: by priority, then by age. ``name``: a part of the name."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_policies(
            connection,
            principal.org_id,
            PolicyFilter(enabled, name),
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
    return Page(
        data=[policy_answer(policy) for policy in found.policies],
        pagination=pagination_of(page, found.total, is_minimum=found.total_is_minimum),
    )


@router.get("/admin/policies/{id}")
async def get(id: str, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> PolicyAnswer:  # noqa: A002 - the specification's name of the parameter
    policy_id = parse_id(IdPrefix.POLICY, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        return policy_answer(await get_policy(connection, principal.org_id, policy_id))


@router.delete("/admin/policies/{id}")
async def delete(id: str, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> PolicyAnswer:  # noqa: A002 - the specification's name of the parameter
    """It decides no more; its versions stay, for the decisions that they made."""
    policy_id = parse_id(IdPrefix.POLICY, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        policy = await delete_policy(
            connection, principal.org_id, policy_id, actor=principal.actor, clock=dependencies.clock
        )
    return policy_answer(policy)
