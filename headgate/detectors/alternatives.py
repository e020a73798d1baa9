"""Patterns for any of many texts, none of which is too large to compile (``regorus.BytePattern``)."""

from collections.abc import Iterable, Iterator
from typing import Final

from regorus import BytePattern

_PATTERN_BYTES_MAX: Final = 32 << 10
"""Well below what compiles, in upper and lower case."""


def patterns_of(alternatives: Iterable[str], form: str) -> tuple[BytePattern, ...]:
    """``alternatives`` are patterns, ``form`` is one with ``{}`` where they stand, with ``|`` between them."""
    return tuple(BytePattern(form.format("|".join(one)).encode()) for one in _packed(alternatives))


def _packed(alternatives: Iterable[str]) -> Iterator[list[str]]:
    pack: list[str] = []
    size = 0
    for one in alternatives:
        size += len(one.encode("utf-8", "replace")) + 1
        if pack and size > _PATTERN_BYTES_MAX:
            yield pack
            pack, size = [], len(one.encode("utf-8", "replace")) + 1
        pack.append(one)
    if pack:
        yield pack
