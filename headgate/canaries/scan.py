"""Looks for canary tokens in everything that a call would send, and in what that decodes to. Pure.

The detectors' decoding reads the call to a fixed point within their limits; the bytes of the call are read whole.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from headgate.canaries.model import CanarySet, FoundCanary
from headgate.detectors.decode import document_of
from headgate.detectors.document import Attachment, Places
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.kernel.canonical_json import JsonValue

_PLACE_CHARACTERS_MAX: Final = 200
AS_SENT: Final = "the request as it was sent"


def find_canaries(
    canaries: CanarySet, value: JsonValue, attachments: Sequence[Attachment], raw: Iterable[bytes]
) -> list[FoundCanary]:
    """``value`` and ``attachments``: what detectors read. ``raw``: the bytes of the call. Each canary once, with the
    first place. Raises TooManyPlacesError."""
    document = document_of(value, Budget(DEFAULT_LIMITS), attachments, ())
    buffer = document.buffer()
    places = Places(document, buffer)
    found: dict[str, FoundCanary] = {}
    for at, canary in canaries.in_text(buffer):
        place = places.of(at)
        words = " ".join((place.path, *place.steps))
        found[canary.canary_id] = FoundCanary(canary.canary_id, canary.name, words[:_PLACE_CHARACTERS_MAX])
    for piece in raw:
        for _, canary in canaries.in_text(piece):
            found.setdefault(canary.canary_id, FoundCanary(canary.canary_id, canary.name, AS_SENT))
    return list(found.values())
