"""Masks canary tokens in the record of the call that held them. Pure.

A token that the record showed would be readable by whoever reads calls, and by the next agent that does. Where it
stands as such, it is masked; a text that decodes to it is masked as a whole. What was masked is searched again: if a
token is still found, nothing of the request is recorded.
"""

from typing import Final

from headgate.canaries.model import CanarySet, TooManyPlacesError
from headgate.detectors.decode import document_of
from headgate.detectors.document import Path
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import HeadgateError
from headgate.kernel.secrets import MASK

_ROUNDS: Final = 3
"""A text may decode to several tokens; each member is masked once, so that the second round finds none as a rule."""
NOTHING_SHOWN: Final = canonical_bytes({"params": {MASK: MASK}})


def mask_canaries(canaries: CanarySet, request: bytes) -> bytes:
    """``request``: the record of a request, canonical JSON."""
    try:
        masked = _without_plain(canaries, request)
        for _ in range(_ROUNDS):
            value = parse_strict(masked)
            paths = _holding_paths(canaries, value)
            if not paths:
                return masked
            if paths == {()}:  # only several members together make a token
                return NOTHING_SHOWN
            for path in paths - {()}:
                value = _masked_at(value, path)
            masked = canonical_bytes(value)
    except (HeadgateError, TooManyPlacesError):
        # Too much to look at, or two names that masking made the same.
        return NOTHING_SHOWN
    return NOTHING_SHOWN


def _without_plain(canaries: CanarySet, request: bytes) -> bytes:
    """No character of a token is escaped in canonical JSON, so that each stands in it as it is."""
    pieces: list[bytes] = []
    end = 0
    for start, canary in sorted(canaries.all_in(request), key=lambda one: one[0]):
        if start >= end:
            pieces += (request[end:start], MASK.encode())
        end = max(end, start + canary.length)
    if not pieces:
        return request
    # Masked names stand in another order.
    return canonical_bytes(parse_strict(b"".join((*pieces, request[end:]))))


def _holding_paths(canaries: CanarySet, value: JsonValue) -> set[Path]:
    """Of the members that decode to a token."""
    document = document_of(value, Budget(DEFAULT_LIMITS), (), ())
    found: set[Path] = set()
    for at, _ in canaries.all_in(document.buffer()):
        found.add(document.piece_at(at).origin.path)
    return found


def _masked_at(value: JsonValue, path: Path) -> JsonValue:
    """``value`` with what stands at ``path`` masked; a path that leads nowhere changes nothing."""
    if not path:
        return MASK
    key, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(key, str) and key in value:
        return {**value, key: _masked_at(value[key], rest)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [*value[:key], _masked_at(value[key], rest), *value[key + 1 :]]
    return value
