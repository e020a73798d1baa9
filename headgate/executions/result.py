"""What is kept of an answer: status, size, digest, and the body within limits, its secrets masked."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from headgate.actions.masking import mask
from headgate.connections.echoes import EchoMask
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict, sha256_hex
from headgate.kernel.errors import ErrorCode, ValidationError
from headgate.outgoing.model import OutgoingResponse

_JSON: Final = frozenset({"application/json", "text/json"})


def kept_result(response: OutgoingResponse, *, keep: Sequence[str], most_bytes: int) -> JsonObject:
    """``body`` is there where it is JSON or text of at most ``most_bytes``, of JSON only the members ``keep`` (none:
    all); of everything else, and always beside it, the size and the digest. ``truncated``: both are of what was read.
    """
    content_type = response.header("content-type")
    result: JsonObject = {
        "status": response.status,
        "size_bytes": len(response.body),
        "sha256": sha256_hex(response.body),
        "content_type": content_type,
        "duration_ms": round(response.latency_ms, 1),
    }
    if response.is_truncated:
        result["truncated"] = True
    elif response.body:
        is_there, body = _body(response.body, content_type or "", keep, most_bytes)
        if is_there:
            result["body"] = body
    masked = parse_strict(mask(canonical_bytes(result)))
    return masked if isinstance(masked, dict) else result


def without_echoes(response: OutgoingResponse, mask: EchoMask) -> OutgoingResponse:
    """As it came, but for the credential that the call carried. Of an answer in a content coding, which was not asked
    for and is not read, nothing is kept but its size and digest."""
    headers = tuple((name, mask.mask_text(value)) for name, value in response.headers)
    return replace(response, headers=headers, body=mask.mask(response.body))


def withheld_result(response: OutgoingResponse, inspection: JsonObject) -> JsonObject:
    """Of an answer that policies about content do not let through: nothing that its sender has written."""
    return {
        "status": response.status,
        "size_bytes": len(response.body),
        "sha256": sha256_hex(response.body),
        "duration_ms": round(response.latency_ms, 1),
        "note": ErrorCode.RESPONSE_WITHHELD.value,
        "inspection": inspection,
    }


REPORTED_MAX_BYTES: Final = 64 * 1024


def masked_result(reported: JsonValue) -> str | None:
    """What an agent says that its tool answered, secrets masked; large ones by their digest. None: it said nothing."""
    if reported is None:
        return None
    text = canonical_bytes(reported)
    if len(text) > REPORTED_MAX_BYTES:
        return canonical_bytes({"size_bytes": len(text), "sha256": sha256_hex(text)}).decode()
    return mask(text).decode()


def _body(body: bytes, content_type: str, keep: Sequence[str], most_bytes: int) -> tuple[bool, JsonValue]:
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in _JSON or media_type.endswith("+json"):
        try:
            value = parse_strict(body)
        except ValidationError:
            return False, None
        kept = _members(value, keep) if keep else value
        return (True, kept) if len(canonical_bytes(kept)) <= most_bytes else (False, None)
    if media_type.startswith("text/") and len(body) <= most_bytes:
        try:
            return True, body.decode()
        except UnicodeDecodeError:
            return False, None
    return False, None


def _members(value: JsonValue, keep: Sequence[str]) -> JsonValue:
    if isinstance(value, list):
        return [_members(one, keep) for one in value]
    if isinstance(value, dict):
        return {name: value[name] for name in keep if name in value}
    return value
