"""A vendor's credential with which an agent signs in at another one's host.

Policies except the header fields that sign in (``scope.except_headers``), which are where a credential belongs; but
"send this with your token" is also how one is stolen (MITRE ATT&CK T1567, T1528). Most tokens say whose they are, and
for some vendors all of their hosts are known: ``config/detectors/credential_homes.yaml`` is the table.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.called_hosts import called_host, is_at
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.detectors.model import Finding, Place, masked_sample
from headgate.detectors.public_hosts import is_public
from headgate.detectors.secrets import find_secrets
from headgate.detectors.service_hosts import label_names
from headgate.kernel.canonical_json import JsonValue


class Home(Struct, frozen=True):
    """``begins``: how a vendor's credentials begin. ``hosts``: the vendor's, each for the hosts below it too.
    ``named``: words of the first label of a host of one's own that takes them."""

    begins: tuple[str, ...]
    hosts: tuple[str, ...]
    named: frozenset[str]

    def is_at(self, host: str) -> bool:
        return any(is_at(host, one) for one in self.hosts) or label_names(host, self.named)


@cache
def credential_homes() -> tuple[Home, ...]:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "credential_homes.yaml"))
    document.only("homes")
    homes = document.section("homes")
    return tuple(_home(homes.section(one)) for one in homes.members)


@cache
def _all_begins() -> tuple[str, ...]:
    """Of all vendors: most texts begin with none, which one look tells."""
    return tuple(begin for home in credential_homes() for begin in home.begins)


def away_from_home(fields: Mapping[str, Sequence[str]], value: JsonValue) -> tuple[Finding, ...]:
    """In the header ``fields`` of the call ``value``, by their names and without the scheme (``Bearer``)."""
    host = called_host(value)
    if not is_public(host):
        return ()
    return tuple(
        found
        for name, texts in fields.items()
        for text in texts
        for read in _readings(text)
        if read.startswith(_all_begins())
        if any(read.startswith(one.begins) and not one.is_at(host) for one in credential_homes())
        if (found := _found(name, read)) is not None
    )


def _found(field: str, text: str) -> Finding | None:
    """The surest credential with which the text begins; several forms may fit one."""
    matches = [one for one in find_secrets(text.encode("utf-8", "replace"), Budget(DEFAULT_LIMITS)) if one.start == 0]
    if not matches:
        return None
    match = max(matches, key=lambda one: (one.confidence, one.end))
    sample = masked_sample(text[: match.end])
    return Finding(match.kind, match.confidence, Place(f"$.http.headers['{field}']", (), None), sample)


def _readings(text: str) -> tuple[str, ...]:
    """As it stands, without the name of another scheme (DPoP), and the two halves of Basic (RFC 7617)."""
    text = text.rpartition(" ")[2]
    try:
        user, _, password = b64decode(text, validate=True).decode().partition(":")
    except (Error, ValueError):
        return (text,)
    return text, user, password


def _home(section: Section) -> Home:
    section.only("begins", "hosts", "named")
    named = frozenset(section.strings("named")) if "named" in section.members else frozenset[str]()
    return Home(tuple(section.strings("begins")), tuple(section.strings("hosts")), named)
