"""What a check of ``headgate doctor`` finds."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """``NOTE``: works, but may not be intended."""

    verdict: Verdict
    text: str
