"""/policies/content: lists the content policies, which detectors and language models evaluate after the rules."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.nlp_policies.routes import create, list_all, list_templates
from admin_api.nlp_policies.schemas import NewNlpPolicy
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import CurrentApi
from admin_api.web.content_draft import ContentDraft, body_of_draft, content_draft_from, content_draft_of_template
from admin_api.web.content_page import content_page
from admin_api.web.form import checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.policy_figures import figures_context
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError, NotFoundError
from headgate.nlp_policies.model import POLICIES_MAX

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/policies/content"


@router.get(_PATH, response_class=Response)
async def content_policies(api: CurrentApi) -> Response:
    page = PageRequest(POLICIES_MAX)
    found = await api.call(list_all, page, api.principal, api.dependencies)
    context = {"policies": found.data, "may_write": api.may(Scope.POLICIES_WRITE), **await figures_context(api)}
    return await shell_page(api, "content_policies.html", "/policies", context)


@router.get("/policies/content/new", response_class=Response)
async def new(api: CurrentApi, template: str | None = None) -> Response:
    templates = (await api.call(list_templates)).data
    draft = ContentDraft()
    if template is not None:
        chosen = next((one for one in templates if one.id == template), None)
        if chosen is None:
            raise NotFoundError(f"No template {template[:64]!r}")
        draft = content_draft_of_template(chosen)
    return await content_page(api, None, draft, templates=templates)


@router.post("/policies/content/new", response_class=Response)
async def save_new(api: CurrentApi) -> Response:
    draft = content_draft_from(await form_of(api.request))
    try:
        body = checked(NewNlpPolicy, body_of_draft(draft))
        saved = await api.call(create, body, Response(), api.principal, api.dependencies)
    except HeadgateError as error:
        return await content_page(api, None, draft, error=error)
    return see_other(f"{_PATH}/{saved.id}")
