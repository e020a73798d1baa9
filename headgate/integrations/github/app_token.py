"""Authenticates as a GitHub App.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
(RS256, ``iat`` a minute back, at most ten minutes) and …/generating-an-installation-access-token-for-a-github-app (a
token limited to the needed repositories and permissions).
"""

from datetime import datetime
from typing import Final

import jwt
from jwt.exceptions import PyJWTError

from headgate.integrations.platform_api import PlatformApi, PlatformError, text_at
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

_BACK_SECONDS: Final = 60
_LIFE_SECONDS: Final = 540
_VERSION: Final = ("x-github-api-version", "2022-11-28")
_ACCEPT: Final = ("accept", "application/vnd.github+json")


def app_jwt(app_id: str, private_key: Secret, now: datetime) -> Secret:
    """Raises PlatformError for an invalid key."""
    issued = int(now.timestamp()) - _BACK_SECONDS
    claims = {"iat": issued, "exp": issued + _LIFE_SECONDS, "iss": app_id}
    try:
        return Secret(jwt.encode(claims, private_key.reveal(), algorithm="RS256"))
    except (PyJWTError, ValueError, TypeError) as error:
        raise PlatformError("private_key", excerpt="the private key is not an RSA key in PEM") from error


def github_api(client: OutgoingClient, base_url: str, token: Secret, rules: DestinationRules) -> PlatformApi:
    return PlatformApi(client, base_url, (_ACCEPT, _VERSION, ("authorization", f"Bearer {token.reveal()}")), rules)


async def installation_token(
    as_app: PlatformApi, installation: int, repository: str, permissions: dict[str, str]
) -> Secret:
    """A token for one repository. Raises PlatformError."""
    wanted: JsonObject = {
        "repositories": [repository.rpartition("/")[2]],
        "permissions": dict[str, JsonValue](permissions),
    }
    answer = await as_app.call("POST", f"/app/installations/{installation}/access_tokens", wanted)
    token = text_at(answer.document, "token")
    if token is None:
        raise PlatformError("unexpected_answer", status=answer.status)
    return Secret(token)
