"""Calls Slack's Web API through the shared outgoing client."""

import asyncio
from urllib.parse import quote, urlencode

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest
from headgate.outgoing.retry_after import retry_after_seconds


class SlackError(Exception):
    """``failure``: Slack's error code (``channel_not_found``), or the outgoing client's."""

    def __init__(self, failure: str, *, status: int | None = None, retry_after_seconds: float | None = None) -> None:
        super().__init__(failure)
        self.failure = failure
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class SlackApi(Struct, frozen=True):
    """``api_url`` without a trailing slash: https://slack.com/api, or a proxy of it."""

    client: OutgoingClient
    api_url: str
    token: Secret
    rules: DestinationRules
    deadline_seconds: float = 15.0

    async def call(self, method: str, arguments: JsonObject) -> JsonObject:
        """Sends a POST with JSON. Raises SlackError."""
        request = OutgoingRequest(
            "POST",
            f"{self.api_url}/{method}",
            (*self._authorized(), ("content-type", "application/json; charset=utf-8")),
            canonical_bytes(arguments),
        )
        return await self._send(request)

    async def read(self, method: str, arguments: dict[str, str]) -> JsonObject:
        """Sends a GET, because Slack's reading methods take no JSON. Raises SlackError."""
        url = f"{self.api_url}/{method}?{urlencode(arguments)}"
        return await self._send(OutgoingRequest("GET", url, self._authorized()))

    async def verified_email(self, user: str) -> str | None:
        """Returns the confirmed e-mail address of a member who is not a bot, is active and belongs to this workspace.
        In a shared channel, addresses that another company's administrators set prove nothing. Raises SlackError."""
        request = OutgoingRequest("GET", f"{self.api_url}/users.info?user={quote(user, safe='')}", self._authorized())
        answered, ours = await asyncio.gather(self._send(request), self.call("auth.test", {}))
        found = answered.get("user")
        if not isinstance(found, dict) or found.get("deleted") is not False or found.get("is_bot") is not False:
            return None
        if not _is_colleague(found, ours):
            return None
        profile = found.get("profile")
        email = profile.get("email") if isinstance(profile, dict) else None
        return email if isinstance(email, str) and found.get("is_email_confirmed") is True else None

    def _authorized(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token.reveal()}"),)

    async def _send(self, request: OutgoingRequest) -> JsonObject:
        try:
            response = await self.client.send(
                request, self.rules, OutgoingLimits(connect_seconds=5.0, deadline_seconds=self.deadline_seconds)
            )
            document = parse_strict(response.body)
        except OutgoingError as error:
            raise SlackError(error.failure.value, status=error.status) from error
        except ValidationError as error:
            raise SlackError(
                "status", status=response.status, retry_after_seconds=retry_after_seconds(response)
            ) from error
        if not isinstance(document, dict) or document.get("ok") is not True:
            word = document.get("error") if isinstance(document, dict) else None
            raise SlackError(
                word[:64] if isinstance(word, str) else "status",
                status=response.status,
                retry_after_seconds=retry_after_seconds(response),
            )
        return document


def _is_colleague(member: JsonObject, ours: JsonObject) -> bool:
    """Whether the member belongs to the token's workspace, or to another one of its enterprise
    (https://docs.slack.dev/reference/objects/user-object, https://docs.slack.dev/reference/methods/auth.test)."""
    team = member.get("team_id")
    if isinstance(team, str) and team == ours.get("team_id"):
        return True
    grid = member.get("enterprise_user")
    enterprise = grid.get("enterprise_id") if isinstance(grid, dict) else None
    return isinstance(enterprise, str) and enterprise == ours.get("enterprise_id")
