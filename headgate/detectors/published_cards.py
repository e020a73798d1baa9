"""Published test numbers of payment cards at the payment provider: ``config/detectors/published_cards.yaml``."""

from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.called_hosts import is_at, tls_destination
from headgate.detectors.model import Finding, text_at_path
from headgate.kernel.canonical_json import JsonValue

_CARD: Final = "payment_card"


class PublishedCards(Struct, frozen=True):
    """``hosts``: of providers, each for the hosts below it too."""

    hosts: tuple[str, ...]
    numbers: frozenset[str]


@cache
def published_cards() -> PublishedCards:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "published_cards.yaml"))
    document.only("hosts", "numbers")
    return PublishedCards(tuple(document.strings("hosts")), frozenset(document.strings("numbers")))


def without_published_cards(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings in a call (``value``), without cards for tests if it goes to a provider that published them."""
    where = tls_destination(value) if any(one.kind == _CARD for one in findings) else None
    if where is None or not any(is_at(where[0], one) for one in published_cards().hosts):
        return findings
    return tuple(one for one in findings if one.kind != _CARD or not _is_for_tests(one, value))


def _is_for_tests(finding: Finding, value: JsonValue) -> bool:
    span = finding.span
    text = None if span is None else text_at_path(value, span.path)
    if text is None or span is None:
        return False
    return "".join(one for one in text[span.start : span.end] if one.isdigit()) in published_cards().numbers
