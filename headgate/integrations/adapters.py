"""Creates the adapter of each integration from the type of its settings."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from headgate.integrations.discord.api import DiscordChannel, discord_api
from headgate.integrations.discord.settings import DiscordSettings
from headgate.integrations.form import IntegrationSettings
from headgate.integrations.github.api import GitHubChecks
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github_actions.settings import GitHubActionsSettings
from headgate.integrations.github_actions.workflow_token import WorkflowTokens
from headgate.integrations.jira import webhook as jira_webhook
from headgate.integrations.jira.api import SETTLING_SECONDS as JIRA_SETTLING_SECONDS
from headgate.integrations.jira.api import JiraTracker, jira_api
from headgate.integrations.jira.settings import JiraSettings
from headgate.integrations.linear import webhook as linear_webhook
from headgate.integrations.linear.api import LinearTracker, linear_api
from headgate.integrations.linear.settings import LinearSettings
from headgate.integrations.model import Integration, Transition
from headgate.integrations.platform_api import PlatformApi, PlatformError
from headgate.integrations.servicenow import webhook as servicenow_webhook
from headgate.integrations.servicenow.api import ServiceNowTracker, servicenow_api
from headgate.integrations.servicenow.settings import ServiceNowSettings
from headgate.integrations.slack.api import SlackChannel
from headgate.integrations.slack.settings import SlackSettings
from headgate.integrations.teams.api import TeamsWorkflow
from headgate.integrations.teams.settings import TeamsSettings
from headgate.integrations.tracker import Tracker
from headgate.kernel.clock import Clock
from headgate.kernel.errors import NotFoundError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.notifications.slack_api import SlackApi
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient

SETTLING_SECONDS: Final[Mapping[Integration, float]] = {Integration.JIRA: JIRA_SETTLING_SECONDS}
"""How long a new item may be missing from the platform's search."""


def tracker_of(
    settings: IntegrationSettings,
    secrets: Mapping[str, Secret],
    client: OutgoingClient,
    rules: DestinationRules,
    clock: Clock,
) -> Tracker:
    """Raises PlatformError if a secret is missing, NotFoundError if the integration has no adapter."""
    match settings:
        case JiraSettings():
            token = required(secrets, "api_token")
            return JiraTracker(jira_api(client, settings, token, rules), settings)
        case LinearSettings():
            return LinearTracker(linear_api(client, settings, required(secrets, "api_key"), rules), settings, clock)
        case ServiceNowSettings():
            password = required(secrets, "password")
            return ServiceNowTracker(servicenow_api(client, settings, password, rules), settings)
        case SlackSettings():
            slack = SlackApi(client, settings.base_url, required(secrets, "token"), rules_for(settings.base_url, rules))
            return SlackChannel(slack, settings)
        case TeamsSettings():
            return TeamsWorkflow(PlatformApi(client, required(secrets, "webhook_url").reveal(), (), rules))
        case DiscordSettings():
            return DiscordChannel(discord_api(client, settings, required(secrets, "bot_token"), rules), settings)
        case GitHubSettings():
            return GitHubChecks(client, settings, required(secrets, "private_key"), rules, clock)
        case _:
            raise NotFoundError("This integration has no channel for approval requests.")


async def account_of(
    settings: IntegrationSettings,
    secrets: Mapping[str, Secret],
    client: OutgoingClient,
    rules: DestinationRules,
    clock: Clock,
) -> str:
    """The platform's name of the account in use: the connection test. Raises PlatformError."""
    if isinstance(settings, GitHubActionsSettings):
        keys = await WorkflowTokens(client, clock).fetch(settings.issuer, rules)
        return f"{settings.issuer}: {len(keys)} keys"
    return await tracker_of(settings, secrets, client, rules, clock).who_am_i()


def transition_of(
    settings: IntegrationSettings,
    headers: Mapping[str, str],
    body: bytes,
    secrets: Mapping[str, Secret],
    now: datetime,
) -> Transition | None:
    """Parses a tracker's webhook. Raises UnauthorizedError, ValidationError, NotFoundError if the integration takes
    none."""
    secret = secrets.get("webhook_secret")
    if secret is None:
        raise UnauthorizedError("the webhook secret of this connection is not set")
    match settings:
        case JiraSettings():
            return jira_webhook.transition_of(headers, body, secret, now)
        case LinearSettings():
            return linear_webhook.transition_of(headers, body, secret, now)
        case ServiceNowSettings():
            return servicenow_webhook.transition_of(headers, body, secret, now, settings.decision_field)
        case _:
            raise NotFoundError("no such connection")


def required(secrets: Mapping[str, Secret], name: str) -> Secret:
    """Raises PlatformError: without the secret no request is possible until someone sets it."""
    secret = secrets.get(name)
    if secret is None:
        raise PlatformError("no_secret", excerpt=f"{name} is not set")
    return secret
