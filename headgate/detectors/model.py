"""What is found, where, and what could not be looked at.

A finding never carries what was found, only a masked sample of it. A gap says what was *not* inspected: whoever
decides by findings must hold what has gaps, because nothing found is then no proof of nothing there.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue

_SHOWN_CHARACTERS: Final = 3
_SHOWN_FROM_LENGTH: Final = 12


class GapReason(StrEnum):
    """Which bound was met."""

    INPUT_SIZE = "input_size"
    DECODED_SIZE = "decoded_size"
    DECODING_DEPTH = "decoding_depth"
    DECODINGS = "decodings"
    VALUES = "values"
    CANDIDATES = "candidates"
    FINDINGS = "findings"
    TIME = "time"
    COMBINING_MARKS = "combining_marks"
    MASKED = "masked"
    UNSCANNABLE = "unscannable"


_UNSCANNABLE: Final = frozenset({GapReason.UNSCANNABLE})
_LIMITS: Final = frozenset(
    {GapReason.INPUT_SIZE, GapReason.VALUES, GapReason.DECODED_SIZE, GapReason.DECODING_DEPTH, GapReason.TIME}
)
"""Large ordinary files meet these. What hides meets others: runs of combining marks, places to look at without end."""


class Place(Struct, frozen=True):
    """``path``: of the value inside the inspected JSON (RFC 9535, shorthand where it can be), ``$`` for a bare text.

    ``steps``: what was decoded on the way, outermost first; a JSON text inside is ``json:$.path``. ``offset`` counts
    characters of the text after these steps; None: it stands in the member's name.
    """

    path: str
    steps: tuple[str, ...]
    offset: int | None

    def record(self) -> JsonObject:
        return {"path": self.path, "steps": list(self.steps), "offset": self.offset}


class Span(Struct, frozen=True):
    """Characters of the text at ``path`` of the inspected value: what stands there as it is, undecoded."""

    path: tuple[str | int, ...]
    start: int
    end: int


def text_at_path(value: JsonValue, path: Iterable[str | int]) -> str | None:
    """None: there is none."""
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value if isinstance(value, str) else None


class Finding(Struct, frozen=True):
    """``kind``: what it is (``iban``, ``github_token``). ``confidence`` from 0 to 1. ``sample``: masked.
    ``span``: where it can be replaced; None: it stands encoded, or in a member's name."""

    kind: str
    confidence: float
    place: Place
    sample: str
    span: Span | None = None

    def record(self) -> JsonObject:
        return {"type": self.kind, "confidence": self.confidence, "sample": self.sample, **self.place.record()}


class Gap(Struct, frozen=True):
    """``detail`` is a sentence for a person."""

    reason: GapReason
    detail: str

    def record(self) -> JsonObject:
        return {"reason": self.reason.value, "detail": self.detail}


class Match(Struct, frozen=True):
    """What a detector found in a buffer: bytes ``start`` to ``end`` of it."""

    kind: str
    start: int
    end: int
    confidence: float


class Inspection(Struct, frozen=True):
    """All that was found, in the order of the places. ``complete``: nothing was left out."""

    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...]

    @property
    def complete(self) -> bool:
        return not self.gaps

    def is_unscannable(self, *, limits_too: bool = False) -> bool:
        """Whether something was left out, and only what cannot be opened. ``limits_too``: or what there was no room or
        no time for."""
        reasons = _UNSCANNABLE | _LIMITS if limits_too else _UNSCANNABLE
        return bool(self.gaps) and all(gap.reason in reasons for gap in self.gaps)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Each once, in the order of the first finding."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))


def masked_sample(text: str) -> str:
    """Enough for a person to recognise what they wrote, and nothing for anybody else."""
    shown = text[:_SHOWN_CHARACTERS] if len(text) >= _SHOWN_FROM_LENGTH else ""
    shown = shown.encode("utf-8", "replace").decode()  # a lone surrogate cannot be recorded
    return f"{shown}… ({len(text)} characters)"
