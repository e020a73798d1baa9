"""What the pages of a new and of an existing connection share: whose calls it serves, and the owner's consent."""

from collections.abc import Sequence

from starlette.responses import Response

from admin_api.agents.routes import list_all as list_agents
from admin_api.agents.schemas import AgentAnswer
from admin_api.connections.answers import OAuthStartAnswer
from admin_api.pagination import MAX_LIMIT, ListRequest
from admin_api.web.api import Api
from admin_api.web.form import Form
from admin_api.web.shell import shell_page


async def bindable_agents(api: Api) -> Sequence[AgentAnswer]:
    """The newest ones."""
    newest = ListRequest(MAX_LIMIT)
    return (await api.call(list_agents, newest, api.principal, api.dependencies)).data


def binding_of(form: Form) -> dict[str, object]:
    """Whose calls it serves."""
    return {
        "agents": list(form.several("agents")),
        "tools": form.lines("tools"),
        "needs_placeholder": form.text("needs_placeholder") == "true",
    }


def redirect_uri(api: Api) -> str:
    """Where the platform sends the browser back to; it is registered there to the letter."""
    return f"{api.dependencies.api_url}/connections/callback"


async def consent_page(api: Api, begun: OAuthStartAnswer, platform: str) -> Response:
    """``platform``: what it is called."""
    context = {"begun": begun, "platform": platform}
    return await shell_page(api, "connection_consent.html", "/connections", context, status=201)
