"""Hosts that are named as the product that runs there (``grafana.northwind.example``), and patterns of hosts.

``config/detectors/free_hosts.yaml`` lists hosts below which no name says anything.
"""

import re
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.imitated_hosts import imitated_names
from headgate.detectors.public_hosts import is_public

_WORD_BREAK: Final = re.compile(r"[-_]|[0-9]+$")
_REGISTERED_LABELS: Final = 2
_COUNTRY_LETTERS: Final = 2
_TOP_LEVELS: Final = frozenset(("com", "net", "org", "io", "tv", "ai", "app"))


def fits_host(host: str, pattern: str) -> bool:
    """Whether the host fits the pattern, in which ``*`` is within one label."""
    return host.count(".") == pattern.count(".") and fnmatchcase(host, pattern)


@cache
def free_hosts() -> tuple[str, ...]:
    """Each with a dot before it. Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "free_hosts.yaml"))
    document.only("hosts")
    return tuple(f".{one}" for one in document.strings("hosts"))


def label_names(host: str, words: frozenset[str]) -> bool:
    """Whether the first label of a host below somebody's domain is one of the words, or has it between its hyphens."""
    if not words or f".{host}".endswith(free_hosts()):
        return False
    first, *others = host.split(".")
    if others and others[-1][:1].isdigit():  # vault.6.6.6.6 is read as an address, or not at all
        return False
    middle = others[:-_REGISTERED_LABELS]
    if _TOP_LEVELS.intersection(middle):  # id.vendor.com.evil.example
        return False
    if len(others) > _REGISTERED_LABELS and others[-2] in _TOP_LEVELS and len(others[-1]) > _COUNTRY_LETTERS:
        return False  # id.vendor.tv.example, and not id.vendor.com.au
    if imitated_names().countries.intersection(middle[1:]):  # id.bank.pl.evil.example, and not id.pl.vendor.example
        return False
    return len(others) >= _REGISTERED_LABELS and not words.isdisjoint((first, *_WORD_BREAK.split(first)))


def is_own_service(host: str, words: frozenset[str]) -> bool:
    """Whether a host of one's own may run the product that the words name: in one's own network it needs no name."""
    return bool(words) and (not is_public(host) or label_names(host, words))
