"""What a check of ``headgate doctor`` finds."""

from enum import StrEnum

from msgspec import Struct


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


class Finding(Struct, frozen=True):
    """``NOTE``: works, but may not be intended."""

    verdict: Verdict
    text: str
