"""Bodies are read as what they are, or as what the API always reads; never guessed at."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonValue, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError
from headgate.protocols.body import TEXT_BYTES_MAX, BodyKind, BodyReading, read_body

_MULTIPART = "multipart/form-data; boundary=x"
_FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "value"),
    [
        (b"", "application/json", BodyKind.NONE, None),
        (b'{"a":[1]}', "application/json", BodyKind.JSON, {"a": [1]}),
        (b'{"a":1}', "application/vnd.github+json; charset=utf-8", BodyKind.JSON, {"a": 1}),
        (b'{"a":1}', "Application/JSON", BodyKind.JSON, {"a": 1}),
        (b'{"a":1}', None, BodyKind.JSON, {"a": 1}),
        (b"a=1&b=2&a=3", _FORM, BodyKind.FORM, {"a": ["1", "3"], "b": ["2"]}),
        (b'{"a":1}', _FORM, BodyKind.JSON, {"a": 1}),
        (b"hello", "text/plain", BodyKind.TEXT, "hello"),
        ("grün".encode(), "text/plain; charset=UTF-8", BodyKind.TEXT, "grün"),
        (b"<a/>", "application/xml", BodyKind.TEXT, "<a/>"),
        (b"<a/>", "application/atom+xml", BodyKind.TEXT, "<a/>"),
    ],
)
def test_known_types(body: bytes, content_type: str | None, kind: BodyKind, value: JsonValue) -> None:
    read = read_body(body, content_type, None)
    assert (read.kind, read.value) == (kind, value)
    assert read.sha256 == sha256_hex(body)
    assert read.size == len(body)


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "unread"),
    [
        (b"\x00\x01", "application/octet-stream", None, None),
        (b"\x00\x01", None, None, None),
        (b"{not json", None, None, None),
        (b"gr\xfcn", "text/plain; charset=latin-1", None, "charset"),
        (b"gr\xfcn", "text/plain", None, "charset"),
        (b"x" * (TEXT_BYTES_MAX + 1), "text/plain", None, "too_large"),
        (b"{}", "application/json", "compress", "content_encoding"),
        (gzip.compress(bytes(2000), mtime=0), "application/json", "gzip", "too_large"),
    ],
)
def test_the_rest_is_digest_size_and_reason(
    body: bytes, content_type: str | None, encoding: str | None, unread: str | None
) -> None:
    read = read_body(body, content_type, encoding, max_bytes=1000 if encoding == "gzip" else 1 << 20)
    expected: dict[str, JsonValue] = {"sha256": sha256_hex(body), "size": len(body), "content_type": content_type}
    if unread is not None:
        expected["unread"] = unread
    assert (read.kind, read.value) == (BodyKind.OPAQUE, expected)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"a":1,"a":2}', "application/json"),
        (b"{a:1}", "application/json"),
        (b'{"a":NaN}', "application/json"),
        (b'{"amount":1,"x":"&amount=1000"}', _FORM),
        (b"a=%zz", _FORM),
        (b"_method=delete", _FORM),
        (b"a=\xff", _FORM),
        (b"--x", _MULTIPART),
        (b"x", "multipart/form-data"),
        (b'{"a":"+ADE-"}', "application/json; charset=utf-7"),
        ('{"a":"é"}'.encode("latin-1"), "application/json; charset=latin-1"),
        (b'{"a":1}', "application/json, text/plain"),
        (b'\xef\xbb\xbf{"a":1}', "application/json"),
        (b"a=%C3%A9", f"{_FORM}; charset=latin-1"),
        (b"a=1;b=2", _FORM),
        (b"=1", _FORM),
        (b"?a=1", _FORM),
        (b"a=1&%62", _FORM),
        (b'--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--', _MULTIPART),
    ],
)
def test_ambiguous_bodies_are_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(body, content_type, None)


@pytest.mark.parametrize("content_type", [None, "text/plain", _FORM, "application/octet-stream", "multipart/form-data"])
def test_an_api_that_reads_json_is_read_so_whatever_the_label_says(content_type: str | None) -> None:
    read = read_body(b' {"a":"&b=1"}', content_type, None, reading=BodyReading.JSON)
    assert (read.kind, read.value) == (BodyKind.JSON, {"a": "&b=1"})


def test_an_api_that_reads_json_gets_nothing_that_cannot_be_read() -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(b"a=1", _FORM, None, reading=BodyReading.JSON)
    with pytest.raises(PayloadTooLargeError):
        read_body(b"{}", None, "compress", reading=BodyReading.JSON)
    with pytest.raises(PayloadTooLargeError):
        read_body(gzip.compress(bytes(2000)), None, "gzip", reading=BodyReading.JSON, max_bytes=1000)
    assert read_body(b" \r\n", None, None, reading=BodyReading.JSON).kind is BodyKind.NONE


def test_an_upload_is_not_read() -> None:
    read = read_body(b'{"a":1,"a":2}', "application/json", None, reading=BodyReading.RAW)
    assert read.kind is BodyKind.OPAQUE


def test_compressed_json_is_read_and_digested_as_sent() -> None:
    sent = gzip.compress(b'{"a":1}')
    read = read_body(sent, "application/json", "gzip")
    assert (read.value, read.sha256, read.size) == ({"a": 1}, sha256_hex(sent), len(sent))


def test_other_multipart_bodies_are_not_read() -> None:
    read = read_body(
        b"--one\r\nContent-Type: application/json\r\n\r\n{}\r\n--one--", "multipart/related; boundary=one", None
    )
    assert read.kind is BodyKind.OPAQUE


@pytest.mark.parametrize(
    ("body", "content_type", "is_mismatch"),
    [
        (b'{"a":1}', "application/json", False),
        (b'{"a":1}', "application/x-amz-json-1.1", False),
        (b'{"a":1}', None, False),
        (b'{"a":1}', "text/plain", True),
        (b' [{"a":1}]', "text/plain; charset=utf-8", True),
        (b'\xef\xbb\xbf{"a":1}', "text/plain", True),
        (b'{"a":1}', _FORM, True),
        (b'{"a":1}', "application/octet-stream", True),
        (b'{"a":1}', "application/x-ndjson", True),
        (b'{"a":1}', "image/png", True),
    ],
)
def test_json_under_another_label_is_read_and_flagged(body: bytes, content_type: str, is_mismatch: bool) -> None:
    read = read_body(body, content_type, None)
    assert (read.kind, read.type_mismatch) == (BodyKind.JSON, is_mismatch)


@pytest.mark.parametrize(
    "body",
    [b'{"a":1}{"a":2}', b'{"a":1}\n{"a":1}', b'{"a":1} // c', b"{'a':1}", b"[INFO] ready", b"{{ name }}", b'"a"'],
)
def test_text_that_only_looks_like_json_stays_text(body: bytes) -> None:
    read = read_body(body, "text/plain", None)
    assert (read.kind, read.value, read.type_mismatch) == (BodyKind.TEXT, body.decode(), False)


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/octet-stream", _FORM])
@pytest.mark.parametrize(
    "body",
    [
        b'{"method":"x","method":"eth_sendTransaction"}',
        b'\n[{"Method":1,"\\u004dethod":2}]',
        b'{"query":NaN}',
        b'{"model":"\\ud800"}',
        b'{"method":"x","b":"\xff"}',
        b'\xef\xbb\xbf{"JSONRPC":1,"JSONRPC":2}',
        b'{"_method":"DELETE","a":NaN}',
        b'{"X.HTTP.Method":"DELETE","a":NaN}',
        '{"method":"x"}'.encode("utf-16"),
        '{"method":"x"}'.encode("utf-16-le"),
        '{"method":"x"}'.encode("utf-16-be"),
        '{"method":"x"}'.encode("utf-32"),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model":1,"a":' + b"9" * 5_000 + b',"a":1}',
    ],
)
def test_what_only_lenient_parsers_read_is_refused_under_another_label_too(body: bytes, content_type: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(body, content_type, None)


_LOOSE_FILES = [
    b'{"loss":NaN}',
    b'[{"a":1,"\\u0061":2}]',
    '{"a":"é"}'.encode("latin-1"),
    '{"a":"é"}'.encode("utf-16"),
    b'{"epochs":[{"method":"adam"}],"loss":Infinity}',
]


@pytest.mark.parametrize("content_type", ["application/octet-stream", "Binary/Octet-Stream; charset=utf-8"])
@pytest.mark.parametrize("body", _LOOSE_FILES)
def test_a_file_of_loose_json_that_no_rule_reads_is_octets(body: bytes, content_type: str) -> None:
    assert read_body(body, content_type, None).kind is BodyKind.OPAQUE


@pytest.mark.parametrize("content_type", [None, "text/plain", _FORM])
@pytest.mark.parametrize("body", _LOOSE_FILES)
def test_loose_json_that_is_not_labelled_as_octets_is_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(body, content_type, None)


@pytest.mark.parametrize("body", _LOOSE_FILES)
def test_loose_json_to_a_language_model_or_a_listed_call_is_no_file(body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(body, "application/octet-stream", None, is_for_model=True)
    with pytest.raises(AmbiguousRequestError):
        read_body(body, "application/octet-stream", None, is_listed=True)


_CALL = b'{"jsonrpc":"2.0","method":"eth_sendTransaction","params":[],"id":1}'


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/octet-stream", "application/x-ndjson", _FORM]
)
@pytest.mark.parametrize(
    "body",
    [
        _CALL + b" x",
        _CALL + b"}",
        _CALL + b"{}",
        _CALL + b"\n" + _CALL,
        _CALL + b"\0",
        _CALL + b" // sent",
        b"[" + _CALL + b"]]",
        b"[{}, " + _CALL + b"] x",
        b"\xef\xbb\xbf" + _CALL + b" x",
        b'{"JsonRPC":"2.0","\\u004dethod":"x"} x',
        b'{"jsonrpc":"2.0","method":"x","a":"\xff"} x',
        b'{"jsonrpc":"2.0","method":"x","a":NaN} x',
        _CALL.decode().encode("utf-16-le") + b"x",
    ],
)
def test_data_behind_a_call_of_json_rpc_is_refused(body: bytes, content_type: str | None) -> None:
    """Go's decoder reads the first value of a stream, parsers in C end at a NUL."""
    with pytest.raises(AmbiguousRequestError):
        read_body(body, content_type, None)
    with pytest.raises(AmbiguousRequestError):
        read_body(gzip.compress(body), content_type, "gzip")


@pytest.mark.parametrize("body", [b'{"prompt":"a"} x', b'{"prompt":"a"}\n{"prompt":"b"}', b'{"prompt":"a"}\0'])
def test_data_behind_a_request_to_a_language_model_is_refused(body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(body, None, None, is_for_model=True)
    assert read_body(body, None, None).kind is BodyKind.OPAQUE


@pytest.mark.parametrize(
    "body", [b'{"index":{"_id":"1"}}\n{"title":"a"}\n', b'{"method":"a"}\n{"method":"b"}\n', b'{"a":NaN}\n{"a":1}\n']
)
def test_lines_of_json_that_are_no_calls_stay_text(body: bytes) -> None:
    assert read_body(body, "application/x-ndjson", None).kind is BodyKind.TEXT


@pytest.mark.parametrize("body", [b"\0\0\0\x1c{ftyp}", b"[\xff\xfe]", bytes(64), b"\xff\xfeh\0i\0", b"{\xe9t\xe9}"])
def test_bytes_that_no_parser_reads_stay_opaque(body: bytes) -> None:
    assert read_body(body, "application/octet-stream", None).kind is BodyKind.OPAQUE


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**64 + 1, 10**30 + 1, 10**400])
@pytest.mark.parametrize("text", ['{{"a":[{}]}}', "{}", '{{"a":{{"b":{}}}}}'])
def test_integers_that_a_double_cannot_hold_are_refused(text: str, number: int) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_body(text.format(number).encode(), "application/json", None)


@pytest.mark.parametrize(
    "number", ["9007199254740992", "9007199254740994", "18446744073709551616", "1e30", '"9007199254740993"']
)
def test_other_numbers_are_read(number: str) -> None:
    assert read_body(f'{{"a":{number}}}'.encode(), "application/json", None).kind is BodyKind.JSON


@given(
    st.binary(max_size=60),
    st.sampled_from(["application/json", _FORM, "text/plain", None, _MULTIPART, "a/b"]),
    st.sampled_from([None, "gzip", "deflate", "br", "identity", "zstd"]),
    st.sampled_from(list(BodyReading)),
)
def test_arbitrary_bytes_raise_nothing_else(
    body: bytes, content_type: str | None, encoding: str | None, reading: BodyReading
) -> None:
    try:
        read_body(body, content_type, encoding, reading=reading, max_bytes=1000)
    except HeadgateError:
        return
