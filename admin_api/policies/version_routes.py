"""/admin/policies/{id}/versions, /diff and /restore: what a policy was, and making it that again."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import PolicyId
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from admin_api.policies.deciding_rules import AskedRule, find_deciding_rules
from admin_api.policies.saving import save_restored
from admin_api.policies.schemas import Restoration, SavedCamelPolicyAnswer, SavedPolicyAnswer, saved_policy_answer
from admin_api.policies.version_schemas import (
    DecidingRuleAnswer,
    DiffAnswer,
    PolicyVersionAnswer,
    VersionDetailAnswer,
    diff_answer,
    version_answer,
    version_detail_answer,
)
from headgate.kernel.errors import NotFoundError
from headgate.policies.model import Verdict
from headgate.policies.version_store import get_version, list_versions
from headgate.policies.versions import compare_versions

router = APIRouter(route_class=GuardedRoute, tags=["policies"])

_VERSION_MAX = 2**31 - 1
type _Version = Annotated[int, Path(ge=1, le=_VERSION_MAX)]


@router.get("/admin/policies/{id}/versions", response_model_exclude_unset=True)
async def list_all(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> CountedPage[PolicyVersionAnswer]:
    """Lists versions of a policy, newest first, also of a deleted policy."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        versions, total = await list_versions(
            connection, principal.org_id, id, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
    return counted_page(page, [version_answer(one) for one in versions], total.total, is_minimum=total.is_minimum)


@router.get("/admin/policies/{id}/versions/{version}")
async def get(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    version: _Version,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> VersionDetailAnswer:
    """Gets one version of a policy."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return version_detail_answer(await get_version(connection, principal.org_id, id, version))


@router.get("/admin/policies/{id}/versions/{version}/rule")
async def rule(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    version: _Version,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    decision: Verdict,
    reason: Annotated[str | None, Query(max_length=20_000, description="The policy's decision about the call.")] = None,
) -> DecidingRuleAnswer:
    """Gets the rule of a version that makes a decision: the only rule of that name, or the only rule with
    that message."""
    asked = AskedRule(id, version, decision, reason)
    found = await find_deciding_rules(dependencies.database, principal.org_id, [asked])
    if asked not in found:
        raise NotFoundError(f"policy {id} has no version {version}")
    return found[asked]


@router.get("/admin/policies/{id}/diff")
async def diff(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    from_version: Annotated[int, Query(alias="from", ge=1, le=_VERSION_MAX)],
    to_version: Annotated[int, Query(alias="to", ge=1, le=_VERSION_MAX)],
) -> DiffAnswer:
    """Compares two versions of a policy, in either direction."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        before = await get_version(connection, principal.org_id, id, from_version)
        after = await get_version(connection, principal.org_id, id, to_version)
    return diff_answer(from_version, to_version, compare_versions(before.policy, after.policy))


@router.post("/admin/policies/{id}/restore")
async def restore(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    body: Restoration,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> SavedPolicyAnswer | SavedCamelPolicyAnswer:
    """Restores an old version of a policy as the next version, also of a deleted policy. It is checked like a new
    policy."""
    saved = await save_restored(
        dependencies,
        principal,
        id,
        body.version,
        expected_version(if_match, None),
        body.change_note,
    )
    set_etag(response, saved.policy.version)
    return saved_policy_answer(saved, None)
