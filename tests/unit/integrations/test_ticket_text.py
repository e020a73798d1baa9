"""Which of the things that are opened somebody else can edit, so that what they say is to be compared."""

import pytest

from headgate.integrations.discord.api import DiscordChannel
from headgate.integrations.github.api import GitHubChecks
from headgate.integrations.jira.api import JiraTracker
from headgate.integrations.linear.api import LinearTracker
from headgate.integrations.servicenow.api import ServiceNowTracker
from headgate.integrations.slack.api import SlackChannel
from headgate.integrations.teams.api import TeamsWorkflow
from headgate.integrations.ticket_text import digest_as_written, is_editable, text_digest


@pytest.mark.parametrize(
    "tracker", [JiraTracker(None, None), LinearTracker(None, None, None), ServiceNowTracker(None, None)]
)
def test_tickets(tracker) -> None:
    assert is_editable(tracker)


@pytest.mark.parametrize(
    "tracker",
    [
        SlackChannel(None, None),
        DiscordChannel(None, None),
        TeamsWorkflow(None),
        GitHubChecks(None, None, None, None, None),
    ],
)
async def test_messages_and_checks(tracker) -> None:
    assert not is_editable(tracker)
    assert await text_digest(tracker, "1") is None
    assert await digest_as_written(tracker, "1", None) is None
