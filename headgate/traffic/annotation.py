"""Bounds of what reviewers write about a captured exchange."""

from typing import Final

NOTE_MAX_CHARACTERS: Final = 2_000
TAGS_MAX: Final = 10
TAG_MAX_CHARACTERS: Final = 40
TAG_PATTERN: Final = r"^[a-z0-9][a-z0-9._-]{0,39}$"
"""Lower case, so that a tag has one spelling."""
