"""Bank accounts (IBAN) that are more than a line of an invoice.

An IBAN is no secret: it is printed on invoices, and given to everybody who pays. A single one is no finding where a
text asks to pay, where an invoice is written, or where money is collected from it. It is one where it says whom to pay
from now on, stands in an address, goes beside a date of birth or to a host that anybody has within a minute, and so are
several. ``config/detectors/accounts.yaml`` is the table.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final

from msgspec import Struct
from regorus import BytePattern

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.birth_dates import find_birth_dates
from headgate.detectors.called_hosts import called_host
from headgate.detectors.context_words import context_words
from headgate.detectors.document import text_at
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.payments import find_accounts
from headgate.detectors.public_hosts import is_public
from headgate.detectors.service_hosts import free_hosts
from headgate.detectors.table_entries import compiled
from headgate.kernel.canonical_json import JsonValue

SENSITIVE_IBAN: Final = "sensitive_iban"
_WEIGHT: Final = 0.9
_WRITES: Final = frozenset(("POST", "PUT", "PATCH"))
_SENTENCE: Final = BytePattern(rb"(?:[^\s;|{}<>\x22=\x00]{1,24} ){4}")
"""Five words in a row: no line of a table."""
_MARKED_UP: Final = BytePattern(rb"<\?xml|xmlns")
"""A file for a bank, whose remarks may be sentences."""
_LABEL_BYTES: Final = 200
_PLACES_MAX: Final = 64
"""Of the one account: each takes a look at the whole text in which it stands."""
_DRAFTS: Final = "/drafts"
_DRAFT_TOOL: Final = re.compile(r"(?:\w+[._-])?drafts?[_-]\w+", re.IGNORECASE)
_OTHER_SIGNS: Final = re.compile(rb"[^0-9A-Za-z]+")


class AccountRules(Struct, frozen=True):
    """As the sections of the table."""

    asks: BytePattern
    changes: BytePattern
    debtor_label: BytePattern
    collections: BytePattern
    collected: BytePattern
    collected_at: BytePattern
    invoices: BytePattern
    received: BytePattern
    payee: BytePattern
    payee_tools: BytePattern
    kept: BytePattern
    people: BytePattern


@cache
def account_rules() -> AccountRules:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "accounts.yaml"))
    names = AccountRules.__struct_fields__
    document.only(*names)
    return AccountRules(*(compiled(document, f"(?i){'|'.join(document.strings(name))}") for name in names))


def finder_of_sensitive_accounts(value: JsonValue) -> Callable[[bytes, Budget], Iterator[Match]]:
    """For the call ``value``; in what is no call, each account is one."""
    return partial(_find, value)


def _find(value: JsonValue, buffer: bytes, budget: Budget) -> Iterator[Match]:
    budget.new_pass(len(buffer))
    accounts = [*find_accounts(buffer, budget)]
    if accounts and not _is_ordinary(value, buffer, accounts, budget):
        for one in accounts:
            yield Match(SENSITIVE_IBAN, one.start, one.end, _WEIGHT)


def _is_ordinary(value: JsonValue, buffer: bytes, accounts: Sequence[Match], budget: Budget) -> bool:
    if not isinstance(value, dict) or len(accounts) > _PLACES_MAX:
        return False
    numbers = {_number(buffer[one.start : one.end]) for one in accounts}
    http = value.get("http")
    if len(numbers) > 1 or not isinstance(http, dict) or http.get("method") not in _WRITES:
        return False
    host = called_host(value)
    if f".{host}".endswith(free_hosts()) or (http.get("scheme") != "https" and is_public(host)):
        return False
    number = numbers.pop()
    if any(number in _number(text.encode("utf-8", "replace")) for text in _texts(http)):
        return False
    if account_rules().changes.search(buffer) is not None:
        return False
    if any(find_birth_dates(buffer, context_words(buffer), budget)):
        return False
    path = str(http.get("path", ""))
    if _is_draft(path, value.get("body")):
        return True
    path_bytes = path.encode("utf-8", "replace")
    return not _is_kept(path_bytes, buffer) and all(
        _asks_to_pay(buffer, one) or _is_in_field(buffer, one, path_bytes) for one in accounts
    )


def _is_draft(path: str, body: JsonValue) -> bool:
    """Whether a person releases it at the bank: by the name of the path, or of the tool of MCP that is called."""
    if path.rstrip("/").endswith(_DRAFTS):
        return True
    params = body.get("params") if isinstance(body, dict) and body.get("method") == "tools/call" else None
    name = params.get("name") if isinstance(params, dict) else None
    return isinstance(name, str) and _DRAFT_TOOL.fullmatch(name) is not None


def _is_kept(path: bytes, buffer: bytes) -> bool:
    """Whether the account is kept for later payments: in a setting, a template, the record of a payee."""
    rules = account_rules()
    return rules.kept.search(path) is not None or rules.payee_tools.search(buffer) is not None


def _asks_to_pay(buffer: bytes, one: Match) -> bool:
    text = buffer[slice(*text_at(buffer, one.start))]
    return (
        _SENTENCE.search(text) is not None
        and account_rules().asks.search(text) is not None
        and _MARKED_UP.search(text) is None
    )


def _is_in_field(buffer: bytes, one: Match, path: bytes) -> bool:
    """Whether the account is all of a value of an invoice or a collection."""
    rules = account_rules()
    start, end = text_at(buffer, one.start)
    label = buffer[start : one.start]
    if not label.endswith(b": ") or len(label) > _LABEL_BYTES or buffer[one.end : end].strip():
        return False
    if rules.people.search(path) is not None:
        return False
    if rules.debtor_label.search(label) is not None:
        return True
    if rules.payee.search(label) is not None or rules.payee.search(path) is not None:
        return False
    if rules.collections.search(path) is not None:
        return True
    if rules.collected_at.search(path) is not None and rules.collected.search(buffer) is not None:
        return True
    return rules.invoices.search(path) is not None and rules.received.search(buffer) is None


def _number(text: bytes) -> bytes:
    return _OTHER_SIGNS.sub(b"", text).upper()


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
