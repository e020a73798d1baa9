"""A body in which some characters are replaced by what they were: ``[masked: payment_card]``.

Only in text and JSON (RFC 8259) that stands there as it is, in UTF-8, and that nobody has signed or digested.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from regorus import as_text

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.policies.model import FoundText

type _Path = tuple[str | int, ...]
type _Fields = Iterable[tuple[bytes, bytes]]

_BODY: Final = "body"
_LARGE_BYTES: Final = 4 << 10
_WIDEST_CHARACTER: Final = 4
_PLACE_BYTES: Final = 352
"""Of memory, for each value of JSON with its path and its place."""
_CHARSETS: Final = frozenset(("", "utf-8", "utf8", "us-ascii"))
_SIGNED_NAME: Final = re.compile(rb"signature|digest|sha-?(?:1|256|512)|md5|hmac|checksum|\bcrc", re.IGNORECASE)
_SIGNED_SCHEME: Final = re.compile(
    rb"\s*(?:AWS|Signature|HMAC|Digest|OAuth\b|Hawk|DPoP|SharedKey|.*-HMAC)", re.IGNORECASE
)
_SIGNED_QUERY: Final = re.compile(r"sign|hmac|[&?]?(?:^|&)sig=", re.IGNORECASE)
_LOOKS_LIKE_JSON: Final = re.compile(r"\s*[\[{]")
"""Lines of JSON, or a document that is not strict: in place of a number a bare text would break it."""
_KIND: Final = re.compile(r"[a-z0-9_]{1,64}")
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")|([^\s\[\]{},:"]+)|([\[\]{},:])')
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.S
)


class MaskedBody(Struct, frozen=True):
    """``count``: how many stretches were replaced; ``kinds``: of what, each once."""

    body: bytes
    count: int
    kinds: tuple[str, ...]


def weight_of_masking(body: bytes, found: Sequence[FoundText]) -> int:
    """Bytes of memory, about, that making a ``MaskedBody`` takes: the text before and after (one wide character makes
    all of it wide), the places and values of JSON, and the masked bytes."""
    width = 1 if body.isascii() else _WIDEST_CHARACTER
    added = sum(len(_mask(one.kind)) for one in found)
    return 2 * width * (len(body) + added) + len(body) + added + _PLACE_BYTES * body.count(b",")


class _Stretch(NamedTuple):
    start: int
    end: int
    kind: str


async def masked_in_time(fields: _Fields, query: str, body: bytes, found: Sequence[FoundText]) -> MaskedBody | None:
    """``masked_body``, in a thread where it would hold up everybody else for longer than a thread costs."""
    if len(body) <= _LARGE_BYTES:
        return masked_body(fields, query, body, found)
    return await asyncio.to_thread(masked_body, fields, query, body, found)


def masked_body(fields: _Fields, query: str, body: bytes, found: Sequence[FoundText]) -> MaskedBody | None:
    """None: it cannot be replaced, or nothing of ``found`` stands in the body. ``fields``: those of the head, trailers
    too. That all of it is gone is for the caller to look at."""
    text = replaceable_text(fields, query, body, _is_plain)
    in_body = [replace(one, path=one.path[1:]) for one in found if one.path[:1] == (_BODY,)]
    return None if text is None or not in_body else masked_text(text, in_body)


def masked_text(text: str, found: Sequence[FoundText]) -> MaskedBody | None:
    """As ``masked_body``, of a text or a JSON document; the paths of ``found`` are within it."""
    by_path = _merged(found)
    try:
        parse_strict(text.encode())
    except ValidationError:
        replaced = None if _LOOKS_LIKE_JSON.match(text) else _in_text(text, by_path)
    else:
        replaced = _in_json(text, by_path)
    if replaced is None:
        return None
    stretches = [one for each in by_path.values() for one in each]
    return MaskedBody(replaced.encode(), len(stretches), tuple(sorted({one.kind for one in stretches})))


def replaceable_text(fields: _Fields, query: str, body: bytes, is_read: Callable[[str], bool]) -> str | None:
    """None: somebody has signed or digested it, or it is in a coding, or of no type that ``is_read``."""
    if _SIGNED_QUERY.search(query) is not None:
        return None
    for name, value in fields:
        lowered = name.lower()
        if _SIGNED_NAME.search(lowered) is not None or lowered in (b"content-range", b"trailer", b"x-amz-date"):
            return None
        if lowered in (b"authorization", b"proxy-authorization") and _SIGNED_SCHEME.match(value) is not None:
            return None
        is_coding = lowered in (b"content-encoding", b"grpc-encoding", b"connect-content-encoding")
        if is_coding and value.strip().lower() not in (b"", b"identity"):
            return None
        if lowered == b"content-type" and not is_read(value.decode("latin-1")):
            return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if as_text(body) == text else None


def is_utf_8(content_type: str) -> bool:
    """Whether its texts are in UTF-8, as far as it says."""
    parameter = re.search(r"charset\s*=\s*\"?([^\s;\"]*)", content_type, re.IGNORECASE)
    return parameter is None or parameter[1].lower() in _CHARSETS


def _is_plain(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    structured = media.startswith(("multipart/", "application/grpc", "application/x-www-form-urlencoded", "message/"))
    return not structured and "stream" not in media and is_utf_8(content_type)


def _merged(found: Iterable[FoundText]) -> dict[_Path, list[_Stretch]]:
    """By the path, in order, without overlaps: what overlaps is one stretch, of the first's kind."""
    merged: dict[_Path, list[_Stretch]] = {}
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        stretches = merged.setdefault(one.path, [])
        kind = one.kind if _KIND.fullmatch(one.kind) is not None else "finding"
        if stretches and one.start < stretches[-1].end:
            last = stretches[-1]
            stretches[-1] = _Stretch(last.start, max(last.end, one.end), last.kind)
        else:
            stretches.append(_Stretch(one.start, one.end, kind))
    return merged


def _in_text(text: str, by_path: Mapping[_Path, Sequence[_Stretch]]) -> str | None:
    if set(by_path) != {()}:
        return None
    return _replaced(text, by_path[()])


def _in_json(text: str, by_path: Mapping[_Path, Sequence[_Stretch]]) -> str | None:
    """In the text of the document, of which all else stays as it is, byte by byte."""
    leaves = dict(_leaves(text))
    pieces: list[str] = []
    done = 0
    for (start, end), stretches in sorted((leaves[path], each) for path, each in by_path.items() if path in leaves):
        pieces += (text[done:start], _replaced_leaf(text[start:end], stretches))
        done = end
    if not set(by_path) <= set(leaves):
        return None
    replaced = "".join((*pieces, text[done:]))
    try:
        parse_strict(replaced.encode())
    except ValidationError:
        return None
    return replaced


def _replaced_leaf(literal: str, stretches: Sequence[_Stretch]) -> str:
    if not literal.startswith('"'):  # a number: a text is in its place
        return f'"{_mask(stretches[0].kind)}"'
    inside = literal[1:-1]
    if "\\" not in inside:
        return f'"{_replaced(inside, stretches)}"'
    at = [one.start() for one in _CHARACTER.finditer(inside)] + [len(inside)]
    most = len(at) - 1
    raw = [_Stretch(at[min(one.start, most)], at[min(one.end, most)], one.kind) for one in stretches]
    return f'"{_replaced(inside, raw)}"'


def _replaced(text: str, stretches: Sequence[_Stretch]) -> str:
    pieces: list[str] = []
    done = 0
    for one in stretches:
        pieces += (text[done : one.start], _mask(one.kind))
        done = one.end
    return "".join((*pieces, text[done:]))


def _mask(kind: str) -> str:
    return f"[masked: {kind}]"


def _leaves(text: str) -> Iterator[tuple[_Path, tuple[int, int]]]:
    """Where each value stands that is no object and no list, of a text that is JSON."""
    path: list[str | int] = []
    is_name = False
    for token in _TOKEN.finditer(text):
        sign = token[3]
        if sign is None:
            if is_name:
                path[-1] = json.loads(token[0])
            else:
                yield tuple(path), token.span()
        elif sign in "{[":
            path.append("" if sign == "{" else 0)
            is_name = sign == "{"
        elif sign in "}]":
            path.pop()
            is_name = False
        elif sign == ":":
            is_name = False
        else:
            last = path[-1]
            is_name = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
