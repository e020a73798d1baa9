"""What of a content a classifier reads: the texts that detectors read, decoded as for them."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.detectors.decode import document_of
from headgate.detectors.document import SEPARATOR, Attachment
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.detectors.model import Inspection
from headgate.kernel.canonical_json import JsonValue

SHORT_CHARACTERS: Final = 64
"""Texts below it are read together: a classifier says little of one word, and a sentence may be cut into fields."""


class ReadTexts(Struct, frozen=True):
    """``inspection``: what could not be read, as detectors tell it; it has no findings."""

    texts: tuple[str, ...]
    inspection: Inspection


def read_texts(value: JsonValue, attachments: Sequence[Attachment] = ()) -> ReadTexts:
    """Long texts each by itself, so that a harmless text beside it makes none milder. Takes milliseconds: run it in a
    thread."""
    budget = Budget(DEFAULT_LIMITS)
    document = document_of(value, budget, attachments)
    budget.has_time()
    texts = [one.decode("utf-8", "replace") for one in document.buffer().split(SEPARATOR)]
    short = "\n".join(text for text in texts if len(text) < SHORT_CHARACTERS)
    long = dict.fromkeys(text for text in texts if len(text) >= SHORT_CHARACTERS)
    return ReadTexts((*((short,) if short else ()), *long), Inspection((), tuple(budget.gaps.values())))
