"""Hosts with the name of a vendor that is not theirs (MITRE ATT&CK T1583.001, T1036): before their own domain, in
letters that look alike, one letter off, or beside a word that asks for trust (``slack-login.example``).

Lists are in ``config/detectors/host_names.yaml``.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.skeleton import ascii_skeleton

_COUNTRY_LETTERS: Final = 2
_SECOND_LEVELS: Final = frozenset(("co", "com", "net", "org", "ac", "gov", "edu", "gob", "or", "ne", "go"))
_TOP_LEVELS: Final = frozenset(("com", "net", "org"))
_REGISTERED_LABELS: Final = 2
"""Of a domain that somebody registered, with its top-level domain; one more below ``co.uk``."""
_LOOK_ALIKES: Final = str.maketrans("10534|i", "loseall")
_OTHER_SCRIPT: Final = "xn--"
_NAME_MIN: Final = 12
"""With its top-level domain. Of shorter names, one letter makes another word."""
_BRAND_MIN: Final = 9
"""Without a top-level domain."""
_LABELS_WITH_COUNTRY: Final = 3
_LABELS_WITH_TOP_LEVEL: Final = 2


class ImitatedNames(Struct, frozen=True):
    """``domains``: of vendors. ``glued``: matches one of them before a hyphen (``stripe.com-pay.example``). ``names``:
    their first labels; ``brands``: other names. The keys of both are what the names look like (``_look``). ``whole``:
    the brands of which one letter off is no other word. ``lures``: words that ask for trust. ``countries``: top-level
    domains."""

    domains: tuple[str, ...]
    glued: re.Pattern[str]
    names: dict[str, str]
    brands: dict[str, str]
    whole: tuple[str, ...]
    lures: frozenset[str]
    countries: frozenset[str]


@cache
def host_name_table() -> Section:
    """``config/detectors/host_names.yaml``, read once for all that look at hosts. Raises ValidationError."""
    document = read_document(resource_path("detectors", "host_names.yaml"))
    document.only("digest_suffixes", "private_suffixes", "imitated", "brands", "lures", "countries", "spelling")
    return document


@cache
def imitated_names() -> ImitatedNames:
    """Raises ValidationError for a table that cannot be used."""
    document = host_name_table()
    domains = tuple(document.strings("imitated"))
    names = [one.partition(".")[0] for one in domains]
    return ImitatedNames(
        domains,
        re.compile(rf"(?:^|\.)(?:{'|'.join(map(re.escape, domains))})-"),
        {_look(one): one for one in names},
        {_look(one): one for one in document.strings("brands")},
        tuple(one for one in document.strings("brands") if len(one) >= _BRAND_MIN),
        frozenset(document.strings("lures")),
        frozenset(document.strings("countries")),
    )


def begins_as_another(name: str) -> bool:
    """Whether a name in lower case begins as that of a vendor that takes keys, and ends as another
    (``api.stripe.com.pay.example``). A vendor's own names in countries end in two letters."""
    known = imitated_names()
    if known.glued.search(name) is not None:
        return True
    found = next((one for one in known.domains if f".{one}." in f".{name}"), None)
    return found is not None and len(name.rpartition(f"{found}.")[2].rstrip(".")) > _COUNTRY_LETTERS


def looks_like_another(name: str) -> bool:
    """Whether the name in lower case, of the host that is called, is made to be taken for another's. In a text, it may
    be what the text warns of."""
    known, labels = imitated_names(), name.rstrip(".").split(".")
    has_second_level = (
        len(labels) > _REGISTERED_LABELS and labels[-1] in known.countries and labels[-2] in _SECOND_LEVELS
    )
    at = len(labels) - _REGISTERED_LABELS - has_second_level
    if at < 0:
        return False
    own, registered = labels[:at], labels[at]
    if registered.startswith(_OTHER_SCRIPT):
        return _in_ascii(registered) in (*known.names.values(), *known.brands.values())
    return (
        _is_written_as(registered, known.names, known.brands)
        or any(_is_one_off(".".join(labels[at:]), one) for one in known.domains)
        or (registered.isalpha() and any(_is_one_off(registered, one, _BRAND_MIN) for one in known.whole))
        or (not known.lures.isdisjoint(registered.split("-")) and _lures(own, registered.split("-"), known))
    )


def _lures(own: Sequence[str], parts: Sequence[str], known: ImitatedNames) -> bool:
    """Beside a word that asks for trust: a brand, or another's domain (``login.bank.pl.check-account.example``)."""
    if any(one in known.brands.values() or _is_written_as(one, known.brands) for one in parts):
        return True
    if len(own) >= _LABELS_WITH_TOP_LEVEL and own[-1] in _TOP_LEVELS:
        return True
    return len(own) >= _LABELS_WITH_COUNTRY and own[-1] in known.countries and own[0] in known.lures


def _is_written_as(text: str, *names: dict[str, str]) -> bool:
    """Whether it looks like one of the names and is not that name."""
    look = _look(text)
    return any(look in one and one[look] != text for one in names)


def _in_ascii(label: str) -> str:
    """What a label in letters of other scripts (RFC 3492) looks like."""
    try:
        text = label.removeprefix(_OTHER_SCRIPT).encode().decode("punycode")
    except UnicodeError:
        return ""
    return (ascii_skeleton(text) or "").lower()


def _look(text: str) -> str:
    return text.replace("rn", "m").replace("vv", "w").translate(_LOOK_ALIKES)


def _is_one_off(text: str, name: str, at_least: int = _NAME_MIN) -> bool:
    """Whether one letter of the name is missing, added or replaced, or two neighbors have changed places, behind
    the same first letter. ``at_least``: the letters of a name that is asked about."""
    if len(name) < at_least or text == name or text[:1] != name[:1] or abs(len(text) - len(name)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(text, name, strict=False)) if one != other), None)
    if at is None:
        return True
    rest, wanted = text[at:], name[at:]
    return (
        rest[1:] == wanted[1:]
        or rest[1:] == wanted
        or rest == wanted[1:]
        or (rest[:2] == wanted[:2][::-1] and rest[2:] == wanted[2:])
    )
