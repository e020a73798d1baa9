"""/policies/new: drafts a policy from nothing, an example, one recorded call, or recently allowed calls."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.identifiers import ActionId
from admin_api.pages import see_other
from admin_api.policies.draft_routes import DraftBody
from admin_api.policies.draft_routes import draft as draft_from_action
from admin_api.policies.example_routes import list_all as list_examples
from admin_api.policies.routes import create
from admin_api.policies.schemas import NewPolicy
from admin_api.policies.suggest_routes import SuggestBody, suggest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.policy_cases import case_values, yaml_of
from admin_api.web.policy_draft import Draft, draft_from, values_of
from admin_api.web.policy_page import edit_page
from admin_api.web.policy_try import TRIES, said_of, tried, tried_at_once
from headgate.kernel.errors import HeadgateError, NotFoundError
from headgate.policies.model import Verdict

router = APIRouter(route_class=PageRoute, include_in_schema=False)

type _From = Annotated[ActionId | None, Query(alias="from")]


@router.get("/policies/new", response_class=Response)
async def new(
    api: CurrentApi,
    suggested: bool = False,
    example: str | None = None,
    action_id: _From = None,
    decision: Verdict = Verdict.REQUIRE_APPROVAL,
) -> Response:
    """``suggested``: a policy that allows what was allowed in the last seven days. ``from``: one about calls like this
    recorded one, which takes ``decision``, with the results of its tests and its effect."""
    examples = (await api.call(list_examples)).data
    if suggested:
        answer = await api.call(suggest, SuggestBody(), api.principal, api.dependencies)
        return await edit_page(api, None, Draft(name="Suggested", rego_policy=answer.rego_policy))
    if action_id is not None:
        drafted = await _about(api, action_id, decision)
        return await edit_page(api, None, drafted, await tried_at_once(api, drafted))
    if example is not None:
        found = next((one for one in examples if one.id == example), None)
        if found is None:
            raise NotFoundError(f"No example {example[:64]!r}")
        draft = Draft(found.name, found.summary[:1000], rego_policy=found.rego_policy, cases=found.cases)
        return await edit_page(api, None, draft, examples=examples)
    return await edit_page(api, None, Draft(), examples=examples)


@router.post("/policies/new", response_class=Response)
async def save_new(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    draft = draft_from(form)
    if form.text("act") in TRIES:
        return await edit_page(api, None, draft, await tried(api, None, form, draft))
    try:
        body = checked(NewPolicy, {**values_of(draft), **await case_values(form), "version": None})
        saved = await api.call(create, body, Response(), api.principal, api.dependencies)
    except HeadgateError as error:
        return await edit_page(api, None, draft, said_of(error))
    return see_other(f"/policies/{saved.id}")


async def _about(api: Api, action_id: str, decision: Verdict) -> Draft:
    body = DraftBody(action_id=action_id, decision=decision)
    found = await api.call(draft_from_action, body, api.principal, api.dependencies)
    return Draft(name=found.name, rego_policy=found.rego_policy, cases=yaml_of(found.cases))
