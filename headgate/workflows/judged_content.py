"""What of an action is judged by NLP policies: everything that would be sent, read as far as it can be read.

A catalogue names some fields of a call; the others are sent too, so the body itself is judged and not only the
params. What has no readable form (a picture, a nested coding) is said: nothing found in it proves nothing.
"""

from dataclasses import dataclass
from typing import Final

from headgate.detectors.encodings import as_text
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.protocols import content_coding
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall

_DECODED_BYTES_MAX: Final = 1024 * 1024
_GENERIC_MEMBERS: Final = frozenset(("scheme", "host", "headers"))
_EMPTY: Final = b"{}"


@dataclass(frozen=True, slots=True)
class JudgedContent:
    """``unread``: what could not be read, in words; None: everything was."""

    value: JsonObject
    unread: str | None


def judged_content(draft: ActionDraft) -> JudgedContent:
    value: JsonObject = {"tool": draft.tool, "operation": draft.operation}
    for name, piece in (("context", draft.context), ("delegation", draft.delegation)):
        if piece != _EMPTY:
            value[name] = parse_strict(piece)
    if draft.read_call is None:
        value["params"] = draft.params
        return JudgedContent(value, None)
    value["http"] = parse_strict(draft.read_call.shown)
    if not draft.params.keys() >= _GENERIC_MEMBERS:  # those of a generic call are the call itself, said once above
        value["params"] = draft.params
    body, unread = _body(draft.read_call.call)
    if body is not None:
        value["body"] = body
    return JudgedContent(value, unread)


def _body(call: HttpCall) -> tuple[JsonValue, str | None]:
    """The body as JSON or text, or why it is neither."""
    if not call.body:
        return None, None
    coding = ",".join(
        value.decode("latin-1").strip().lower() for name, value in call.headers if name.lower() == b"content-encoding"
    )
    if not content_coding.is_readable(coding):
        return None, "the body's content coding is unknown"
    try:
        decoded = content_coding.decode(call.body, coding, max_bytes=_DECODED_BYTES_MAX)
    except (AmbiguousRequestError, PayloadTooLargeError) as error:
        return None, error.message
    text = as_text(decoded)
    if text is None:
        return None, "the body is not text"
    try:
        return parse_strict(decoded), None
    except ValidationError:
        return text, None
