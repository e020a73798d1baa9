"""Replaces the body that was decided about with another one."""

from mitmproxy.http import Headers, Message


def replace_body(message: Message, body: bytes) -> None:
    """With its length where the fields say one: they are otherwise those that were decided about."""
    message.data.content = body
    if b"content-length" in message.data.headers:
        message.data.headers[b"content-length"] = str(len(body)).encode()


def leave_length_open(headers: Headers, *, is_http2: bool) -> None:
    """Of an answer whose head goes to the client before the length of the other body is known. A stream that is cut
    ends with a refusal, too, for which a length would have no room. One that ends with its server's connection keeps
    that end: mitmproxy would not close the connection after chunks. ``is_http2``: as the client speaks it, which then
    has frames in place of chunks; ``proxy.http1`` sends none to clients of HTTP/1.0."""
    if headers.pop(b"content-length", None) is not None and not is_http2:
        headers[b"transfer-encoding"] = b"chunked"
