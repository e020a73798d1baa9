"""A user's own words and phrases: whatever the case, as whole words, after the same decoding as everything else."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from msgspec import Struct
from regorus import BytePattern

from headgate.detectors.alternatives import patterns_of
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.visible import visible
from headgate.kernel.errors import ValidationError

KEYWORDS_MAX: Final = 500
KEYWORD_MAX_CHARACTERS: Final = 200


class Keywords(Struct, frozen=True):
    """``find`` is a detector, as ``find_secrets`` is one."""

    patterns: Sequence[BytePattern]

    def find(self, buffer: bytes, budget: Budget) -> Iterator[Match]:
        budget.new_pass(len(buffer))
        for match in chain.from_iterable(pattern.finditer(buffer) for pattern in self.patterns):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            if not _is_inside_word(buffer, start, end):
                yield Match("keyword", start, end, 1.0)


@lru_cache(maxsize=256)
def parse_keywords(text: str) -> Keywords:
    """One word or phrase a line; empty lines and what begins with # count for nothing. Raises ValidationError."""
    lines = [line.strip() for line in text.splitlines()]
    words = [visible(line)[0] for line in lines if line and not line.startswith("#")]
    if not 1 <= len(words) <= KEYWORDS_MAX:
        raise ValidationError(f"give 1 to {KEYWORDS_MAX} keywords, one a line", details={"field": "prompt"})
    if any(len(word) > KEYWORD_MAX_CHARACTERS for word in words):
        raise ValidationError(f"a keyword has at most {KEYWORD_MAX_CHARACTERS} characters", details={"field": "prompt"})
    spaced = (r"\s+".join(re.escape(part) for part in word.split()) for word in words)
    return Keywords(patterns_of(spaced, "(?i:{})"))


def _is_inside_word(buffer: bytes, start: int, end: int) -> bool:
    """A keyword that ends in a letter does not go on; what is beyond ASCII counts as a letter."""
    return (start > 0 and _is_letter(buffer[start - 1]) and _is_letter(buffer[start])) or (
        end < len(buffer) and _is_letter(buffer[end]) and _is_letter(buffer[end - 1])
    )


def _is_letter(code: int) -> bool:
    return code >= 0x80 or chr(code).isalnum()
