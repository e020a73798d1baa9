"""/settings/integrations: lists the platforms on which reviewers decide, and which of them are set up."""

from typing import Final

from fastapi import APIRouter
from msgspec import Struct
from starlette.responses import Response

from admin_api.integrations.routes import ROUTES
from admin_api.web.api import Api, CurrentApi, document_in
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.integrations.model import Integration
from headgate.kernel.canonical_json import JsonObject

router = APIRouter(route_class=PageRoute, include_in_schema=False)

INTEGRATIONS_PATH: Final = "/settings/integrations"


class Platform(Struct, frozen=True):
    """``what``: what people do there."""

    name: str
    what: str


PLATFORMS: Final = {
    Integration.SLACK: Platform("Slack", "Posts requests to a channel. Reviewers decide with buttons."),
    Integration.TEAMS: Platform("Microsoft Teams", "Posts requests as cards. Each card links to the decision page."),
    Integration.DISCORD: Platform("Discord", "Posts requests to a channel. Reviewers decide with buttons."),
    Integration.JIRA: Platform("Jira", "Opens a ticket for each request. Reviewers decide by moving the ticket."),
    Integration.LINEAR: Platform("Linear", "Opens an issue for each request. Reviewers decide by moving the issue."),
    Integration.SERVICENOW: Platform("ServiceNow", "Opens a record for each request. Reviewers decide in the record."),
    Integration.GITHUB: Platform("GitHub", "Holds deployments and pull requests for an approval."),
    Integration.GITHUB_ACTIONS: Platform("GitHub Actions", "Gives workflows short-lived agent keys."),
}


@router.get(INTEGRATIONS_PATH, response_class=Response)
async def integrations(api: CurrentApi) -> Response:
    rows = [(one, platform, await load_integration(api, one)) for one, platform in PLATFORMS.items()]
    return await settings_page(api, "integrations.html", INTEGRATIONS_PATH, {"rows": rows})


async def load_integration(api: Api, integration: Integration) -> JsonObject:
    """What is set, without secrets."""
    settings, _ = ROUTES[integration]
    return document_in(await api.call(settings.get, api.request))
