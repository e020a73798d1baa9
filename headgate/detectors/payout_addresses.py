"""Addresses of wallets written into a place where people or programs pay: a heuristic by what stands around them.

A variable for fees or payouts, a statement over many rows, a page that asks for donations, a payment alias in the DNS
(OpenAlias), an edit that puts one address where another stood: whoever pays there pays somebody else from then on
(MITRE ATT&CK T1565.001, T1657). Checksums of Bitcoin, Tron, Dogecoin, Dash and Zcash are verified; addresses of
Ethereum, Monero and those of Litecoin with ``ltc1`` have their form only. A company that changes its own address
approves the call.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from regorus import BytePattern

from headgate.detectors.document import text_at
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.wallets import is_address

PAYOUT_ADDRESS_CHANGED: Final = "payout_address_changed"
_WEIGHT: Final = 0.75
_ADDRESS: Final = FORMS.add(
    rb"\b(?:0x[0-9a-fA-F]{40}|(?:bc|ltc)1[02-9ac-hj-np-z]{25,71}|[13LMTDX][1-9A-HJ-NP-Za-km-z]{25,34}|t[13][1-9A-HJ-NP-Za-km-z]{33}"
    rb"|[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93})\b"
)
_WRITES: Final = BytePattern(rb"(?m)^method: (?:POST|PUT|PATCH|tools/call)$")
_OVERWRITES: Final = BytePattern(
    rb"(?im)^method: (?:PUT|PATCH)$|^path: \S*/(?:commits|contents|src|pushes|git/(?:blobs|trees|commits))(?:/\S*)?$"
    rb"|^(?:name|tool_name): (?:\w+[_.-])?(?:write|edit|update|put|push|patch|replace|commit|set|save|publish|upsert)"
    rb"[\w.-]*$"
    rb"|(?:x-amz-target: \S+\.|\baction: )put(?:parameter|item)$|\b(?:overwrite|upsert)\b"
    rb"|^path: \S*/(?:update|upsert|replace|merge|change|edit|set[-_])[\w-]*$|\bmutation\b"
    rb"|^path: \S*/(?:settings?|preferences|profile|account|configuration|config|options|payment[-_]?details)"
    rb"(?:/(?:update|save|edit|change|payouts?|wallets?|payments?))?/?$"
)
_FOR_TESTS: Final = BytePattern(
    rb"(?im)^(?:[\w ]+ )?(?:path|file[_ ]?path|filename|file): [^\n]*\b"
    rb"(?:tests?|specs?|fixtures?|mocks?|sepolia|goerli|holesky|testnet|regtest|hardhat|localhost|devnet)\b"
)
_PAYS: Final = (
    r"(?:fees?[_ -]?(?:collector|recipient|receiver|wallet|account|address|to\b)|treasury|pay[_-]?outs?|pay[_ -]?ee"
    r"|settle(?:ment)?|donat\w*|merchant|beneficiar\w*|royalt\w*|rewards?|cash[_-]?out|withdraw\w*|deposits?|sweep"
    r"|etherbase|coinbase_address|revenue|recipient|hot[_-]?wallet|cold[_-]?(?:wallet|storage)|payment[_-]?(?:address|wallet)"
    r"|(?:wallet|btc|bitcoin|eth|usd[tc]|xmr|crypto)[_ -]?addr)"
)
_NAMED: Final = re.compile(
    (
        r"(?i)"
        + _PAYS
        + r"""[\w.-]{0,40}["'\]]{0,2}\s{0,4}(?:=>|:=|=|:)\s{0,4}(?:\w{1,12}\(|\n\x00\n[\w ]{1,60}: )?["'`]?$"""
    ).encode()
)
_VARIABLE: Final = BytePattern(
    rf"(?im)^(?:(?:[\w ]+ )?(?:name|key|variable|variable ?key|parameter|setting): \S*|path: \S*){_PAYS}\S*$".encode()
)
_STATEMENT: Final = BytePattern(rb"(?i)\bupdate\s+[^\s;]+\s+(?:as\s+\w+\s+|\w+\s+)?set\b")
_INSERTED: Final = BytePattern(rb"(?i)\binsert\s+into\s[^;]*(?:addr|wallet|payout)[^;]*\bvalues\b")
_OR_UPDATED: Final = BytePattern(rb"(?i)\bon\s+(?:conflict|duplicate\s+key)\b[^;]*\bupdate\b")
_COLUMN: Final = re.compile(rb"(?i)(?:addr\w*|wallet\w*|payout\w*|account\w*|btc|eth|usdt)[\"`\]]?\s*=\s*[\"']$")
_ASKS: Final = BytePattern(
    rb"(?i)\b(?:donat|spend(?:en|e)\b|contribut|we accept|sponsor|tip jar|support us"
    rb"|funding\.ya?ml|\bdons?\b|donaci|doac|darowizn)"
)
_COIN: Final = BytePattern(
    rb"(?i)\b(?:bitcoins?|btc|litecoin|ltc|ethereum|eth|usd[tc]|trc-?20|erc-?20|monero|xmr|crypto\w*|krypto\w*|cripto\w*)\b"
)
_OPEN_ALIAS: Final = re.compile(rb"(?i)\boa1:\w{2,8}\s[^\n]{0,80}recipient_address=$")
_OLD: Final = re.compile(
    rb"(?i)(?:[\w ]{0,40}\s)?(?:old|previous|search|find)[ _]?(?:text|str|string|value|content)?\w*:"
)
_NEW: Final = re.compile(rb"(?i)(?:[\w ]{0,40}\s)?(?:new|replace\w*|with)[ _]?(?:text|str|string|value|content)?\w*:")
_BEFORE_BYTES: Final = 120
_LABEL_BYTES: Final = 80
_ADDRESSES_MAX: Final = 64
"""Of a call; a longer list is no place where somebody pays."""


class _Address(NamedTuple):
    """``start`` and ``end`` in the buffer; ``text``: where its text begins and ends, its label included."""

    start: int
    end: int
    text: tuple[int, int]
    value: bytes


def find_payout_addresses(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """The first of a call: one is enough to hold it."""
    budget.new_pass(len(buffer))
    if _WRITES.search(buffer) is None:
        return
    found = [*islice(_addresses(buffer, budget), _ADDRESSES_MAX)]
    if not found:
        return
    place = next((one for one in found if _is_in_statement(buffer, one)), None)
    if place is None and _OVERWRITES.search(buffer) is not None and _FOR_TESTS.search(buffer) is None:
        place = _overwritten(buffer, found)
    if place is not None:
        yield Match(PAYOUT_ADDRESS_CHANGED, place.start, place.end, _WEIGHT)


def _overwritten(buffer: bytes, found: Sequence[_Address]) -> _Address | None:
    has_coin = _COIN.search(buffer) is not None
    is_variable = _VARIABLE.search(buffer) is not None
    asks = _ASKS.search(buffer) is not None
    for one in found:
        before = buffer[max(0, one.start - _BEFORE_BYTES) : one.start]
        if _NAMED.search(before) is not None or _OPEN_ALIAS.search(before) is not None:
            return one
        if is_variable and _is_whole(buffer, one):
            return one
        if asks and has_coin and not _is_whole(buffer, one):  # words around it: a page
            return one
    return _exchanged(buffer, found)


def _exchanged(buffer: bytes, found: Sequence[_Address]) -> _Address | None:
    """The first of a new text that is another than those of the old text."""
    old = {one.value for one in found if _OLD.match(buffer, one.text[0], one.text[0] + _LABEL_BYTES) is not None}
    return next(
        (
            one
            for one in found
            if old and one.value not in old and _NEW.match(buffer, one.text[0], one.text[0] + _LABEL_BYTES) is not None
        ),
        None,
    )


def _addresses(buffer: bytes, budget: Budget) -> Iterator[_Address]:
    for match in _ADDRESS.finditer(buffer):
        if not budget.allows_candidate():
            return
        if is_payable(match[0]):
            yield _Address(match.start(), match.end(), text_at(buffer, match.start()), match[0])


def is_payable(address: bytes) -> bool:
    """Whether its checksum is right, where it is verified."""
    if address[:2] == b"0x":
        return address[2:].strip(b"0") != b""
    return address[:4] == b"ltc1" or address[:1] in b"48" or is_address(address)


def _is_in_statement(buffer: bytes, one: _Address) -> bool:
    text = buffer[one.text[0] : one.start]
    if _COLUMN.search(text[-_BEFORE_BYTES:]) is not None:
        return _STATEMENT.search(text) is not None
    return _INSERTED.search(text) is not None and _OR_UPDATED.search(buffer[one.end : one.text[1]]) is not None


def _is_whole(buffer: bytes, one: _Address) -> bool:
    """Whether it is all of a value."""
    return buffer[one.start - 2 : one.start] == b": " and buffer[one.end : one.end + 2] in (b"", b"\n\0")
