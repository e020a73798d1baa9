"""Secrets are masked before anything is stored: by the names of members, and by the form of credentials.

The common case holds none: one pass of RE2 over the canonical bytes tells, and only a hit walks the tree. The
walk is bounded, because it runs where requests are decided: ten megabytes of ``password=abcd`` once stopped
every agent's requests for fourteen seconds. What lies beyond the bound is masked as a whole.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import re2

from headgate.actions.markup_secrets import masked_markup
from headgate.actions.masking_rules import MaskingRules, masking_rules
from headgate.configuration.credentials import masked_credential
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.secrets import MASK

WORK_MAX: Final = 10_000
"""Strings that are looked at in one document, a fifth of a second; what is found in them counts too."""

_SAYS_NOTHING: Final = re.compile(r"(?:null|true|false|undefined|None|True|False)[\]})]*")
"""A member's value in JSON, or in code, that is a text here: in one event of a stream, or after a log line."""


_SORTED_LEVELS: Final = 3
"""How deep light members go before heavy ones: the record, its params, and what these hold."""


class _Work:
    """What is left of WORK_MAX, and on how many levels light members go first."""

    __slots__ = ("left", "sorted_levels")

    def __init__(self, value: JsonValue = None) -> None:
        self.left = WORK_MAX
        self.sorted_levels = _SORTED_LEVELS if _weight(value, WORK_MAX) >= WORK_MAX else 0

    def may_go_on(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def ordered(self, members: JsonObject) -> Iterable[tuple[str, JsonValue]]:
        """All members; where not everything can be looked at, what is light comes first: of a call with a body of
        ten thousand members, host, path and headers are read too."""
        if self.sorted_levels <= 0 or len(members) < 2:
            return members.items()
        share = WORK_MAX // len(members) + 1
        return sorted(members.items(), key=lambda member: _weight(member[1], share))


class Masker:
    """Masks by one set of rules. Masking twice is masking once, within WORK_MAX."""

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
        """The same object where there is nothing to mask."""
        return self._mask_value(value, _Work(value)) if self._may_hold_secret(value) else value

    def mask_text(self, text: str) -> str:
        """Credentials and assignments (``password=…``) inside a text, a query string for example."""
        return self._mask_text(text, _Work())

    def _may_hold_secret(self, value: JsonValue) -> bool:
        """By one pass over all texts together: what is found in one of them is found there too, as a line break ends
        words as the end of a text does. One pass for each of a thousand small texts costs twenty times as much. More
        names than the walk looks at are left to it: each is asked by itself, and half a million take a second."""
        names, texts = _names_and_texts(value)
        if len(names) > WORK_MAX:
            return True
        together = "\n".join((*names, *texts))
        rules = self._rules
        return (
            any(map(rules.is_secret_name, names))
            or rules.credential.search(together) is not None
            or rules.assignment.search(together) is not None
            or ("<" in together and any(pattern.search(together) is not None for pattern in rules.markup))
        )

    def _mask_value(self, value: JsonValue, work: _Work) -> JsonValue:
        if isinstance(value, str):
            return self._mask_text(value, work)
        if isinstance(value, list):
            return self._mask_items(value, work)
        if isinstance(value, dict):
            return self._mask_members(value, work)
        return value

    def _mask_text(self, text: str, work: _Work) -> str:
        without_credentials = _substitute(self._rules.credential, masked_credential, text, work)
        masked = _substitute(self._rules.assignment, self._mask_assignment, without_credentials, work)
        if "<" in masked:
            for pattern in self._rules.markup:
                masked = _substitute(pattern, self._mask_markup, masked, work)
        return masked

    def _mask_items(self, items: list[JsonValue], work: _Work) -> list[JsonValue]:
        masked: list[JsonValue] = []
        for item in items:
            if not work.may_go_on():
                return [*masked, MASK]
            masked.append(self._mask_value(item, work))
        return masked

    def _mask_members(self, members: JsonObject, work: _Work, *, of_secret: bool = False) -> JsonObject:
        masked: JsonObject = {}
        namesakes: Counter[str] = Counter()
        ordered = work.ordered(members)
        work.sorted_levels -= 1
        for name, value in ordered:
            base = shown = self._mask_text(name, work)
            if not work.may_go_on():
                return {**masked, MASK: MASK}
            while shown in masked:  # two names that are credentials both; counted, or many of them cost their square
                namesakes[base] += 1
                shown = f"{base} {namesakes[base] + 1}"
            is_secret = of_secret or any(map(self._rules.is_secret_name, {name, base}))
            masked[shown] = self._mask_leaves(value, work) if is_secret else self._mask_value(value, work)
        work.sorted_levels += 1
        return masked

    def _mask_leaves(self, value: JsonValue, work: _Work) -> JsonValue:
        """The shape of what a secret member holds stays visible, and whether it holds anything."""
        if isinstance(value, dict):
            return self._mask_members(value, work, of_secret=True)
        if isinstance(value, list):
            work.left -= len(value)
            return MASK if work.left < 0 else [self._mask_leaves(one, work) for one in value]
        return value if value is None or isinstance(value, bool) or value == "" else MASK

    def _mask_assignment(self, match: re2._Match) -> str:
        name, value = match.group(1), match.group(2)
        bare = name.rstrip(" \t\r\n\"'\\:=")
        harmless = value == MASK or _SAYS_NOTHING.fullmatch(value) or self._rules.harmless_name.search(bare) is not None
        return str(match.group(0)) if harmless else f"{name}{MASK}"

    def _mask_markup(self, match: re2._Match) -> str:
        bare = match.group("value").strip("\"' \t\r\n")
        if bare == MASK or _SAYS_NOTHING.fullmatch(bare) or self._rules.harmless_name.search(match.group("name")):
            return str(match.group(0))
        return masked_markup(match)


def _weight(value: JsonValue, most: int) -> int:
    """How many items and members there are below, counted up to ``most``."""
    count, left = 0, [value]
    while left and count < most:
        one = left.pop()
        if isinstance(one, (list, dict)):
            count += len(one)
            if count < most:
                left.extend(one if isinstance(one, list) else one.values())
    return count


def _names_and_texts(value: JsonValue) -> tuple[set[str], list[str]]:
    """Every member's name, once, and every text."""
    names: set[str] = set()
    texts: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            texts.append(one)
        elif isinstance(one, list):
            left.extend(one)
        elif isinstance(one, dict):
            names.update(one)
            left.extend(one.values())
    return names, texts


def _substitute(pattern: re2._Regexp, replace: Callable[[re2._Match], str], text: str, work: _Work) -> str:
    """``pattern.sub``, but where there is more to replace than ``work`` allows the rest of the text is masked."""
    end = 0

    def replaced(match: re2._Match) -> str:
        nonlocal end
        work.left -= 1
        end = match.end()
        return replace(match)

    if work.left <= 0:
        return MASK
    if pattern.search(text) is None:
        return text
    substituted = str(pattern.sub(replaced, text, work.left))
    return substituted if work.left > 0 else substituted[: len(substituted) - len(text) + end] + MASK


@cache
def default_masker() -> Masker:
    """By ``config/masking.yaml``."""
    return Masker(masking_rules())


def mask(canonical: bytes) -> bytes:
    """``canonical`` JSON with its secrets masked."""
    return default_masker().mask(canonical)
