"""The ways in which a credential reaches Headgate: the form of each, by platform and kind of connection."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from admin_api.connections.answers import ConnectionPlatformAnswer
from headgate.connections.model import ConnectionKind
from headgate.kernel.canonical_json import JsonObject


class Way(Struct, frozen=True):
    """A way to connect: its title, its button and the fields of its form. ``secrets``: the members of the form that
    are the credential; ``settings``: those that its kind needs beside it. ``by_consent``: the platform asks the
    account's owner."""

    title: str
    button: str
    fields: JsonObject
    secrets: JsonObject = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)
    by_consent: bool = False

    @property
    def schema(self) -> JsonObject:
        return {"properties": {**self.fields, **self.settings, **self.secrets}}


def _text(description: str = "", *examples: str) -> JsonObject:
    return {"type": "string", "maxLength": 2048, "description": description, "examples": [*examples]}


def _secret(description: str = "") -> JsonObject:
    return {"type": "string", "writeOnly": True, "description": description}


def _lines(description: str) -> JsonObject:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_HOSTS: Final = _lines("Exact host names, such as api.example.com. Headgate sends the credential only to these hosts.")
_HOST: Final[JsonObject] = {"hosts": _HOSTS}
_OAUTH: Final[JsonObject] = {
    "client_id": _text("The client ID of the application that you registered on the platform."),
    "client_secret": _secret("The client secret of the application. Empty for a public client."),
    "scopes": _lines("The scopes that the application requests."),
    "hosts": _HOSTS,
}
_OWN_OAUTH: Final[JsonObject] = {
    **_OAUTH,
    "authorization_url": _text("The authorization endpoint.", "https://login.example.com/authorize"),
    "token_url": _text("The token endpoint.", "https://login.example.com/token"),
}
_BLUESKY: Final[JsonObject] = {
    "identifier": _text("", "robot.bsky.social"),
    "app_password": _secret("Create it in the account settings. Do not use the account password."),
    "service": _text("Empty: https://bsky.social", "https://bsky.social"),
}
_INSTANCE: Final[JsonObject] = {"instance": _text("", "mastodon.social")}
_ONE_SECRET: Final[JsonObject] = {"secret": _secret("At least 8 characters.")}
_KEY: Final[JsonObject] = {
    "kind": {"enum": ["bearer", "api_key"], "description": "bearer: Authorization: Bearer …. api_key: a header."},
    "header": _text("The header name for api_key. Empty: X-API-Key.", "X-API-Key"),
    "hosts": _HOSTS,
}

# What may replace the credential of a connection that there is.
SECRETS: Final[Mapping[ConnectionKind, JsonObject]] = MappingProxyType(
    {
        ConnectionKind.API_KEY: _ONE_SECRET,
        ConnectionKind.BEARER: _ONE_SECRET,
        ConnectionKind.BASIC: {"user": _text(), "password": _secret()},
        ConnectionKind.CLIENT_CREDENTIALS: {"client_secret": _secret()},
        ConnectionKind.AWS_SIGV4: {
            "access_key_id": _text("", "AKIAIOSFODNN7EXAMPLE"),
            "secret_access_key": _secret(),
            "session_token": _secret("Only for temporary credentials."),
        },
        ConnectionKind.MTLS: {
            "certificate": _secret("In PEM."),
            "private_key": _secret("In PEM, without a password."),
        },
    }
)
_CLIENT: Final[JsonObject] = {
    "client_id": _text(),
    "token_url": _text("The token endpoint.", "https://login.example.com/token"),
    "client_authentication": {
        "enum": ["header", "body"],
        "description": "How the client authenticates at the token endpoint (RFC 6749, section 2.3.1).",
    },
}
_AWS: Final[JsonObject] = {"region": _text("", "eu-central-1"), "service": _text("", "s3")}
_OF_KIND: Final[Mapping[ConnectionKind, Way]] = MappingProxyType(
    {
        ConnectionKind.BASIC: Way("User and password", "Connect", _HOST, SECRETS[ConnectionKind.BASIC]),
        ConnectionKind.CLIENT_CREDENTIALS: Way(
            "Client credentials (OAuth)", "Connect", _HOST, SECRETS[ConnectionKind.CLIENT_CREDENTIALS], _CLIENT
        ),
        ConnectionKind.AWS_SIGV4: Way("AWS access key", "Connect", _HOST, SECRETS[ConnectionKind.AWS_SIGV4], _AWS),
        ConnectionKind.MTLS: Way("Client certificate", "Connect", _HOST, SECRETS[ConnectionKind.MTLS]),
    }
)


def ways_of(platform: ConnectionPlatformAnswer) -> dict[str, Way]:
    """By the name that the form sends; the first is shown first."""
    if platform.name == "bluesky":
        return {"app-password": Way("App password", "Connect", _BLUESKY)}
    if platform.name == "mastodon":
        token: JsonObject = {**_INSTANCE, "access_token": _secret("An application's access token.")}
        return {
            "register": Way("Consent", "Start consent", _INSTANCE, by_consent=True),
            "token": Way("Token", "Connect", token),
        }
    found: dict[str, Way] = {}
    if ConnectionKind.OAUTH2 in platform.kinds:
        fields = _OWN_OAUTH if platform.name == "generic" else _OAUTH
        found["oauth"] = Way("Consent (OAuth)", "Start consent", fields, by_consent=True)
    if ConnectionKind.BEARER in platform.kinds:
        found["key"] = Way("Key or token", "Connect", _KEY, _ONE_SECRET)
    return found | {kind.value: way for kind, way in _OF_KIND.items() if kind in platform.kinds}
