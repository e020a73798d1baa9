"""PUT /admin/settings/linear: a Linear team, and the workflow states that decide."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import TrackerSettings

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True)
class LinearSettings(TrackerSettings):
    """``people``: by Linear user id."""

    SECRETS: ClassVar[dict[str, str]] = {
        "api_key": "A personal API key, or an OAuth token with the prefix Bearer.",
        "webhook_secret": "The signing secret that Linear shows on the webhook's page.",
    }

    base_url: str = member(
        url(), "The address of Linear's API, or of a proxy of it.", "https://api.linear.app", is_destination=True
    )
    team_id: str = member(text(36, _UUID, "01938a5e-7c00-7000-8000-000000000001"), "The team for new issues.")
