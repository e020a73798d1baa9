"""Credentials in a buffer: all keywords in one pass, then form, structure, checksum and entropy where one stands."""

from collections.abc import Iterator
from typing import Final

from regorus import BytePattern

from headgate.detectors.assignments import assigned_value, begins_name, service_values
from headgate.detectors.entropy import bits_per_character
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.secret_checks import LIKELY, NO, is_in_words
from headgate.detectors.secret_formats import WORD, Keywords, SecretFormat, SecretFormats, secret_formats

_WEAK_PER_CANDIDATE: Final = 8  # a member called "key" in each line is ordinary, and takes one short look
_KEY_NAME: Final = BytePattern(
    rb"(?:AKIA|ASIA)[A-Z2-7]{16}"
    rb"|GOOG1E[A-Z0-9]{55}|[a-z0-9-]{1,63}(?:@|%40)[a-z0-9-]{1,40}\.(?:iam|appspot)\.gserviceaccount\.com"
)
_SIGNATURE_SCOPE: Final = BytePattern(
    rb"(?:/|%2[fF])[0-9]{8}(?:/|%2[fF])[a-z0-9-]+(?:/|%2[fF])[a-z0-9-]+(?:/|%2[fF])(?:aws4|goog4)_request"
)
"""Behind the name of a key that signed something, as in each presigned URL (Signature Version 4 of AWS, and that of
Cloud Storage, where it is a service account)."""
_STARTS_MAX: Final = 64
"""Places before a keyword that are tried one by one. Of more, each may be where a pattern runs on for long."""
_LONGER: Final = WORD + b"-"
"""What follows a value that is longer than its vendor makes them."""
GENERIC: Final = ("password", "token")


def find_secrets(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """What looks like a credential, in no order, and perhaps one place more than once."""
    return _find(buffer, budget, secret_formats().keywords)


def find_split_secrets(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """As ``find_secrets``, for joined texts: only what has a form of its own."""
    return _find(buffer, budget, secret_formats().joined)


def _find(buffer: bytes, budget: Budget, keywords: Keywords) -> Iterator[Match]:
    formats = secret_formats()
    budget.new_pass(len(buffer))
    # A format whose needed bytes are nowhere in the buffer cannot match.
    lacking = {needed for needed in formats.needed if needed not in buffer}
    weak = 0
    for end, keyword in keywords.found(buffer):
        start = end - keyword.length
        known = keyword.others
        if keyword.beginnings and (start == 0 or buffer[start - 1] not in WORD):
            known += keyword.beginnings
        is_weak = not known and not keyword.services and keyword.assignment is not None and keyword.assignment.weak
        weak += is_weak
        if (not is_weak or weak % _WEAK_PER_CANDIDATE == 0) and not budget.allows_candidate():
            return
        for one in known:
            match = None if one.needs in lacking else _match(buffer, start, one, formats)
            if match is not None:
                yield match
        if keyword.services and begins_name(buffer, start, end):
            yield from service_values(buffer, end, keyword.services, formats)
        assignment = keyword.assignment
        found = None if assignment is None else assigned_value(buffer, start, end, assignment, formats)
        if assignment is not None and found is not None and not _is_signature_scope(buffer[found.start : found.end]):
            yield Match(GENERIC[0] if assignment.by_person else GENERIC[1], found.start, found.end, found.confidence)


def _match(buffer: bytes, start: int, wanted: SecretFormat, formats: SecretFormats) -> Match | None:
    end = min(len(buffer), start + wanted.after)
    if wanted.needs and buffer.find(wanted.needs, start, end) < 0:
        return None
    if wanted.before == 0:
        found = wanted.pattern.match(buffer, start, end)
    elif wanted.near or wanted.before > _STARTS_MAX:
        found = wanted.pattern.search(buffer, max(0, start - wanted.before), end)
        if found is not None and not wanted.near and found.start() > start:
            return None
    else:
        found = wanted.pattern.search_start(buffer, max(0, start - wanted.before), start, end)
    if found is None:
        return None
    if found.start() > 0 and buffer[found.start() - 1] in WORD and buffer[found.start()] in WORD:
        return None
    group = found.lastindex or 0 if wanted.check is not None else int(wanted.pattern.groups > 0 and found.start(1) >= 0)
    raw: bytes = found[group]
    if _KEY_NAME.fullmatch(raw) is not None and _SIGNATURE_SCOPE.match(buffer, found.end(group)) is not None:
        return None
    if wanted.bits and bits_per_character(raw) < wanted.bits:
        return None
    if wanted.allowed is not None and wanted.allowed.search(raw) is not None:
        return None
    confidence = LIKELY
    value = raw.decode("utf-8", "replace")
    if wanted.check is not None:
        confidence = wanted.check(value, formats.placeholders)
    elif wanted.bits:
        is_name = is_in_words(value) and not _is_exact(buffer, found.end(group), raw, wanted)
        confidence = NO if is_name or formats.placeholders.hold(value) else LIKELY
    return None if confidence == NO else Match(wanted.kind, found.start(group), found.end(group), confidence)


def _is_exact(buffer: bytes, end: int, raw: bytes, wanted: SecretFormat) -> bool:
    """Whether a value without digits has the vendor's length to the character, and is not all in lower case as words
    are. Of 20 letters and digits at random, one in thirty has no digit; of AWS' 16, one in thirty too."""
    if wanted.exact is None or (end < len(buffer) and buffer[end] in _LONGER):
        return False
    found = wanted.exact.fullmatch(raw)
    return found is not None and not found[1].islower()


def _is_signature_scope(value: bytes) -> bool:
    name = _KEY_NAME.match(value)
    scope = None if name is None else _SIGNATURE_SCOPE.match(value, name.end())
    return scope is not None and value[scope.end() : scope.end() + 1] in (b"", b"&")
