"""Addresses that a body hands on: to a tool that fetches them, or to a page that shows a picture (MITRE ATT&CK T1567).

Only an address that is the whole of a value, the target of a picture in Markdown or an attribute of HTML is called by
itself. One in a sentence is called if a person follows it.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from regorus import BytePattern

from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget

_ADDRESS: Final = BytePattern(
    rb"""(?:: |!\[[^\]\n]*\]\(|\b(?:src|href|poster|background)=\\?["'])(https?://[^\s"'<>\\]+)"""
)
_WHOLE: Final = b":"
_LENGTH_MIN: Final = 60
"""What is shorter carries next to nothing behind its host."""


class CalledAddress(Struct, frozen=True):
    """``start``, ``end``: where it stands in the buffer. ``parameters``: of the query, with names in lower case."""

    start: int
    end: int
    path: str
    parameters: tuple[tuple[str, str], ...]


def called_addresses(buffer: bytes, budget: Budget) -> Iterator[CalledAddress]:
    """Those that are long enough to carry something, each text once."""
    seen: set[bytes] = set()
    for found in _ADDRESS.finditer(buffer):
        start, end = found.start(1), found.end(1)
        if end - start < _LENGTH_MIN or (found[0][:1] == _WHOLE and not _ends_value(buffer, end)):
            continue
        if found[1] in seen:
            continue
        if not budget.allows_candidate():
            return
        seen.add(bytes(found[1]))
        try:
            parts = urlsplit(found[1].decode("utf-8", "replace").rstrip(")"))
        except ValueError:  # brackets with no address of version 6 in them
            continue
        parameters = tuple((name.lower(), value) for name, value in parse_qsl(parts.query))
        yield CalledAddress(start, end, parts.path, parameters)


def _ends_value(buffer: bytes, end: int) -> bool:
    return end == len(buffer) or buffer[end : end + len(SEPARATOR)] == SEPARATOR
