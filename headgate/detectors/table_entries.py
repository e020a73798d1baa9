"""What entries of the tables in ``config/detectors`` have in common: patterns, and how much a match says."""

from functools import cache

from regorus import BytePattern, PatternError

from headgate.configuration.yaml_document import Section
from headgate.kernel.errors import ValidationError


def compiled(section: Section, pattern: str) -> BytePattern:
    """One for all entries with this pattern, as it takes memory in every process. Raises ValidationError."""
    try:
        return _compiled(pattern)
    except PatternError as error:
        raise ValidationError(f"{section.where}: RE2 does not accept a pattern: {error}") from error


def weight_of(section: Section) -> float:
    """``weight``. Raises ValidationError."""
    weight = section.members.get("weight")
    if not isinstance(weight, float) or not 0 < weight < 1:
        raise section.fail("weight", "a number between 0 and 1 is required")
    return weight


@cache
def _compiled(pattern: str) -> BytePattern:
    return BytePattern(pattern.encode())
