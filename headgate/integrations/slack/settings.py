"""PUT /admin/settings/slack: an app that asks in a channel, and takes the buttons pressed there.

Apart from the channels of /admin/settings/notifications, which tell people by routes: here every approval is asked for,
and what became of it is told in the message's thread.
"""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import AskingSettings


@dataclass(frozen=True, slots=True)
class SlackSettings(AskingSettings):
    """``people``: by the id of Slack's member, where the address that Slack has verified does not tell."""

    SECRETS: ClassVar[dict[str, str]] = {
        "token": "The bot's token, with chat:write, channels:history (or groups:history), users:read.email.",
        "signing_secret": "The app's signing secret.",
    }

    base_url: str = member(
        url(), "Slack's interface, or where a proxy of it stands.", "https://slack.com/api", is_destination=True
    )
    channel: str = member(text(32, "[A-Z0-9]{2,32}", "C0123456789"), "The id of the channel in which is asked.")
