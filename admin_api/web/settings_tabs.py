"""What the pages of the settings have in common: the groups of their list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from admin_api.web.api import Api
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError


@dataclass(frozen=True, slots=True)
class Tab:
    """``what``: one sentence about what is set there, for somebody who looks for it."""

    name: str
    path: str
    what: str


_GROUPS: Final = (
    (
        "People",
        (
            Tab("Members", "/settings/members", "Who may sign in here, with which roles. Invite people."),
            Tab("Approver groups", "/settings/groups", "Groups of people that policies name as approvers."),
            Tab("Keys", "/settings/keys", "Keys with which programs use the API."),
        ),
    ),
    (
        "Calls",
        (
            Tab("Destinations", "/settings/destinations", "Hosts and tools that policies may allow."),
            Tab("Model providers", "/settings/models", "Language models that content policies ask."),
            Tab("Execution limits", "/settings/executions", "How often and how fast Headgate carries out calls."),
            Tab("Credentials", "/settings/credentials", "Values that catalogues name and calls carry."),
        ),
    ),
    (
        "Messages",
        (
            Tab("Notifications", "/settings/notifications", "Mail, chat and telephones that tell people what waits."),
            Tab("Integrations", "/settings/integrations", "Slack, Teams, Jira and others, where people decide."),
            Tab("Webhooks", "/settings/webhooks", "Signed messages about approvals and executions to your programs."),
        ),
    ),
    (
        "Record",
        (
            Tab("Captures", "/settings/captures", "Which requests and answers are kept for review."),
            Tab("Retention", "/settings/retention", "How long bodies, captures and reports are kept. Erase calls."),
            Tab("Legal holds", "/audit/holds", "What is neither dropped nor erased while a hold is in force."),
            Tab("SIEM export", "/settings/siem", "Where each recorded event is streamed to."),
        ),
    ),
)


async def settings_page(
    api: Api,
    template: str,
    path: str,
    context: Mapping[str, object] | None = None,
    *,
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    """``path`` is the tab's; ``error`` as in ``shell_page``."""
    around = {"groups": _GROUPS, "tab": path} | dict(context or {})
    return await shell_page(api, template, "/settings", around, error=error, status=status)
