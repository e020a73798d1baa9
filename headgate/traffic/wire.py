"""A captured exchange as bytes and back: a canonical JSON head, then both bodies as they are.

In the path of requests: the head is a list by position, and bodies are not copied into JSON.
"""

import struct
from datetime import UTC, datetime
from typing import Any, Final, cast

from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import HeadgateError
from headgate.traffic.model import Captured, CaptureLevel, HeaderFields, Message

_SIZES: Final = struct.Struct(">III")


def encode_captured(captured: Captured) -> bytes:
    """Raises ValidationError where a text of it cannot be JSON."""
    request, response = captured.request, captured.response
    head = canonical_bytes(
        [
            captured.exchange_id,
            captured.org_id,
            captured.agent_id,
            captured.action_id,
            captured.tool,
            captured.operation,
            captured.decision,
            captured.level.value,
            captured.created_at.isoformat(),
            captured.method,
            captured.scheme,
            captured.host,
            captured.port,
            captured.path,
            captured.status,
            captured.reason,
            captured.error,
            _message(request),
            None if response is None else _message(response),
        ]
    )
    sent = request.body or b""
    answered = b"" if response is None else response.body or b""
    return b"".join((_SIZES.pack(len(head), len(sent), len(answered)), head, sent, answered))


def decode_captured(data: bytes) -> Captured:
    """Raises ValueError for what ``encode_captured`` did not make."""
    try:
        head_size, sent_size, answered_size = _SIZES.unpack_from(data)
        start = _SIZES.size + head_size
        head = cast("list[Any]", parse_strict(data[_SIZES.size : start]))
        sent = data[start : start + sent_size]
        answered = data[start + sent_size : start + sent_size + answered_size]
        *names, level, created_at, method, scheme, host, port, path, status, reason, error, request, response = head
        exchange_id, org_id, agent_id, action_id, tool, operation, decision = names
        return Captured(
            exchange_id, org_id, agent_id, action_id, tool, operation, decision, CaptureLevel(level),
            datetime.fromisoformat(created_at).astimezone(UTC), method, scheme, host, port, path,
            _read_message(request, sent), status, reason,
            None if response is None else _read_message(response, answered), error,
        )  # fmt: skip
    except (struct.error, TypeError, HeadgateError) as error:
        raise ValueError("not a captured exchange") from error


def _message(message: Message) -> JsonValue:
    # ISO 8859-1 loses nothing of a field (RFC 9110, section 5.5).
    fields: list[JsonValue] = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in message.headers]
    return [
        message.body is not None,
        message.size_bytes,
        message.version,
        message.started_at,
        message.ended_at,
        fields,
    ]


def _read_message(head: list[Any], body: bytes) -> Message:
    has_body, size_bytes, version, started_at, ended_at, fields = head
    headers: HeaderFields = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in fields)
    return Message(headers, body if has_body else None, size_bytes, version, started_at, ended_at)
