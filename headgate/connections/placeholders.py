"""Placeholders that an agent sends where a secret belongs, found wherever they stand and however they are written.

One that stands literally in the place that its connection names is replaced. Everything else (in another place, in
percent-encoding, JSON escapes, a content coding, in the base64 of another scheme) is found in what the gate has decoded
for the policies, and refused: what a server decodes must not pass as something else before it.
"""

import base64
import binascii
import re
from typing import Final

from msgspec import Struct

from headgate.connections.model import PLACEHOLDER
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.protocols.draft import ActionDraft, ReadCall
from headgate.protocols.headers import without_secrets
from headgate.protocols.http_call import HttpCall

_MARK: Final = PLACEHOLDER.encode()
_TEXT: Final = re.compile(PLACEHOLDER + "[a-z][a-z0-9_]{0,63}")
_BYTES: Final = re.compile(_TEXT.pattern.encode())
_BASIC: Final = b"basic "


class Found(Struct, frozen=True):
    """``names`` of the connections, without the prefix, in all that was read; ``literal``: how many placeholders stand
    in the call and in its message as they are, those in the base64 of basic authentication included. The others count
    what the gate has decoded: the headers, where they are not masked, the address, and the parameters without the
    headers that some tools repeat there."""

    names: frozenset[str]
    literal: int
    in_headers: int
    in_address: int
    in_parameters: int


def mentions_placeholder(draft: ActionDraft) -> bool:
    """The quick look that every call gets: some searches for a few bytes."""
    read_call = draft.read_call
    if read_call is None:
        return False
    if _MARK in draft.params_bytes or _MARK in read_call.shown or _MARK in (draft.message or b""):
        return True
    call = read_call.call
    if _MARK in call.body or PLACEHOLDER in call.path or PLACEHOLDER in call.query:
        return True
    for name, value in call.headers:
        if _MARK in value or (len(name) == 13 and _MARK in _decoded_basic(name, value)):
            return True
    return False


def find_placeholders(draft: ActionDraft) -> Found:
    """All that there are. A mention that no name follows is text, and nothing to fill."""
    read_call = draft.read_call
    if read_call is None:
        return Found(frozenset(), 0, 0, 0, 0)
    call = read_call.call
    pieces = [*_literal_pieces(call), draft.message or b""]
    literal = [found for piece in pieces for found in _BYTES.findall(piece)]
    parameters, head = _BYTES.findall(_parameters_without_headers(draft, read_call)), _BYTES.findall(read_call.shown)
    headers = _BYTES.findall(_shown_headers(read_call))
    return Found(
        frozenset(one.decode().removeprefix(PLACEHOLDER) for one in [*literal, *parameters, *head]),
        literal=len(literal),
        in_headers=len(headers),
        in_address=len(head) - len(headers),
        in_parameters=len(parameters),
    )


def _parameters_without_headers(draft: ActionDraft, read_call: ReadCall) -> bytes:
    """A member "headers" of a body is not what is left out: only the headers themselves are."""
    if draft.params.get("headers") != without_secrets(read_call.covered_headers):
        return draft.params_bytes
    return canonical_bytes({name: value for name, value in draft.params.items() if name != "headers"})


def _shown_headers(read_call: ReadCall) -> bytes:
    shown = parse_strict(read_call.shown)
    if not isinstance(shown, dict):
        raise TypeError("a call is shown as an object")
    return canonical_bytes(shown["headers"])


def _literal_pieces(call: HttpCall) -> list[bytes]:
    pieces = [call.path.encode(), call.query.encode(), call.body]
    for name, value in call.headers:
        pieces += [value, _decoded_basic(name, value)]
    return pieces


def decoded_basic(value: bytes) -> bytes:
    """``user:password`` of a Basic credential (RFC 7617); empty where it is none."""
    if value[:6].lower() != _BASIC:
        return b""
    try:
        return base64.b64decode(value[6:].strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _decoded_basic(name: bytes, value: bytes) -> bytes:
    return decoded_basic(value) if name.lower() == b"authorization" else b""
