"""The shared parts of the settings pages: the groups of their list."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from admin_api.web.api import Api
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError


class Tab(Struct, frozen=True):
    """``what``: one sentence about what is set there, for somebody who looks for it."""

    name: str
    path: str
    what: str


_GROUPS: Final = (
    (
        "People",
        (
            Tab("Members", "/settings/members", "People who can sign in, their roles, and invitations."),
            Tab("Approver groups", "/settings/groups", "Groups of people that policies name as approvers."),
            Tab("Keys", "/settings/keys", "API keys of programs and agents."),
        ),
    ),
    (
        "Calls",
        (
            Tab("Destinations", "/settings/destinations", "Hosts and tools that policies may allow."),
            Tab("Model providers", "/settings/models", "Language models for content policies."),
            Tab("Execution limits", "/settings/executions", "Attempts, rates and timeouts of Headgate's executions."),
            Tab("Credentials", "/settings/credentials", "Secrets that catalogues name and Headgate adds to calls."),
        ),
    ),
    (
        "Messages",
        (
            Tab("Notifications", "/settings/notifications", "Email, chat and phone messages about held calls."),
            Tab("Integrations", "/settings/integrations", "Slack, Teams, Jira and other tools where reviewers decide."),
            Tab("Webhooks", "/settings/webhooks", "Signed messages about approvals and executions to your programs."),
        ),
    ),
    (
        "Record",
        (
            Tab("Captures", "/settings/captures", "Requests and responses that Headgate keeps for review."),
            Tab("Retention", "/settings/retention", "Storage times of bodies, captures and reports. Erasure of calls."),
            Tab("Legal holds", "/audit/holds", "Data that Headgate does not drop or erase while a hold is in force."),
            Tab("SIEM export", "/settings/siem", "Destinations that receive every recorded event."),
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
