"""Credentials in a buffer: all keywords in one pass, then form, structure, checksum and entropy where one stands."""

from collections.abc import Iterator
from typing import Final

from headgate.detectors.assignments import assigned_value
from headgate.detectors.entropy import bits_per_character
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.secret_checks import LIKELY, NO
from headgate.detectors.secret_formats import Assignment, SecretFormat, SecretFormats, secret_formats, window_end

_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SLICE_BYTES: Final = 64 * 1024
_OVERLAP_BYTES: Final = 64
GENERIC: Final = ("password", "token")


def find_secrets(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """What looks like a credential, in no order, and perhaps one place more than once."""
    formats = secret_formats()
    budget.new_pass(len(buffer))
    for end, (length, known, assignment) in _keywords(buffer, formats):
        start = end - length
        if not budget.allows_candidate():
            return
        for one in known:
            match = _match(buffer, start, one, formats)
            if match is not None:
                yield match
        if assignment is not None and (found := assigned_value(buffer, start, end, assignment, formats)) is not None:
            yield Match(GENERIC[0] if assignment.by_person else GENERIC[1], found.start, found.end, found.confidence)


def _keywords(
    buffer: bytes, formats: SecretFormats
) -> Iterator[tuple[int, tuple[int, tuple[SecretFormat, ...], Assignment | None]]]:
    """Each keyword with the offset of its end; slice by slice, so that no call holds the interpreter for long."""
    lowered = buffer.lower()
    for at in range(0, len(lowered), _SLICE_BYTES):
        text = lowered[max(0, at - _OVERLAP_BYTES) : at + _SLICE_BYTES].decode("latin-1")
        base = max(0, at - _OVERLAP_BYTES)
        for last, value in formats.keywords.iter(text):
            if base + last >= at:
                yield base + last + 1, value


def _match(buffer: bytes, start: int, wanted: SecretFormat, formats: SecretFormats) -> Match | None:
    end = window_end(start, len(buffer))
    if wanted.before == 0:
        found = wanted.pattern.match(buffer, start, end)
    else:
        found = wanted.pattern.search(buffer, max(0, start - wanted.before), end)
        if found is not None and found.start() > start:
            return None
    if found is None:
        return None
    if found.start() > 0 and buffer[found.start() - 1] in _WORD and buffer[found.start()] in _WORD:
        return None
    group = 1 if found.re.groups and found.start(1) >= 0 else 0
    raw: bytes = found[group]
    if wanted.bits and bits_per_character(raw) < wanted.bits:
        return None
    confidence = LIKELY
    value = raw.decode("utf-8", "replace")
    if wanted.check is not None:
        confidence = wanted.check(value, formats.placeholders)
    elif wanted.bits and formats.placeholders.hold(value):
        confidence = NO
    return None if confidence == NO else Match(wanted.kind, found.start(group), found.end(group), confidence)
