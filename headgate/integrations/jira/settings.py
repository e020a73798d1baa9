"""PUT /admin/settings/jira: a Jira Cloud site, a project, and the statuses that decide."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import TrackerSettings


@dataclass(frozen=True, slots=True)
class JiraSettings(TrackerSettings):
    """``people``: by accountId."""

    SECRETS: ClassVar[dict[str, str]] = {
        "api_token": "An API token of the account (id.atlassian.com, Security).",
        "webhook_secret": "The secret that was entered with the webhook in Jira's administration.",
    }

    base_url: str = member(url(), "The site, for example https://example.atlassian.net.", is_destination=True)
    email: str = member(text(320, example="robot@example.com"), "The email address of the account that owns the token.")
    project_key: str = member(text(10, "[A-Z][A-Z0-9_]{1,9}", "OPS"), "The project for new tickets.")
    issue_type: str = member(text(60), "The name of the ticket type.", "Task")
