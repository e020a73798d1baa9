"""A captured exchange as it may be kept: heads and bodies masked, and what was masked or left out said. Pure.

The document is what is sealed and shown; ``target`` and ``error`` are the two texts of it that stand beside, for lists.
"""

from collections import Counter
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.secrets import MASK
from headgate.protocols.headers import header_lists
from headgate.traffic.mask_body import MaskedBody, mask_body, mask_pairs, mask_value
from headgate.traffic.model import Captured, CaptureLevel, HeaderFields, Message

TARGET_MAX: Final = 2_000
ERROR_MAX: Final = 500
_HEADS_ONLY: Final = "heads only"
_NO_MASKED_COPY: Final = "a content policy masks it, and no masked copy was kept"
_ALWAYS_SECRET: Final = frozenset({"set-cookie", "cookie", "authorization", "proxy-authorization", "x-agent-key"})


class MaskedExchange(Struct, frozen=True):
    """``masking``: ``{where: {"places": n, "kinds": {…}}}``. ``omitted``: ``{where: why}``."""

    document: JsonObject
    target: str
    error: str | None
    masking: JsonObject
    omitted: JsonObject


def mask_exchange(captured: Captured) -> MaskedExchange:
    """Raises NotMaskedError where the heads cannot be looked at wholly."""
    masking: JsonObject = {}
    omitted: JsonObject = {}
    target, error = _mask_texts(captured, masking)
    path, _, query = target.partition("?")
    request: JsonObject = {
        "method": captured.method,
        "scheme": captured.scheme,
        "host": captured.host,
        "port": captured.port,
        "path": path,
        "query": query,
        **_message("request", captured.request, captured.level, masking, omitted),
    }
    response: JsonObject | None = None
    if captured.response is not None:
        response = {
            "status": captured.status,
            "reason": captured.reason[:200],
            **_message("response", captured.response, captured.level, masking, omitted),
        }
    document: JsonObject = {"v": 1, "request": request, "response": response, "error": error}
    return MaskedExchange(document, target[:TARGET_MAX], error, masking, omitted)


def _mask_texts(captured: Captured, masking: JsonObject) -> tuple[str, str | None]:
    path, mark, query = captured.path.partition("?")
    given = [f"{path}{mark}{mask_pairs(query)}", (captured.error or "")[:ERROR_MAX]]
    # The database takes no NUL.
    target, kinds = _masked_text(given[0].replace("\0", "%00"))
    error, _ = _masked_text(given[1].replace("\0", "\\x00"))
    _note(masking, "request.target", target.count(MASK), kinds)
    return target, error if captured.error is not None else None


def _masked_text(text: str) -> tuple[str, Counter[str]]:
    value, kinds = mask_value(text)
    return str(value), kinds


def _message(where: str, message: Message, level: CaptureLevel, masking: JsonObject, omitted: JsonObject) -> JsonObject:
    headers = _mask_headers(where, message.headers, masking)
    body = _body(message, level)
    if body.omitted is not None:
        omitted[f"{where}.body"] = body.omitted
    elif not body.is_whole:
        omitted[f"{where}.body"] = "only its beginning"
    _note(masking, f"{where}.body", body.masked, Counter(body.kinds))
    return {
        "version": message.version,
        "headers": headers,
        "body": body.text,
        "size_bytes": body.size_bytes,
        "is_whole": body.text is not None and body.is_whole,
        "decoded_from": body.decoded_from,
        "started_at": message.started_at,
        "ended_at": message.ended_at,
    }


def _body(message: Message, level: CaptureLevel) -> MaskedBody:
    if message.body is None:
        if message.size_bytes == 0:
            return MaskedBody("", 0)
        why = _HEADS_ONLY if level is CaptureLevel.HEADS else _NO_MASKED_COPY
        return MaskedBody(None, message.size_bytes, omitted=why)
    named = {name.lower(): value.decode("latin-1") for name, value in message.headers}
    return mask_body(
        message.body,
        message.size_bytes,
        content_type=named.get(b"content-type", ""),
        content_coding=named.get(b"content-encoding", ""),
    )


def _mask_headers(where: str, fields: HeaderFields, masking: JsonObject) -> list[JsonValue]:
    """Values of names that carry credentials are masked whatever they are; of the others what is found in them."""
    secret = header_lists().secret | _ALWAYS_SECRET
    read = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]
    shown: list[JsonValue] = [{name: MASK if name.lower() in secret else value} for name, value in read]
    masked, kinds = mask_value(shown)
    pairs: list[JsonValue] = []
    places = 0
    for one in masked if isinstance(masked, list) else []:
        # A name that is a credential itself is another name afterwards; there is always one.
        name, value = next(iter(one.items())) if isinstance(one, dict) else (MASK, MASK)
        places += str(value).count(MASK) + name.count(MASK)
        pairs.append([name, value])
    _note(masking, f"{where}.headers", places, kinds)
    return pairs


def _note(masking: JsonObject, where: str, places: int, kinds: Counter[str]) -> None:
    if places > 0:
        masking[where] = {"places": places, "kinds": dict(sorted(kinds.items()))}
