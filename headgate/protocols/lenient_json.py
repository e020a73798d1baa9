"""Refuses JSON under another label that lenient parsers read, each in its own way, and ``parse_strict`` does not.

Such a body would pass as text. A server that ignores the label would act on members that no policy has read.
"""

import json
from typing import Final

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.member_names import folded
from headgate.protocols.overrides import method_override

_BYTE_ORDER_MARKS: Final = b"\xef\xbb\xbf\xff\xfe"
_SPACE: Final = " \t\r\n\0"
_STARTS: Final = (b"{", b"[")
_DECODER: Final = json.JSONDecoder(parse_int=float)
_CALL: Final = frozenset({"jsonrpc", "method"})
_MESSAGE: Final = _CALL | {"query", "model"}


def refuse_lenient_json(text: bytes, reason: str, *, is_file: bool, is_for_model: bool) -> None:
    """``reason``: why ``parse_strict`` refuses the text. ``is_file``: its label and address are those of files, many of
    which are loose JSON. ``is_for_model``: its address is one of a language model. Text that no common parser reads as
    JSON passes: templates, lines of a log, JSON with comments.

    Raises AmbiguousRequestError: ``text`` is an object or a list that some parsers read, although it has duplicate
    keys, NaN, bytes that are not UTF-8, or too many levels; of a file, only if protocols or frameworks give its
    members a meaning. Or it begins with a call of JSON-RPC or a request to a model, and other data follows: Go's
    ``json.Decoder`` reads the first value, and parsers in C end at a NUL.
    """
    if text.lstrip(_BYTE_ORDER_MARKS + _SPACE.encode())[:1] not in _STARTS:
        return
    try:
        value, is_followed = _first_value(text)
    except RecursionError:
        raise _ambiguous(reason) from None
    except ValueError:
        return
    if is_followed:
        if is_for_model or _names(value) >= _CALL:
            raise AmbiguousRequestError(
                "other data follows the JSON in the body, and some servers read the first value only: send one JSON"
                " value",
                details={"field": "body"},
            )
    elif not is_file or _has_meaning(_names(value)):
        raise _ambiguous(reason)


def _first_value(text: bytes) -> tuple[JsonValue, bool]:
    """The value, and whether data follows it, as a lenient parser reads them: one that detects UTF-8, UTF-16 and
    UTF-32, as Python does (RFC 4627, section 3), and replaces bytes that are not in this encoding, as Go and Node.js
    do. Raises ValueError, RecursionError."""
    characters = text.decode(json.detect_encoding(text), "replace").lstrip(_SPACE)
    value, end = _DECODER.raw_decode(characters)
    return value, bool(characters[end:].strip(" \t\r\n"))


def _names(value: JsonValue) -> set[str]:
    """The folded names of the members of an object, or of all objects in a list: it may hold millions."""
    objects = value if isinstance(value, list) else [value]
    return set(map(folded, {name for one in objects if isinstance(one, dict) for name in one}))


def _has_meaning(names: set[str]) -> bool:
    return not names.isdisjoint(_MESSAGE) or method_override(names) is not None


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the body is JSON under another Content-Type, and parsers read it differently: {reason}",
        details={"field": "body"},
    )
