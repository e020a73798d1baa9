"""Calls that move money out of a wallet or an account: a heuristic by the names of methods, tools and fields.

What is sent to an address of a chain does not come back, and an allowance lets another account send it later (MITRE
ATT&CK T1657). Methods of JSON-RPC that send or sign a transaction count alone; tools and paths only with a recipient.
``config/detectors/transfers.yaml`` is the table. Reading a balance or simulating a transaction is no finding.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Final

from msgspec import Struct
from regorus import BytePattern

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

MONEY_TRANSFER: Final = "money_transfer"
_BY_METHOD: Final = 0.85
_BY_TOOL: Final = 0.8
_BY_PATH: Final = 0.75
_LABEL: Final = r"^(?:[a-z ]{1,40} )?"
"""A member's name stands before its value, after the words that it is made of (``to Address toAddress: 0x…``)."""
_MOVING: Final = (
    "send|sign|transfer|sweep|submit|broadcast|pay|call|grant|execut|invoke|withdraw|drain|bridge|swap|approv|move"
    "|allowance|permit"
)
"""One of them stands in every name of the table, and in few others, so that few are read word by word."""
_CALLED: Final = BytePattern(
    (
        rf"(?im){_LABEL}(?:name|tool|tool_?name|operation|method|action|function|function_?name|command|type"
        r"|function_?selector|method_?signature|(?:abi_?)?function_?signature):"
        rf" ((?:[a-z][\w.:/-]*)?(?:{_MOVING})[\w.:/-]*)(?:\([\w,\[\] ]*\))?$"
    ).encode()
)
_NAME_BYTES: Final = range(4, 65)
_TYPED: Final = BytePattern(rb"(?im)^(?:[a-z ]{1,40} )?primary_?type: (?:permit\w*|\w*order\w*|delegation)$")
_ADDRESS: Final = (
    r"(?:0x[0-9a-f]{40}|bc1[02-9ac-hj-np-z]{11,87}|[1-9a-z]{26,48}|[48][0-9ab][1-9a-z]{93}|[a-z]{2,12}1[02-9ac-hj-np-z]{38,58}|ln(?:bc|tb)\w{40,}"
    r"|[\w-]{1,64}\.(?:eth|sol|bnb|crypto)|[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?)"
)
_TO: Final = BytePattern(
    (
        rf"(?im){_LABEL}(?:to|recipient|receiver|destination|dest|payee|beneficiary|spender|address|toaddress|target|iban"
        rf"|account|invoice|args|arguments|params|abi_?parameters|parameters|function_?(?:args|params|parameters)|payment_?request)"
        rf"(?:_?(?:address|addr|wallet|account|pubkey|key|iban|id))?: {_ADDRESS}$"
    ).encode()
)
_AMOUNT: Final = BytePattern(
    rf"(?im){_LABEL}(?:amount|amt|value|quantity|qty|lamports|sats|satoshis|wei|volume|sum)(?:_?\w{{1,16}})?:".encode()
)
_PATH_LABEL: Final = BytePattern(rb"(?i)path: ")
_PATH: Final = BytePattern(
    rb"(?im)^path: \S*/(?:withdraw(?:als?)?|payouts?|transfers?|sends?|send[-_]?(?:money|transaction|payment|coins)"
    rb"|broadcast(?:transaction|hex)?|createtransaction|transactions?/send|sweep)"
    rb"(?:/(?:apply|create|submit))?/?$"
)
_WRITES: Final = BytePattern(rb"(?m)^method: (?:POST|PUT)$")
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")


class Transfers(Struct, frozen=True):
    methods: frozenset[str]
    verbs: frozenset[str]
    last: frozenset[str]
    nouns: frozenset[str]
    reading: frozenset[str]
    orders: frozenset[str]
    functions: frozenset[str]

    def moves_money(self, name: str) -> bool:
        """Whether a tool or a function of this name does: ``send_transaction``, ``nativeTransfer``, ``approve``."""
        words = [one.lower() for one in _WORD.findall(name)]
        if "".join(words) in self.functions:
            return True
        return words[0] not in self.reading and any(
            (one in self.verbs and other in self.nouns)
            or (one in self.nouns and other in self.last)
            or f"{one} {other}" in self.orders
            for one, other in pairwise(words)
        )


@cache
def transfers() -> Transfers:
    """Of ``config/detectors/transfers.yaml``. Raises ValidationError."""
    document = read_document(resource_path("detectors", "transfers.yaml"))
    names = "methods", "verbs", "last", "nouns", "reading", "orders", "functions"
    document.only(*names)
    return Transfers(*(frozenset(document.strings(name)) for name in names))


def find_transfers(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Where the method, the tool, the function or the path is named."""
    budget.new_pass(len(buffer))
    if _CALLED.search(buffer) is not None:
        yield from _by_name(buffer, budget)
    labels = _PATH_LABEL.finditer(buffer)
    path = next(filter(None, (_PATH.match(buffer, label.start()) for label in labels)), None)
    if path is not None and all(one.search(buffer) is not None for one in (_WRITES, _TO, _AMOUNT)):
        yield Match(MONEY_TRANSFER, path.start() + len(b"path: "), path.end(), _BY_PATH)


def _by_name(buffer: bytes, budget: Budget) -> Iterator[Match]:
    table = transfers()
    has_recipient, signs_order = (cache(partial(_holds, pattern, buffer)) for pattern in (_TO, _TYPED))
    moves_money = cache(table.moves_money)  # a list of a hundred items has the same few names
    for found in _CALLED.finditer(buffer):
        if len(found[1]) not in _NAME_BYTES or not _is_whole(buffer, found.start(), found.end()):
            continue
        if not budget.allows_candidate():
            return
        name = found[1].decode()
        whole = name.lower()
        if whole in table.methods or (whole.startswith("eth_signtypeddata") and signs_order()):
            yield Match(MONEY_TRANSFER, found.start(1), found.end(1), _BY_METHOD)
        elif moves_money(name) and has_recipient():
            yield Match(MONEY_TRANSFER, found.start(1), found.end(1), _BY_TOOL)


def _holds(pattern: BytePattern, buffer: bytes) -> bool:
    return pattern.search(buffer) is not None


def _is_whole(buffer: bytes, start: int, end: int) -> bool:
    """Whether it is a value with its label, and no line of a text, as in a page that explains the method."""
    return buffer[max(0, start - 2) : start] in (b"", b"\0\n") and buffer[end : end + 2] in (b"", b"\n\0")
