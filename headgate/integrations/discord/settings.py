"""PUT /admin/settings/discord: a bot that posts approval requests in a channel and handles their buttons."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import member, text, url
from headgate.integrations.tracker_settings import AskingSettings


@dataclass(frozen=True, slots=True)
class DiscordSettings(AskingSettings):
    """``people``: by Discord user id, because Discord shows no verified address."""

    SECRETS: ClassVar[dict[str, str]] = {"bot_token": "The bot's token."}

    base_url: str = member(
        url(), "The address of Discord's API, or of a proxy of it.", "https://discord.com/api/v10",
        is_destination=True,
    )  # fmt: skip
    channel_id: str = member(text(20, "[0-9]{5,20}", "1093728432340000"), "The channel for approval requests.")
    public_key: str = member(
        text(64, "[0-9a-f]{64}", "0a" * 32), "The public key of the application, to verify Discord's signatures."
    )
