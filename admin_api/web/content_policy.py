"""/policies/content/{id}: shows one content policy with its settings and a test box."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import NlpPolicyId
from admin_api.nlp_policies.change_body import NlpPolicyChange
from admin_api.nlp_policies.result_schemas import Content
from admin_api.nlp_policies.routes import change, delete, get, test
from admin_api.nlp_policies.schemas import NlpPolicyAnswer
from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.content_draft import ContentDraft, body_of_draft, content_draft_from, content_draft_of
from admin_api.web.content_page import content_page
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/policies/content"


@router.get("/policies/content/{policy_id}", response_class=Response)
async def one(api: CurrentApi, policy_id: NlpPolicyId) -> Response:
    policy = await _policy(api, policy_id)
    return await content_page(api, policy, content_draft_of(policy))


@router.post("/policies/content/{policy_id}", response_class=Response)
async def act(api: CurrentApi, policy_id: NlpPolicyId) -> Response:
    """Saves, tests or deletes a content policy. A form of an old version changes nothing."""
    form = await form_of(api.request)
    policy = await _policy(api, policy_id)
    if form.text("act") == "try":
        return await _tried(api, policy, form.text("content"))
    draft = content_draft_from(form)
    try:
        await _act(api, policy_id, form, draft)
    except HeadgateError as error:
        typed = draft if form.text("act") == "save" else content_draft_of(policy)
        return await content_page(api, policy, typed, error=error)
    location = _PATH if form.text("act") == "delete" else f"{_PATH}/{policy_id}"
    return see_other(location)


async def _act(api: Api, policy_id: str, form: Form, draft: ContentDraft) -> None:
    version = form.whole_number("version")
    match form.text("act"):
        case "save":
            body = checked(NlpPolicyChange, body_of_draft(draft) | {"version": version}, with_nulls=True)
            await api.call(change, policy_id, body, Response(), api.principal, api.dependencies)
        case "delete":
            await api.call(delete, policy_id, api.principal, api.dependencies, version=version)
        case other:
            raise no_such_button(other)


async def _tried(api: Api, policy: NlpPolicyAnswer, content: str) -> Response:
    try:
        body = checked(Content, {"content": content})
        result = await api.call(test, policy.id, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await content_page(api, policy, content_draft_of(policy), content=content, error=error)
    return await content_page(api, policy, content_draft_of(policy), content=content, result=result)


async def _policy(api: Api, policy_id: str) -> NlpPolicyAnswer:
    return await api.call(get, policy_id, Response(), api.principal, api.dependencies)
