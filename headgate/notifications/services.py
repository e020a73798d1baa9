"""The allowlist of Apprise services and options.

Some of Apprise's services run programs, write files or use the local machine. Some options read files or disable
certificate verification (``template``, ``pgp``, ``attach``, ``verify`` …). Anything not listed here is refused.
https://appriseit.com/services/
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from headgate.kernel.errors import ValidationError
from headgate.organizations.ports import BAD_PORTS

MAIL_SERVICES: Final = frozenset({"mailto", "mailtos"})
SERVICES: Final = MAIL_SERVICES | frozenset(
    {
        "slack", "msteams", "workflows", "discord", "tgram", "ntfy", "ntfys", "pagerduty", "pagertree", "opsgenie",
        "splunk", "victorops", "gchat", "googlechat", "matrix", "matrixs", "mmost", "mmosts", "rocket", "rockets",
        "zulip", "webex", "wxteams", "gotify", "gotifys", "pover", "pbul", "signal", "signals", "twilio", "vonage",
        "messagebird", "sns", "ses", "sendgrid", "mailgun", "sparkpost", "brevo", "resend", "join", "prowl", "pushy",
        "threema", "lark", "feishu", "dingtalk", "wecombot", "line", "guilded", "ryver", "twist", "ncloud", "nclouds",
        "whatsapp", "chanify", "bark", "barks", "synology", "synologys", "office365", "azure", "o365",
    }
)  # fmt: skip
_OPTIONS: Final = frozenset(
    {
        "to", "from", "name", "cc", "bcc", "reply", "format", "user", "pass", "password", "smtp", "port", "mode",
        "channel", "priority", "thread", "topic", "token", "region", "footer", "avatar", "avatar_url", "fields", "tts",
        "group", "class", "component", "source", "severity", "sound", "device", "tags", "click", "auth", "token1",
        "token2", "token3", "tenant", "id", "workflow", "signature", "wf", "responder", "action", "details", "blocks",
        "timestamp", "silent", "mdv", "preview", "flags", "ping", "emojis", "version", "ver", "msgtype", "domain",
        "bot", "org", "stream", "route", "routing_key", "entity_id", "batch", "email", "account", "secret", "oauth_id",
    }
)  # fmt: skip
_URL_MAX: Final = 4096


def service_of(url: str, field: str = "url") -> str:
    """Returns the service that the address names. Raises ValidationError, which names ``field`` and never shows the
    address, because it holds secrets."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _invalid(field, "it is not a valid URL") from error
    if len(url) > _URL_MAX or not url.isprintable():
        raise _invalid(field, f"at most {_URL_MAX} printable characters")
    if parts.scheme not in SERVICES:
        raise _invalid(
            field,
            f"the service {parts.scheme[:32] or '(none)'} is not allowed; services: {', '.join(sorted(SERVICES))}",
        )
    if port in BAD_PORTS and parts.scheme not in MAIL_SERVICES:
        raise _invalid(field, f"port {port} belongs to another protocol")
    for name in _option_names(url, field):
        # A leading +, - or : adds headers, parameters or service fields, and so would bypass this list.
        if name.lower() not in _OPTIONS:
            raise _invalid(field, f"the option {name[:32]} may not be used")
    return parts.scheme


def _option_names(url: str, field: str) -> Iterator[str]:
    """Parses options as Apprise does, not as RFC 3986 does: a ``?`` in a fragment also begins options, and ``;``
    separates them."""
    _, _, options = url.partition("?")
    if "?" in options:
        raise _invalid(field, "a second ? may not be used: write %3F")
    for option in re.split("[&;]", options):
        if option:
            yield unquote(option.partition("=")[0]).strip()


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason})
