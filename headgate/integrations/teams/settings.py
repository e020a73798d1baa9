"""PUT /admin/settings/teams: a workflow that posts cards to a channel or chat."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.tracker_settings import AskingSettings


@dataclass(frozen=True, slots=True)
class TeamsSettings(AskingSettings):
    """A workflow takes cards and returns nothing: people decide on the page that the card links to. ``people`` has no
    effect here."""

    SECRETS: ClassVar[dict[str, str]] = {
        "webhook_url": 'The address of the workflow "When a Teams webhook request is received", which holds its key.'
    }
