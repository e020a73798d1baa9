"""The ways to connect a platform, each with its form: the owner's consent (OAuth), an app password, or a secret."""

from dataclasses import dataclass
from typing import Final

from admin_api.connections.answers import ConnectionPlatformAnswer
from headgate.connections.model import ConnectionKind
from headgate.kernel.canonical_json import JsonObject


@dataclass(frozen=True, slots=True)
class Way:
    """A way to connect: its button and its form. ``by_consent``: the platform asks the account's owner."""

    title: str
    button: str
    schema: JsonObject
    by_consent: bool = False


def _text(description: str = "", *examples: str) -> JsonObject:
    return {"type": "string", "maxLength": 2048, "description": description, "examples": [*examples]}


def _secret(description: str = "") -> JsonObject:
    return {"type": "string", "writeOnly": True, "description": description}


def _lines(description: str) -> JsonObject:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _schema(**properties: JsonObject) -> JsonObject:
    return {"properties": {**properties}}


_HOSTS: Final = _lines("Exact hosts, such as api.example.com. The credential goes nowhere else.")
_OAUTH_FIELDS: Final = {
    "client_id": _text("Of the application that you registered at the platform."),
    "client_secret": _secret("Of the same application. Empty for a public client."),
    "scopes": _lines("What the application may do."),
    "hosts": _HOSTS,
}
_OAUTH: Final = _schema(**_OAUTH_FIELDS)
_OWN_OAUTH: Final = _schema(
    **_OAUTH_FIELDS,
    authorization_url=_text("Of the authorization server.", "https://login.example.com/authorize"),
    token_url=_text("Of the authorization server.", "https://login.example.com/token"),
)
_KEY: Final = _schema(
    kind={"enum": ["bearer", "api_key"], "description": "bearer: Authorization: Bearer …; api_key: a header."},
    header=_text("For api_key. Empty: X-API-Key.", "X-API-Key"),
    hosts=_HOSTS,
    secret=_secret("At least eight characters."),
)
_BLUESKY: Final = _schema(
    identifier=_text("", "robot.bsky.social"),
    app_password=_secret("Made in the account's settings. Never the account's own password."),
    service=_text("Empty: https://bsky.social", "https://bsky.social"),
)
_MASTODON: Final = _schema(instance=_text("", "mastodon.social"))
_MASTODON_TOKEN: Final = _schema(instance=_text("", "mastodon.social"), access_token=_secret("Of an application."))


def ways_of(platform: ConnectionPlatformAnswer) -> dict[str, Way]:
    """By the name that the form sends."""
    if platform.name == "bluesky":
        return {"app-password": Way("With an app password", "Connect", _BLUESKY)}
    if platform.name == "mastodon":
        return {
            "register": Way("By consent", "Start consent", _MASTODON, by_consent=True),
            "token": Way("With a token", "Connect", _MASTODON_TOKEN),
        }
    found: dict[str, Way] = {}
    if ConnectionKind.OAUTH2 in platform.kinds:
        schema = _OWN_OAUTH if platform.name == "generic" else _OAUTH
        found["oauth"] = Way("By consent (OAuth)", "Start consent", schema, by_consent=True)
    if ConnectionKind.BEARER in platform.kinds:
        found["key"] = Way("With a key or token", "Connect", _KEY)
    return found
