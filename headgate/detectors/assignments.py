"""``password = …`` in any of its spellings: configuration, code, JSON, command lines, and sentences."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from regorus import ByteMatch, BytePattern

from headgate.detectors.model import Match
from headgate.detectors.secret_checks import (
    LIKELY,
    NO,
    chosen_password,
    is_credential_of_service,
    opaque_token,
    unmistakable_token,
)
from headgate.detectors.secret_formats import Assignment, SecretFormats, ServiceValue

_REACH_BYTES: Final = 420
_AROUND_VALUE: Final = b" ()[]{}.&"
_SENTENCE_NAME_MIN: Final = 5  # "pass" and "pwd" are words of other sentences too
_IS: Final = r"(?:is|lautet|ist|est|es|è|é|sia)"
_VALUE: Final = (
    r"""(?:[bfruBFRU@$]{0,2}\\*"([^"\\\r\n\x00]{4,256})|[bfruBFRU@$]{0,2}\\*'([^'\\\r\n\x00]{4,256})"""
    r"""|`([^`\r\n\x00]{4,256})|([^\s"'`,;<>\\\x00]{4,256}))"""
)
_REST_OF_NAME: Final = r"([\w.\-]{0,32})\\*"
_TYPE: Final = r"[ \t]*:?[ \t]*[A-Za-z.&*\[\]?<>]{1,24}[ \t]*:?=|"
_SIGN: Final = (
    (
        r"""["'\])]?(?:TYPE[ \t]*(?:=>|->|\?\?=|\|\|=|[?.+]=|:{1,3}=|[:=>])|["'][ \t]*,"""
        r"""|["'][ \t]+value=|[ \t]+IS[ \t]*:?)[ \t]*((?:[|>][+-]?)?[ \t]*\r?\n[ \t]*)?"""
        r"""(?:(?:SecretStr|Secret|String|str|bytes|Some|Buffer\.from|\[\]byte)\()?"""
    )
    .replace("IS", _IS)
    .replace("TYPE", _TYPE)
)
_IN_ARN: Final = BytePattern(rb":[0-9]{12}:")
"""Before the kind of a resource: ``arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders/db``."""
_WORDS: Final = r"((?:[ \t]+[^\s:=\x00]{1,24}){0,6})"

_NAME_BEFORE: Final = BytePattern(rb"[\w-]+$")
_ASSIGNED: Final = BytePattern((_REST_OF_NAME + _SIGN + _VALUE).encode())
_NAME_APART: Final = r"(?:[\w.\-]{0,24}(?:token|key|secret|password|auth)[ \t]+)"
_OF_SERVICE: Final = BytePattern((rf"(?:([ \t\w.\-]{{0,32}})\\*{_SIGN}|{_NAME_APART}){_VALUE}").encode())
_APART: Final = BytePattern((_REST_OF_NAME + r"[ \t]+" + _VALUE).encode())
_IN_SENTENCE: Final = BytePattern((_WORDS + rf"[ \t]*(?::|[ \t]{_IS}[ \t]*:?)[ \t]+([^\s\x00]{{5,128}})").encode())


class AssignedValue(Struct, frozen=True):
    start: int
    end: int
    confidence: float


def assigned_value(
    buffer: bytes, start: int, end: int, assignment: Assignment, formats: SecretFormats
) -> AssignedValue | None:
    """The secret that is assigned to the name at ``start`` to ``end``; None: none is."""
    harmless = formats.harmless_beginnings + (formats.harmless_key_beginnings if assignment.weak else ())
    if start and (
        _is_harmless_beginning(buffer, start, harmless) or _IN_ARN.fullmatch(buffer[max(0, start - 14) : start])
    ):
        return None
    reach = min(len(buffer), end + _REACH_BYTES)
    match = _ASSIGNED.match(buffer, end, reach)
    if match is not None and _is_harmless_name(buffer, start, end + len(match[1]), formats):
        return None
    if match is not None and not (assignment.by_person and (match[2] or b" ")[:1] in b"\r\n"):
        found = _judge(match, range(3, 7), assignment, formats)
        if found is not None:
            return found
    if assignment.weak:
        return None
    match = _APART.match(buffer, end, reach)
    if match is not None and (found := _judge(match, range(2, 6), Assignment(by_person=False), formats)) is not None:
        return found
    if assignment.by_person and end - start >= _SENTENCE_NAME_MIN and _is_word(buffer, start, end):
        match = _IN_SENTENCE.match(buffer, end, reach)
        if match is not None:
            return _judge(match, range(2, 3), assignment, formats)
    return None


def begins_name(buffer: bytes, start: int, end: int) -> bool:
    """Whether a service's name stands there by itself, as in ``MY_OKTA`` and ``myOkta``, not as in ``rookTable``."""
    if start and buffer[start - 1 : start].isalpha() and buffer[start : start + 1].islower():
        return False
    return not (buffer[end - 1 : end].isupper() and buffer[end - 2 : end - 1].islower())


def service_values(
    buffer: bytes, end: int, services: tuple[ServiceValue, ...], formats: SecretFormats
) -> Iterator[Match]:
    """The credentials of a service, whose name ends at ``end``, that are assigned to a name with it."""
    found = _OF_SERVICE.match(buffer, end, min(len(buffer), end + _REACH_BYTES))
    if found is None:
        return
    group = next(one for one in range(3, 7) if found.start(one) >= 0)
    raw = found[group].partition(b"&")[0].strip(_AROUND_VALUE)
    start = found.start(group) + found[group].index(raw)
    if not raw or _has_harmless_ending(found[1] or b"", formats) or formats.allowed.search(raw) is not None:
        return
    for service in services:
        if service.value.fullmatch(raw) is not None and is_credential_of_service(raw.decode(), service.bits):
            yield Match(service.kind, start, start + len(raw), LIKELY)


def _judge(match: ByteMatch, groups: range, assignment: Assignment, formats: SecretFormats) -> AssignedValue | None:
    group = next((one for one in groups if match.start(one) >= 0), None)
    if group is None or _has_harmless_ending(match[1], formats):
        return None
    raw: bytes = match[group]
    value = raw.decode("utf-8", "replace").strip()
    if formats.allowed.search(raw) is not None:
        return None
    check = chosen_password if assignment.by_person else unmistakable_token if assignment.weak else opaque_token
    confidence = check(value, formats.placeholders)
    if confidence == NO:
        return None
    return AssignedValue(match.start(group), match.end(group), confidence)


def _has_harmless_ending(rest: bytes, formats: SecretFormats) -> bool:
    return rest.decode("latin-1").lower().rstrip("_-.").endswith(formats.harmless_endings)


def _is_harmless_name(buffer: bytes, start: int, end: int, formats: SecretFormats) -> bool:
    before = _NAME_BEFORE.search(buffer[max(0, start - 32) : start])
    name = (before[0] if before is not None else b"") + buffer[start:end]
    return name.decode("latin-1").lower().replace("_", "").replace("-", "") in formats.harmless_names


def _is_harmless_beginning(buffer: bytes, start: int, harmless: tuple[str, ...]) -> bool:
    before = buffer[max(0, start - 16) : start].decode("latin-1").lower()
    if not before[-1:].isalnum() and before[-1:] not in ("_", "-"):
        return False
    return before.rstrip("_-").endswith(harmless)


def _is_word(buffer: bytes, start: int, end: int) -> bool:
    return not buffer[max(0, start - 1) : start].isalnum() and not buffer[end : end + 1].isalnum()
