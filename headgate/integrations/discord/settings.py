"""PUT /admin/settings/discord: a bot that asks in a channel, and takes the buttons pressed there."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import AskingSettings


@dataclass(frozen=True, slots=True)
class DiscordSettings(AskingSettings):
    """``people``: by the id of Discord's user, who has no verified address to be matched by."""

    SECRETS: ClassVar[dict[str, str]] = {"bot_token": "The bot's token."}

    base_url: str = member(
        url(), "Discord's interface, or where a proxy of it stands.", "https://discord.com/api/v10",
        is_destination=True,
    )  # fmt: skip
    channel_id: str = member(text(20, "[0-9]{5,20}", "1093728432340000"), "The channel in which is asked.")
    public_key: str = member(
        text(64, "[0-9a-f]{64}", "0a" * 32), "The application's public key: what Discord signs interactions with."
    )
