"""Mail addresses and the addresses of machines."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from regorus import BytePattern

from headgate.detectors.context_words import ContextWords
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

_EMAIL: Final = BytePattern(
    rb"[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b"
)
_IPV4: Final = FORMS.add(rb"\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b")
_IPV6: Final = FORMS.add(rb"\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}")
_MAC: Final = FORMS.add(rb"\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b|\b[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}\b")
_NOBODY: Final = frozenset((b"git", b"noreply", b"no-reply", b"donotreply", b"do-not-reply", b"hg"))
_FILE_ENDINGS: Final = frozenset(
    (b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"css", b"js", b"ts", b"tsx", b"html", b"json", b"py", b"md")
)
_NO_DEVICE: Final = frozenset(("000000000000", "ffffffffffff"))


def find_addresses(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    if b"@" in buffer:
        yield from _emails(buffer, budget)
    yield from _machines(buffer, words, budget)


def _emails(buffer: bytes, budget: Budget) -> Iterator[Match]:
    for match in _EMAIL.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        local, _, domain = buffer[start:end].rpartition(b"@")
        if local.lower() in _NOBODY or domain.rpartition(b".")[2].lower() in _FILE_ENDINGS:
            continue
        yield Match("email", start, end, 0.95)


def _machines(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    for match in _IPV4.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        if _continues(buffer, start, end) or not _is_somebodys(buffer[start:end].decode()):
            continue
        if words.before("not_an_address", start, buffer, within=24):
            continue
        yield Match("ip_address", start, end, 0.9 if words.near("ip_address", start, end, buffer) else 0.6)
    for pattern, kind in ((_MAC, "mac_address"), (_IPV6, "ip_address")):
        for match in pattern.finditer(buffer):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            text = buffer[start:end].decode()
            if kind == "mac_address":
                is_one = text.replace(":", "").replace("-", "").lower() not in _NO_DEVICE
            else:
                is_one = _is_somebodys(text) and text.count(":") > 2
            if is_one and not _continues(buffer, start, end):
                yield Match(kind, start, end, 0.9)


def _continues(buffer: bytes, start: int, end: int) -> bool:
    before, after = buffer[max(0, start - 2) : start], buffer[end : end + 2]
    if before[-1:].isalnum() or (
        before[-1:] in (b".", b":", b"-", b"_") and before[:1].isalnum() and before[-1:] != b":"
    ):
        return True
    return after[:1].isalnum() or (after[:1] in (b".", b"-", b"/") and after[1:].isdigit()) or after[:1] == b"_"


def _is_somebodys(text: str) -> bool:
    """Whether it leads to somebody: addresses of the machine itself, of private networks and of groups do not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (
        address.is_loopback or address.is_unspecified or address.is_multicast or address.is_private or _is_mask(address)
    )


def _is_mask(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.version == 4 and (int(address) >> 24 in (0, 255) or int(address) & 0xFF == 0)
