"""Mastodon: an application is registered at the instance first, because every instance is a platform of its own.

``POST /api/v1/apps`` (docs.joinmastodon.org/methods/apps), ``GET /api/v1/accounts/verify_credentials``
(methods/accounts), ``GET /api/v2/instance`` (methods/instance), ``GET /api/v1/statuses?id[]=`` (methods/statuses, since
4.3). Tokens do not expire, and there is no refreshing.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from headgate.connections.bluesky import Send
from headgate.connections.draft import invalid, parse_hosts
from headgate.connections.model import Host
from headgate.connections.oauth import TokenRefusedError, TokenUnavailableError
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.outgoing.model import OutgoingRequest, OutgoingResponse

VERIFY_PATH: Final = "/api/v1/accounts/verify_credentials"
INSTANCE_PATH: Final = "/api/v2/instance"
BATCH_MAX: Final = 20
_STATUS_ID: Final = re.compile(r"[0-9]{1,32}")
"""``methods/statuses``: as many as one question names without a token; more are asked in several."""
_APPLICATION: Final = "Headgate"


@dataclass(frozen=True, slots=True, repr=False)
class Application:
    client_id: str
    client_secret: Secret


class Account(Struct, frozen=True):
    """As people write it, with the instance; and some of what its owner sees of it."""

    acct: str
    display_name: str
    statuses_count: int | None
    followers_count: int | None


def parse_instance(text: str) -> Host:
    """A name, with a port where it has one; an address with https:// in front is taken too."""
    hosts = parse_hosts([text.removeprefix("https://").rstrip("/")])
    return hosts[0]


def origin(instance: Host) -> str:
    return f"https://{instance.host}" if instance.port == 443 else f"https://{instance}"


async def register_application(instance: Host, redirect_uri: str, scopes: Sequence[str], send: Send) -> Application:
    """Raises TokenRefusedError, TokenUnavailableError."""
    body = json.dumps({"client_name": _APPLICATION, "redirect_uris": redirect_uri, "scopes": " ".join(scopes)}).encode()
    headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
    answer = read_object(await send(OutgoingRequest("POST", f"{origin(instance)}/api/v1/apps", headers, body)))
    client_id, client_secret = answer.get("client_id"), answer.get("client_secret")
    if not isinstance(client_id, str) or not isinstance(client_secret, str):
        raise TokenUnavailableError("the instance's response has no application")
    return Application(client_id, Secret(client_secret))


async def find_account(instance: Host, token: Secret, send: Send) -> Account:
    """Whose token it is. Raises TokenRefusedError, TokenUnavailableError."""
    headers = (("Authorization", f"Bearer {token.reveal()}"), ("Accept", "application/json"))
    response = await send(OutgoingRequest("GET", f"{origin(instance)}{VERIFY_PATH}", headers))
    return read_account(read_object(response), instance)


def read_account(document: JsonObject, instance: Host) -> Account:
    acct = document.get("acct")
    if not isinstance(acct, str):
        raise TokenUnavailableError("the instance's response has no account")
    name, statuses, followers = (document.get(one) for one in ("display_name", "statuses_count", "followers_count"))
    return Account(
        acct=(acct if "@" in acct else f"{acct}@{instance.host}")[:320],
        display_name=name[:200] if isinstance(name, str) else "",
        statuses_count=statuses if isinstance(statuses, int) else None,
        followers_count=followers if isinstance(followers, int) else None,
    )


def statuses_path(status_ids: Sequence[str]) -> str:
    """Raises ValidationError."""
    if not 1 <= len(status_ids) <= BATCH_MAX or not all(_STATUS_ID.fullmatch(one) for one in status_ids):
        raise invalid("ids", f"1 to {BATCH_MAX} identifiers of statuses, in digits")
    return "/api/v1/statuses?" + urlencode([("id[]", one) for one in status_ids])


def read_object(response: OutgoingResponse) -> JsonObject:
    """Raises TokenRefusedError, TokenUnavailableError."""
    document = read_value(response)
    if not isinstance(document, dict):
        raise TokenUnavailableError("the instance sent an unexpected response")
    return document


def read_value(response: OutgoingResponse) -> JsonValue:
    if response.status in (401, 403, 404, 422):
        raise TokenRefusedError(f"the instance answered {response.status}", details={"status": response.status})
    if response.status >= 300 or response.is_truncated:
        raise TokenUnavailableError(f"the instance answered {response.status}", details={"status": response.status})
    try:
        return parse_strict(response.body)
    except ValidationError as error:
        raise TokenUnavailableError("the instance's response is not JSON") from error
