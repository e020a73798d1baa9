"""/skill.md, /SKILL.md, /skill.json, /llms.txt: how an agent uses this service. Open to all, the same for everybody."""

from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from admin_api.discovery.collect import collect_skill
from admin_api.discovery.model import Skill
from admin_api.discovery.render import llms_text, skill_json, skill_markdown
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from headgate.kernel.program import PROGRAM_VERSION

router = APIRouter(route_class=GuardedRoute, tags=["service"])

_MARKDOWN: Final = "text/markdown; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"


def skill_of(app: FastAPI) -> Skill:
    """Collected once: neither routes nor catalogues change while a process runs."""
    if not hasattr(app.state, "skill"):
        app.state.skill = collect_skill(app.routes, PROGRAM_VERSION)
    skill: Skill = app.state.skill
    return skill


@router.get("/skill.md", response_class=Response)
async def skill_page(request: Request) -> Response:
    """Describes how an agent works through Headgate, in the Agent Skills format."""
    return Response(skill_markdown(skill_of(request.app)), media_type=_MARKDOWN)


@router.get("/SKILL.md", response_class=Response)
async def skill_page_in_capitals(request: Request) -> Response:
    """Returns the same document as /skill.md."""
    return Response(skill_markdown(skill_of(request.app)), media_type=_MARKDOWN)


@router.get("/skill.json", response_class=Response)
async def skill_document(request: Request) -> Response:
    """Returns /skill.md as JSON. Includes all operations of the catalogues."""
    return Response(skill_json(skill_of(request.app)), media_type=JSON)


@router.get("/llms.txt", response_class=Response)
async def llms(request: Request) -> Response:
    """Lists the documents for language models (llmstxt.org)."""
    return Response(llms_text(skill_of(request.app)), media_type=_TEXT)
