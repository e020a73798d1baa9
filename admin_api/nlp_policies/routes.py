"""/admin/nlp-policies: what is judged by detectors and language models, after the rules."""

import time
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import NlpPolicyId
from admin_api.nlp_policies.change_body import NlpPolicyChange
from admin_api.nlp_policies.result_schemas import (
    Content,
    EvaluatedContent,
    EvaluationAnswer,
    ResultAnswer,
    result_answer,
)
from admin_api.nlp_policies.schemas import (
    NewNlpPolicy,
    NlpPolicyAnswer,
    TemplatesAnswer,
    nlp_policy_answer,
    template_answer,
)
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from headgate.actions.store import get_action
from headgate.db.database import Connection
from headgate.journal.apply import require_applied
from headgate.judges.model import Provider
from headgate.kernel.errors import UnavailableError
from headgate.nlp_policies.classifier_check import require_classifier
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.evaluate import decision_of
from headgate.nlp_policies.model import Direction, NlpPolicy
from headgate.nlp_policies.provider_service import load_providers, provider_settings
from headgate.nlp_policies.service import change_nlp_policy, create_nlp_policy, delete_nlp_policy
from headgate.nlp_policies.store import get_nlp_policy, list_nlp_policies, load_enabled_nlp
from headgate.nlp_policies.templates import templates

router = APIRouter(route_class=GuardedRoute, tags=["nlp policies"])


@router.get("/admin/nlp-policies/templates")
async def list_templates() -> TemplatesAnswer:
    """Lists templates of content policies, each with cases that show what it finds."""
    return TemplatesAnswer(data=[template_answer(one) for one in templates()])


@router.post("/admin/nlp-policies/evaluate")
async def evaluate(
    body: EvaluatedContent, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> EvaluationAnswer:
    """Evaluates content with all enabled content policies. With ``action_id``, only with the policies whose scope
    covers that action.

    Nothing is stored, and no action is affected.
    """
    started = time.perf_counter()
    if body.action_id is not None:
        await require_applied(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        policies = await load_enabled_nlp(connection, principal.org_id)
        if body.action_id is not None:
            policies = await _covering(connection, principal.org_id, body.action_id, policies)
        providers = await _providers(connection, principal.org_id, policies, dependencies)
    results = await dependencies.nlp.evaluate_all(policies, JudgedContent(body.content), providers)
    return EvaluationAnswer(
        decision=decision_of(results).value,
        results=[result_answer(one) for one in results],
        policies_asked=len(policies),
        latency_ms=round((time.perf_counter() - started) * 1000, 3),
    )


@router.post("/admin/nlp-policies", status_code=201)
async def create(
    body: NewNlpPolicy, response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> NlpPolicyAnswer:
    """Creates a content policy. It applies to the next decision."""
    draft = body.draft()
    await require_classifier(dependencies.nlp.classifiers, draft)
    async with administer(principal, dependencies) as change:
        policy = await create_nlp_policy(change, draft)
        return await _newest(change.connection, policy, response)


@router.get("/admin/nlp-policies", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies, enabled: bool | None = None
) -> CountedPage[NlpPolicyAnswer]:
    """Lists content policies, oldest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_nlp_policies(
            connection,
            principal.org_id,
            enabled=enabled,
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
        providers = await provider_settings(connection, principal.org_id)
    return counted_page(
        page,
        [nlp_policy_answer(policy, providers) for policy in found.policies],
        found.total,
        is_minimum=found.total_is_minimum,
    )


@router.get("/admin/nlp-policies/{id}")
async def get(
    id: NlpPolicyId,  # noqa: A002 - the specification's name of the parameter
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> NlpPolicyAnswer:
    """Gets one content policy."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return await _newest(connection, await get_nlp_policy(connection, principal.org_id, id), response)


@router.patch("/admin/nlp-policies/{id}")
async def change(
    id: NlpPolicyId,  # noqa: A002 - the specification's name of the parameter
    body: NlpPolicyChange,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> NlpPolicyAnswer:
    """Creates a new version of a content policy. Earlier versions are kept, for the decisions that they made."""
    expected = expected_version(if_match, body.version)
    async with administer(principal, dependencies) as change:
        policy = await get_nlp_policy(change.connection, principal.org_id, id)
        draft = body.applied_to(policy.draft)
        await require_classifier(dependencies.nlp.classifiers, draft, before=policy.draft)
        changed = await change_nlp_policy(change, policy, draft, expected=expected)
        return await _newest(change.connection, changed, response)


@router.delete("/admin/nlp-policies/{id}")
async def delete(
    id: NlpPolicyId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    version: Annotated[int | None, Query(ge=1, description="409 if it is not the newest")] = None,
    if_match: IfMatch = None,
) -> NlpPolicyAnswer:
    """Deletes a content policy. It no longer decides; its versions are kept."""
    expected = expected_version(if_match, version)
    async with administer(principal, dependencies) as change:
        policy = await delete_nlp_policy(change, id, expected=expected)
        return await _answer(change.connection, policy)


@router.post("/admin/nlp-policies/{id}/test")
async def test(
    id: NlpPolicyId,  # noqa: A002 - the specification's name of the parameter
    body: Content,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ResultAnswer:
    """Tests one content policy, enabled or not, as for calls but without the cache. No action is affected.

    Content that is valid JSON is read as JSON.
    """
    async with dependencies.database.transaction(principal.org_id) as connection:
        policy = await get_nlp_policy(connection, principal.org_id, id)
        providers = await _providers(connection, principal.org_id, [policy], dependencies)
    return result_answer(
        await dependencies.nlp.evaluate(policy, JudgedContent(body.content), providers, use_cache=False)
    )


async def _newest(connection: Connection, policy: NlpPolicy, response: Response) -> NlpPolicyAnswer:
    set_etag(response, policy.version)
    return await _answer(connection, policy)


async def _answer(connection: Connection, policy: NlpPolicy) -> NlpPolicyAnswer:
    return nlp_policy_answer(policy, await provider_settings(connection, policy.org_id))


async def _covering(connection: Connection, org_id: str, action_id: str, policies: list[NlpPolicy]) -> list[NlpPolicy]:
    """Those that would be asked about this action's request. Raises NotFoundError."""
    action = (await get_action(connection, org_id, action_id)).action
    return [
        policy
        for policy in policies
        if policy.draft.scope.covers(
            tool=action.tool, operation=action.operation, agent_id=action.agent_id, direction=Direction.REQUEST
        )
    ]


async def _providers(
    connection: Connection, org_id: str, policies: list[NlpPolicy], dependencies: Dependencies
) -> dict[str, Provider]:
    """None where none is needed, or where a key does not open: then the policies that need one say so themselves."""
    if all(policy.draft.is_local for policy in policies):
        return {}
    try:
        return await load_providers(connection, org_id, dependencies.vault)
    except UnavailableError:
        return {}
