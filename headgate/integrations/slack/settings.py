"""PUT /admin/settings/slack: an app that posts approval requests in a channel and handles their buttons.

Independent of the channels of /admin/settings/notifications, which notify by routes. Here every approval is posted, and
its outcome goes to the message's thread.
"""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import AskingSettings


@dataclass(frozen=True, slots=True)
class SlackSettings(AskingSettings):
    """``people``: by Slack member id, for accounts without a matching verified address."""

    SECRETS: ClassVar[dict[str, str]] = {
        "token": "The bot's token, with chat:write, channels:history (or groups:history), users:read.email.",
        "signing_secret": "The signing secret of the app.",
    }

    base_url: str = member(
        url(), "The address of Slack's API, or of a proxy of it.", "https://slack.com/api", is_destination=True
    )
    channel: str = member(text(32, "[A-Z0-9]{2,32}", "C0123456789"), "The id of the channel for approval requests.")
