"""/admin/policies: the rules by which calls are decided."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import PolicyId
from admin_api.pagination import CountedPage, CurrentPage, Shape, pagination_of
from admin_api.policies.saving import changing, replacing, save_change, save_new
from admin_api.policies.schemas import (
    CamelPolicyAnswer,
    NewPolicy,
    PolicyAnswer,
    PolicyChange,
    PolicyDetailAnswer,
    PolicyReplacement,
    SavedCamelPolicyAnswer,
    SavedPolicyAnswer,
    camel_policy_answer,
    policy_answer,
    policy_detail_answer,
    saved_policy_answer,
)
from headgate.policies.draft import NOTE_MAX_CHARACTERS
from headgate.policies.model import PRIORITY_MAX, PolicyMode
from headgate.policies.service import SavedPolicy, delete_policy
from headgate.policies.shadow_store import shadow_tally
from headgate.policies.store import PolicyFilter, get_policy, list_policies

type CurrentShape = Annotated[Shape, Query(description="camel: the alternate shape, with rules.")]

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.post("/admin/policies", status_code=201)
async def create(
    body: NewPolicy,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: CurrentShape = None,
) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    """Creates a policy. It applies to the next decision. Invalid Rego: 400 with line, column and the source line."""
    saved = await save_new(
        dependencies, principal, body.draft(), body.change_note, accept_failing_cases=body.accept_failing_cases
    )
    return _newest(saved, response, shape)


@router.get("/admin/policies", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    enabled: bool | None = None,
    name: str | None = None,
    mode: PolicyMode | None = None,
    priority: Annotated[int | None, Query(ge=0, le=PRIORITY_MAX)] = None,
    quarantined: bool | None = None,
) -> CountedPage[PolicyAnswer] | CountedPage[CamelPolicyAnswer]:
    """Lists policies in the order in which they run: by priority, then by age. ``name``: a part of the name."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_policies(
            connection,
            principal.org_id,
            PolicyFilter(enabled, name, mode, priority, quarantined),
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
    numbers = pagination_of(page, found.total, is_minimum=found.total_is_minimum)
    if page.camel:
        return CountedPage(data=[camel_policy_answer(policy) for policy in found.policies], pagination=numbers)
    return CountedPage(data=[policy_answer(policy) for policy in found.policies], pagination=numbers)


@router.get("/admin/policies/{id}", response_model_exclude_unset=True)
async def get(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: CurrentShape = None,
) -> PolicyDetailAnswer | CamelPolicyAnswer:
    """Gets the current version of a policy. For a policy in shadow mode, also its results."""
    tally = None
    async with dependencies.database.transaction(principal.org_id) as connection:
        policy = await get_policy(connection, principal.org_id, id)
        if policy.mode is PolicyMode.SHADOW:
            tally = await shadow_tally(connection, principal.org_id, id, policy.version)
    set_etag(response, policy.version)
    if shape == "camel":
        return camel_policy_answer(policy)
    return policy_detail_answer(policy, tally)


@router.put("/admin/policies/{id}")
async def replace(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    body: PolicyReplacement,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
    shape: CurrentShape = None,
) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    """Replaces a policy with a next version. Omitted fields get their defaults. Identical content creates
    no version."""
    expected = expected_version(if_match, body.version)
    saved = await save_change(
        dependencies,
        principal,
        id,
        replacing(body.draft()),
        expected,
        body.change_note,
        accept_failing_cases=body.accept_failing_cases,
    )
    return _newest(saved, response, shape)


@router.patch("/admin/policies/{id}")
async def update(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    body: PolicyChange,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
    shape: CurrentShape = None,
) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    """Updates fields of a policy as its next version. Omitted fields keep their values."""
    expected = expected_version(if_match, body.version)
    saved = await save_change(
        dependencies,
        principal,
        id,
        changing(body.changes()),
        expected,
        body.change_note,
        accept_failing_cases=body.accept_failing_cases,
    )
    return _newest(saved, response, shape)


@router.delete("/admin/policies/{id}")
async def delete(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    version: Annotated[int | None, Query(ge=1, description="409 if it is not the newest")] = None,
    change_note: Annotated[str | None, Query(max_length=NOTE_MAX_CHARACTERS)] = None,
    if_match: IfMatch = None,
) -> PolicyAnswer:
    """Deletes a policy. It no longer decides; its versions are kept, for the decisions that they made, and it can be
    restored."""
    expected = expected_version(if_match, version)
    async with administer(principal, dependencies) as change:
        policy = await delete_policy(change, id, change_note, expected=expected)
    return policy_answer(policy)


def _newest(saved: SavedPolicy, response: Response, shape: Shape) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    set_etag(response, saved.policy.version)
    return saved_policy_answer(saved, shape)
