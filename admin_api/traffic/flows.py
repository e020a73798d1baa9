"""A captured exchange as mitmproxy's own flow, for its filters, views and exports. Only loaded in the child process.

Bodies are as they were stored: masked, and without their content coding; so that no reader decodes again, the header
that named it is called ``x-headgate-decoded-from``, and the length is that of what is there. Everything that tells what
was done with it stands in the flow's metadata and its comment.
"""

from typing import Any, Final

from mitmproxy.connection import Client, Server
from mitmproxy.flow import Error
from mitmproxy.http import Headers, HTTPFlow, Request, Response

_CODING: Final = "content-encoding"
_DECODED_FROM: Final = "x-headgate-decoded-from"
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})


def flow_of(exchange: dict[str, Any]) -> HTTPFlow:
    """``exchange``: ``{"columns": …, "document": …}``, both as JSON."""
    columns, document = exchange["columns"], exchange["document"]
    client = Client(peername=("", 0), sockname=("", 0), timestamp_start=columns["created"])
    server = Server(address=(columns["host"], columns["port"]))
    server.timestamp_start = None
    flow = HTTPFlow(client, server)
    flow.id = columns["id"]
    flow.timestamp_created = columns["created"]
    flow.request = _request(document["request"], columns["created"])
    if document["response"] is not None:
        flow.response = _response(document["response"], columns["created"])
        if document["request"]["method"] == "HEAD":
            _keep_length(flow.response, document["response"])
    if document["error"] is not None:
        flow.error = Error(document["error"], columns["created"])
    told = ("action_id", "agent_id", "tool", "operation", "decision", "level")
    flow.metadata = {f"headgate_{name}": columns[name] or "" for name in told}
    flow.comment = _comment(columns)
    return flow


def _request(message: dict[str, Any], created: float) -> Request:
    target = message["path"] + (f"?{message['query']}" if message["query"] else "")
    content = (message["body"] or "").encode()
    return Request(
        host=message["host"],
        port=message["port"],
        method=message["method"].encode("latin-1", "replace"),
        scheme=message["scheme"].encode("latin-1", "replace"),
        authority=b"",
        path=target.encode("utf-8", "replace"),
        http_version=message["version"].encode("latin-1", "replace"),
        headers=_headers(message, content),
        content=content,
        trailers=None,
        timestamp_start=message["started_at"] or created,
        timestamp_end=message["ended_at"] or message["started_at"] or created,
    )


def _response(message: dict[str, Any], created: float) -> Response:
    content = (message["body"] or "").encode()
    return Response(
        http_version=message["version"].encode("latin-1", "replace"),
        status_code=message["status"] or 0,
        reason=message["reason"].encode("latin-1", "replace"),
        headers=_headers(message, content),
        content=content,
        trailers=None,
        timestamp_start=message["started_at"] or created,
        timestamp_end=message["ended_at"] or message["started_at"] or created,
    )


def _keep_length(response: Response, message: dict[str, Any]) -> None:
    """To HEAD the length is what was asked for (RFC 9110, section 9.3.2), not that of a body."""
    for name, value in message["headers"]:
        if name.lower() == "content-length":
            response.headers["content-length"] = value


def _headers(message: dict[str, Any], content: bytes) -> Headers:
    fields: list[tuple[bytes, bytes]] = []
    for name, value in message["headers"]:
        lower = name.lower()
        if lower in _LENGTHS:
            continue
        if lower == _CODING and message["decoded_from"] is not None:
            fields.append((_DECODED_FROM.encode(), value.encode("utf-8", "replace")))
        elif lower == "content-type" and message["body"] is not None:
            fields.append((name.encode("utf-8", "replace"), _in_utf8(value).encode("utf-8", "replace")))
        else:
            fields.append((name.encode("utf-8", "replace"), value.encode("utf-8", "replace")))
    fields.append((b"content-length", b"%d" % len(content)))
    return Headers(fields)


def _in_utf8(content_type: str) -> str:
    """The text is kept as UTF-8, whatever it came in."""
    kept = [part for part in content_type.split(";") if not part.strip().lower().startswith("charset")]
    named = ";".join(kept)
    return f"{named}; charset=utf-8" if len(kept) < content_type.count(";") + 1 else named


def _comment(columns: dict[str, Any]) -> str:
    lines = [f"{columns['decision']}: {columns['tool']}.{columns['operation']} by {columns['agent_id']}"]
    lines += [f"masked: {where}, {found['places']} places" for where, found in sorted(columns["masking"].items())]
    lines += [f"not captured: {where}: {why}" for where, why in sorted(columns["omitted"].items())]
    return "\n".join(lines)
