"""The platforms that are known (``config/platforms.yaml``)."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.connections.draft import invalid, parse_hosts, parse_secure_url
from headgate.connections.model import ConnectionKind, Host

_KINDS: Final[Mapping[str, tuple[ConnectionKind, ...]]] = MappingProxyType(
    {
        "generic": (
            ConnectionKind.API_KEY,
            ConnectionKind.BEARER,
            ConnectionKind.BASIC,
            ConnectionKind.CLIENT_CREDENTIALS,
            ConnectionKind.OAUTH2,
            ConnectionKind.AWS_SIGV4,
            ConnectionKind.MTLS,
        ),
        "bluesky": (ConnectionKind.BLUESKY,),
        "mastodon": (ConnectionKind.OAUTH2, ConnectionKind.BEARER),
    }
)
_OAUTH: Final = (ConnectionKind.OAUTH2, ConnectionKind.BEARER)


class Platform(Struct, frozen=True):
    """``client_authentication`` and ``body_format``: how its token endpoint is spoken to (RFC 6749, section 2.3.1;
    Notion takes JSON). ``account``: members of ``check_path``'s answer that say whose the credential is, the last
    of them for ever. ``parameters``: what its authorization endpoint wants besides."""

    name: str
    title: str
    kinds: tuple[ConnectionKind, ...]
    hosts: tuple[Host, ...]
    authorization_url: str | None
    token_url: str | None
    issuer: str | None
    scopes: tuple[str, ...]
    scope_separator: str
    parameters: Mapping[str, str]
    client_authentication: str
    body_format: str
    check_path: str | None
    check_headers: Mapping[str, str]
    account: tuple[str, ...]
    documentation: str


@cache
def platforms() -> Mapping[str, Platform]:
    """Raises ValidationError for a file that cannot be read."""
    document = read_document(resource_path("platforms.yaml"))
    document.only("platforms")
    found = [_platform(section) for section in document.sections("platforms")]
    return MappingProxyType({one.name: one for one in found})


def find_platform(name: str) -> Platform:
    """Raises ValidationError."""
    platform = platforms().get(name)
    if platform is None:
        raise invalid("platform", f"one of {', '.join(sorted(platforms()))}")
    return platform


def _platform(section: Section) -> Platform:
    section.only(
        "name", "title", "hosts", "authorization_url", "token_url", "issuer", "scopes", "scope_separator",
        "parameters", "client_authentication", "body_format", "check_path", "check_headers",
        "account", "documentation",
    )  # fmt: skip
    name = section.text("name")
    parameters, headers = section.section("parameters"), section.section("check_headers")
    return Platform(
        name=name,
        title=section.text("title"),
        kinds=_KINDS.get(name, _OAUTH),
        hosts=parse_hosts(section.strings("hosts")) if section.strings("hosts") else (),
        authorization_url=_url(section, "authorization_url"),
        token_url=_url(section, "token_url"),
        issuer=_url(section, "issuer"),
        scopes=tuple(section.strings("scopes")),
        scope_separator=section.text("scope_separator", " "),
        parameters={key: parameters.text(key) for key in parameters.members},
        client_authentication=section.text("client_authentication", "header"),
        body_format=section.text("body_format", "form"),
        check_path=section.text("check_path") if "check_path" in section.members else None,
        check_headers={key: headers.text(key) for key in headers.members},
        account=tuple(section.strings("account")),
        documentation=section.text("documentation"),
    )


def _url(section: Section, key: str) -> str | None:
    return parse_secure_url(key, section.text(key)) if key in section.members else None
