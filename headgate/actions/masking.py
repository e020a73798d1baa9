"""Secrets are masked before anything is stored: by the names of members, and by the form of credentials.

The common case holds none: one pass of RE2 over the canonical bytes tells, and only a hit walks the tree.
"""

from functools import cache
from typing import Final

import re2

from headgate.actions.masking_rules import MaskingRules, masking_rules, without_escape
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.secrets import MASK

_URL_START: Final = "://"


class Masker:
    """Masks by one set of rules. Masking twice is masking once."""

    __slots__ = ("_rules", "_search")

    def __init__(self, rules: MaskingRules) -> None:
        self._rules = rules
        self._search = rules.may_hold_secret.search

    def mask(self, canonical: bytes) -> bytes:
        """``canonical`` JSON with its secrets masked; the same object where there is none."""
        if self._search(canonical) is None:
            return canonical
        return canonical_bytes(self.mask_value(parse_strict(canonical)))

    def mask_value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, list):
            return [self.mask_value(one) for one in value]
        if isinstance(value, dict):
            return self._mask_members(value)
        return value

    def mask_text(self, text: str) -> str:
        """Credentials and assignments (``password=…``) inside a text, a query string for example."""
        without_credentials = self._rules.credential.sub(_mask_credential, text)
        return str(self._rules.assignment.sub(self._mask_assignment, without_credentials))

    def _mask_members(self, members: JsonObject) -> JsonObject:
        masked: JsonObject = {}
        for name, value in members.items():
            shown = self.mask_text(name)
            while shown in masked:  # two names that are credentials both
                shown += "_"
            masked[shown] = _mask_leaves(value) if self._rules.is_secret_name(name) else self.mask_value(value)
        return masked

    def _mask_assignment(self, match: re2._Match) -> str:
        name, value = match.group(1), match.group(2)
        bare = name.rstrip(" \t\r\n\"'\\:=")
        harmless = value == MASK or self._rules.harmless_name.search(bare) is not None
        return str(match.group(0)) if harmless else f"{name}{MASK}"


def _mask_leaves(value: JsonValue) -> JsonValue:
    """The shape of what a secret member holds stays visible, and whether it holds anything."""
    if isinstance(value, list):
        return [_mask_leaves(one) for one in value]
    if isinstance(value, dict):
        return {name: _mask_leaves(one) for name, one in value.items()}
    if value is None or isinstance(value, bool) or value == "":
        return value
    return MASK


def _mask_credential(match: re2._Match) -> str:
    escape, found = without_escape(match.group(0))
    return f"://{MASK}@" if found.startswith(_URL_START) else escape + MASK


@cache
def default_masker() -> Masker:
    """By ``config/masking.yaml``."""
    return Masker(masking_rules())


def mask(canonical: bytes) -> bytes:
    """``canonical`` JSON with its secrets masked."""
    return default_masker().mask(canonical)
