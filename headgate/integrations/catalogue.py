"""The list of integrations: routes, settings and tests are made from its rows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from headgate.integrations.discord.settings import DiscordSettings
from headgate.integrations.form import IntegrationSettings
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github_actions.settings import GitHubActionsSettings
from headgate.integrations.jira.settings import JiraSettings
from headgate.integrations.linear.settings import LinearSettings
from headgate.integrations.model import Integration
from headgate.integrations.servicenow.settings import ServiceNowSettings
from headgate.integrations.slack.settings import SlackSettings
from headgate.integrations.teams.settings import TeamsSettings

SETTINGS: Final[Mapping[Integration, type[IntegrationSettings]]] = MappingProxyType(
    {
        Integration.JIRA: JiraSettings,
        Integration.LINEAR: LinearSettings,
        Integration.SERVICENOW: ServiceNowSettings,
        Integration.SLACK: SlackSettings,
        Integration.TEAMS: TeamsSettings,
        Integration.DISCORD: DiscordSettings,
        Integration.GITHUB_ACTIONS: GitHubActionsSettings,
        Integration.GITHUB: GitHubSettings,
    }
)
