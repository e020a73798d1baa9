"""A refused request as the record describes it: its destination, and the reason of the refusal.

The request may be refused because it cannot be read, so the record trusts none of its content. It keeps a short, masked
form without the values of the query.
"""

from typing import Final

from mitmproxy.http import RequestData

from headgate.actions.masking import mask
from headgate.audit.count_refusals import RefusedCall
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import HeadgateError

_METHOD_MAX: Final = 32
_HOST_MAX: Final = 253
_PATH_MAX: Final = 256
_NAMES_MAX: Final = 10
_NAME_MAX: Final = 64
_REASON_MAX: Final = 300
_READ_MAX: Final = 4096
"""Bytes of a target. Masked first and cut then: half of a secret has no form."""


def refused_call(data: RequestData, error: HeadgateError) -> RefusedCall:
    method = _text(data.method[:_METHOD_MAX])
    if data.method == b"CONNECT":
        return _named(method, data.host, data.port, None, [], error.message)
    path, _, query = data.path[:_READ_MAX].partition(b"?")
    names = [_text(name) for name, is_pair, _ in (one.partition(b"=") for one in query.split(b"&")) if is_pair]
    kept: list[JsonValue] = list(dict.fromkeys(names[: 4 * _NAMES_MAX]))
    return _named(method, data.host, data.port, _text(path.partition(b"#")[0]), kept, error.message)


def refused_tunnel(host: str, port: int, reason: str) -> RefusedCall:
    """Names a tunnel that was opened and carried no request."""
    return _named("CONNECT", host, port, None, [], reason)


def _named(method: str, host: str, port: int, path: str | None, query: list[JsonValue], reason: str) -> RefusedCall:
    value: JsonObject = {
        "host": _text(host[:_READ_MAX].encode("utf-8", "backslashreplace")),
        "path": path or "",
        "query": query,
        "reason": _text(reason.encode("utf-8", "backslashreplace")),
    }
    masked = parse_strict(mask(canonical_bytes(value)))
    if not isinstance(masked, dict):
        raise TypeError("masking leaves an object one")
    shown = masked["query"] if isinstance(masked["query"], list) else []
    return RefusedCall(
        method,
        str(masked["host"])[:_HOST_MAX],
        port,
        None if path is None else str(masked["path"])[:_PATH_MAX],
        tuple(str(name)[:_NAME_MAX] for name in shown[:_NAMES_MAX]),
        str(masked["reason"])[:_REASON_MAX],
    )


def _text(raw: bytes) -> str:
    """As JSON and the database can hold it."""
    return raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
