"""Published test numbers of payment cards at the payment provider: ``config/detectors/test_cards.yaml``."""

from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.model import Finding, text_at_path
from headgate.kernel.canonical_json import JsonValue

_CARD: Final = "payment_card"


class TestCards(Struct, frozen=True):
    """``hosts``: each for the hosts below it too."""

    __test__ = False  # no class of tests

    hosts: tuple[str, ...]
    beginnings: tuple[str, ...]
    numbers: frozenset[str]


@cache
def test_cards() -> TestCards:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "test_cards.yaml"))
    document.only("hosts", "beginnings", "numbers")
    return TestCards(
        tuple(document.strings("hosts")), tuple(document.strings("beginnings")), frozenset(document.strings("numbers"))
    )


def without_test_cards(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings in a call (``value``) that are no numbers for tests at a provider that published some."""
    if not any(one.kind == _CARD for one in findings) or not _is_at_provider(value):
        return findings
    return tuple(one for one in findings if one.kind != _CARD or not _is_for_tests(one, value))


def _is_at_provider(value: JsonValue) -> bool:
    http = value.get("http") if isinstance(value, dict) else None
    if not isinstance(http, dict) or http.get("scheme") != "https":
        return False
    host = f".{http.get('host', '')}".lower().rstrip(".")
    return any(host.endswith(f".{one}") for one in test_cards().hosts)


def _is_for_tests(finding: Finding, value: JsonValue) -> bool:
    span = finding.span
    text = None if span is None else text_at_path(value, span.path)
    if text is None or span is None:
        return False
    number, known = "".join(one for one in text[span.start : span.end] if one.isdigit()), test_cards()
    return number in known.numbers or number.startswith(known.beginnings)
