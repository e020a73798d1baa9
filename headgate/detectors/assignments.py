"""``password = …`` in any of its spellings: configuration, code, JSON, command lines, and sentences."""

from dataclasses import dataclass
from typing import Final

import re2

from headgate.detectors.secret_checks import NO, chosen_password, opaque_token
from headgate.detectors.secret_formats import Assignment, SecretFormats

_REACH_BYTES: Final = 420
_SENTENCE_NAME_MIN: Final = 5  # "pass" and "pwd" are words of other sentences too
_IS: Final = r"(?:is|lautet|ist|est|es|è|é|sia)"
_VALUE: Final = (
    r"""(?:\\*"([^"\\\r\n\x00]{4,256})|\\*'([^'\\\r\n\x00]{4,256})"""
    r"""|`([^`\r\n\x00]{4,256})|([^\s"'`,;<>\\\x00]{4,256}))"""
)
_REST_OF_NAME: Final = r"([\w.\-]{0,32})\\*"
_SIGN: Final = r"""["'\])]?(?:[ \t]*(?:=>|:=|[:=>])|["'][ \t]+value=|[ \t]+IS[ \t]*:?)[ \t]*""".replace("IS", _IS)
_WORDS: Final = r"((?:[ \t]+[^\s:=\x00]{1,24}){0,6})"

_ASSIGNED: Final = re2.compile((_REST_OF_NAME + _SIGN + _VALUE).encode())
_APART: Final = re2.compile((_REST_OF_NAME + r"[ \t]+" + _VALUE).encode())
_IN_SENTENCE: Final = re2.compile((_WORDS + rf"[ \t]*(?::|[ \t]{_IS}[ \t]*:?)[ \t]+([^\s\x00]{{5,128}})").encode())


@dataclass(frozen=True, slots=True)
class AssignedValue:
    start: int
    end: int
    confidence: float


def assigned_value(
    buffer: bytes, start: int, end: int, assignment: Assignment, formats: SecretFormats
) -> AssignedValue | None:
    """The secret that is assigned to the name at ``start`` to ``end``; None: none is."""
    if start and _is_harmless_beginning(buffer, start, formats):
        return None
    reach = min(len(buffer), end + _REACH_BYTES)
    match = _ASSIGNED.match(buffer, end, reach)
    if match is not None and (found := _judge(match, range(2, 6), assignment, formats)) is not None:
        return found
    match = _APART.match(buffer, end, reach)
    if match is not None and (found := _judge(match, range(2, 6), Assignment(by_person=False), formats)) is not None:
        return found
    if assignment.by_person and end - start >= _SENTENCE_NAME_MIN and _is_word(buffer, start, end):
        match = _IN_SENTENCE.match(buffer, end, reach)
        if match is not None:
            return _judge(match, range(2, 3), assignment, formats)
    return None


def _judge(match: re2._Match, groups: range, assignment: Assignment, formats: SecretFormats) -> AssignedValue | None:
    group = next((one for one in groups if match.start(one) >= 0), None)
    if group is None or _has_harmless_ending(match[1], formats):
        return None
    raw: bytes = match[group]
    value = raw.decode("utf-8", "replace").strip()
    check = chosen_password if assignment.by_person else opaque_token
    confidence = check(value, formats.placeholders)
    if confidence == NO:
        return None
    return AssignedValue(match.start(group), match.end(group), confidence)


def _has_harmless_ending(rest: bytes, formats: SecretFormats) -> bool:
    return rest.decode("latin-1").lower().rstrip("_-.").endswith(formats.harmless_endings)


def _is_harmless_beginning(buffer: bytes, start: int, formats: SecretFormats) -> bool:
    before = buffer[max(0, start - 16) : start].decode("latin-1").lower()
    if not before[-1:].isalnum() and before[-1:] not in ("_", "-"):
        return False
    return before.rstrip("_-").endswith(formats.harmless_beginnings)


def _is_word(buffer: bytes, start: int, end: int) -> bool:
    return not buffer[max(0, start - 1) : start].isalnum() and not buffer[end : end + 1].isalnum()
