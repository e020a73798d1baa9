"""PUT /admin/settings/servicenow: an instance, a table, and the values of one field that decide."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import flag, member, text, url
from headgate.integrations.tracker_settings import TrackerSettings

_NAME = "[a-z][a-z0-9_]{0,79}"


@dataclass(frozen=True, slots=True)
class ServiceNowSettings(TrackerSettings):
    """``people``: by sys_id of sys_user. Administrators enter users' addresses without verification, so matching by
    address is off by default."""

    SECRETS: ClassVar[dict[str, str]] = {
        "password": "The password of the account.",
        "webhook_secret": "The key with which the business rule signs.",
    }

    base_url: str = member(url(), "The instance, for example https://example.service-now.com.", is_destination=True)
    username: str = member(
        text(100), "The account that opens records (role itil, and web_service_admin or rest_service)."
    )
    table: str = member(text(80, _NAME), "The table for new records.", "change_request")
    decision_field: str = member(text(80, _NAME), "The field whose value decides.", "approval")
    journal_field: str = member(text(80, _NAME), "The field for comments.", "work_notes")
    match_by_email: bool = member(flag(), "Match accounts to users by the email address on the instance.", False)
