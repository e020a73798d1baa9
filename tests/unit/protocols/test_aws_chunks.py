"""The chunks of S3's uploads: as SDKs send them, and otherwise refused."""

import io
import struct
from zlib import crc32

import pytest
from botocore.httpchecksum import AwsChunkedWrapper, Crc32Checksum

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.aws_chunks import CHUNKS_MAX, JoinedChunks, joined_chunks
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

_UNSIGNED = (b"X-Amz-Content-SHA256", b"STREAMING-UNSIGNED-PAYLOAD-TRAILER")
_CODED = (b"Content-Encoding", b"aws-chunked")
_SIGNATURE = b"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
_SIGNED = b"".join(
    (
        b"3;chunk-signature=%b\r\nabc\r\n2;chunk-signature=%b\r\nde\r\n" % (_SIGNATURE, _SIGNATURE),
        b"0;chunk-signature=%b\r\n" % _SIGNATURE,
    )
)


def test_what_boto_sends() -> None:
    wrapper = AwsChunkedWrapper(io.BytesIO(b"abcde"), Crc32Checksum, "x-amz-checksum-crc32", chunk_size=2)
    joined = joined_chunks([_UNSIGNED, _CODED, (b"X-Amz-Decoded-Content-Length", b"5")], wrapper.read())
    assert joined == JoinedChunks(b"abcde", "", (("x-amz-checksum-crc32", "hYfYZQ=="),))


@pytest.mark.parametrize(
    ("end", "trailers"),
    [
        (b"\r\n", ()),
        (b"", ()),
        (
            b"x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:a1\r\n\r\n",
            (("x-amz-checksum-crc32c", "sOO8/Q=="), ("x-amz-trailer-signature", "a1")),
        ),
        (b"x-amz-checksum-crc32c:sOO8/Q==\n\r\n", (("x-amz-checksum-crc32c", "sOO8/Q=="),)),
    ],
    ids=["no trailer", "no last line", "a signed trailer", "a trailer as AWS shows it"],
)
def test_signed_chunks(end: bytes, trailers: tuple[tuple[str, str], ...]) -> None:
    field = (b"x-amz-content-sha256", b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
    assert joined_chunks([field], _SIGNED + end) == JoinedChunks(b"abcde", "", trailers)


@pytest.mark.parametrize(
    ("fields", "coding"),
    [
        ([_UNSIGNED], ""),
        ([_CODED], ""),
        ([(b"content-encoding", b"gzip, AWS-Chunked")], "gzip"),
        ([(b"content-encoding", b"aws-chunked,gzip")], "gzip"),
        ([(b"content-encoding", b"gzip"), _UNSIGNED], "gzip"),
        ([(b"content-encoding", b"aws-chunked,aws-chunked")], "aws-chunked"),
    ],
)
def test_the_coding_beneath(fields: list[tuple[bytes, bytes]], coding: str) -> None:
    assert joined_chunks(fields, b"1\r\na\r\n0\r\n\r\n") == JoinedChunks(b"a", coding, ())


@pytest.mark.parametrize(
    "fields", [[], [(b"x-amz-content-sha256", b"UNSIGNED-PAYLOAD")], [(b"content-encoding", b"gzip")]]
)
def test_other_bodies_are_left(fields: list[tuple[bytes, bytes]]) -> None:
    assert joined_chunks(fields, b"1\r\na\r\n0\r\n\r\n") is None
    assert joined_chunks([_UNSIGNED], b"") is None


_EVENTS = (b"X-Amz-Content-SHA256", b"STREAMING-AWS4-HMAC-SHA256-EVENTS")
_EVENT_STREAM = (b"Content-Type", b"application/vnd.amazon.eventstream")
_PRELUDE = struct.pack(">II", 21, 0)
_PRELUDE += struct.pack(">I", crc32(_PRELUDE))
_FRAME = _PRELUDE + b"audio" + struct.pack(">I", crc32(_PRELUDE + b"audio"))


def test_a_stream_of_events_is_not_in_chunks() -> None:
    """As Transcribe, Lex and Bedrock's bidirectional streams are sent."""
    assert joined_chunks([_EVENTS, _EVENT_STREAM], _FRAME) is None
    host = "transcribestreaming.us-east-1.amazonaws.com"
    call = HttpCall("POST", "https", host, 443, "/stream-transcription", "", (_EVENTS, _EVENT_STREAM), _FRAME)
    draft = interpret(call, CatalogueIndex([]))
    assert draft.read_call is not None
    shown = parse_strict(draft.read_call.shown)
    assert isinstance(shown, dict)
    assert shown["body_kind"] == "opaque"


@pytest.mark.parametrize(
    "fields",
    [
        [_EVENTS],
        [_EVENTS, (b"content-type", b"application/octet-stream")],
        [_EVENTS, _EVENT_STREAM, (b"content-type", b"text/plain")],
        [_EVENTS, _EVENT_STREAM, _CODED],
        [_EVENTS, _EVENT_STREAM, _UNSIGNED],
        [_UNSIGNED, _EVENT_STREAM],
        [_CODED, _EVENT_STREAM],
    ],
)
def test_events_under_another_label_or_also_named_as_chunks_are_refused(fields: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(AmbiguousRequestError, match="not in the chunks"):
        joined_chunks(fields, _FRAME)


_MALFORMED = [
    b"abc",
    b"1\r\na\r\n",
    b"1\na\n0\n\n",
    b"2\r\na\r\n0\r\n\r\n",
    b"1\r\nab\r\n0\r\n\r\n",
    b"1;x=y\r\na\r\n0\r\n\r\n",
    b"0x1\r\na\r\n0\r\n\r\n",
    b"-1\r\na\r\n0\r\n\r\n",
    b" 1\r\na\r\n0\r\n\r\n",
    b"fffffffffffff\r\na\r\n0\r\n\r\n",
    b"1\r\na\r\n0\r\n\r\nmore",
    b"1\r\na\r\n0\r\nno field\r\n\r\n",
    b"1\r\na\r\n0\r\n\r\n1\r\nb\r\n0\r\n\r\n",
    b"1\r\na\r\n0\r\n" + b"a:b\r\n" * 17 + b"\r\n",
    b"1\r\na\r\n" * (CHUNKS_MAX + 1) + b"0\r\n\r\n",
]


@pytest.mark.parametrize("body", _MALFORMED)
def test_a_body_that_is_not_in_its_chunks_is_refused(body: bytes) -> None:
    call = HttpCall("PUT", "https", "objects.example", 443, "/bucket/key", "", (_UNSIGNED,), body)
    with pytest.raises(AmbiguousRequestError, match="not in the chunks"):
        interpret(call, CatalogueIndex([]))


def test_a_length_that_is_not_the_one_of_the_chunks_is_refused() -> None:
    with pytest.raises(AmbiguousRequestError, match="as long as"):
        joined_chunks([_UNSIGNED, (b"x-amz-decoded-content-length", b"2")], b"1\r\na\r\n0\r\n\r\n")
