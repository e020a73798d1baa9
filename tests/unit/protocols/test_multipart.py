"""Forms in parts: only what every server reads alike (tests/integration/protocols compares with real ones)."""

import pytest

from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.content_type import ContentType, read_content_type
from headgate.protocols.multipart import VALUE_BYTES_MAX, Part, read_multipart

_FIELD = b'Content-Disposition: form-data; name="a"\r\n\r\n1'
_FILE = b'Content-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: image/png\r\n\r\n\x89\xff'


def _body(boundary: bytes, *pieces: bytes) -> bytes:
    return b"".join(b"--" + boundary + b"\r\n" + piece + b"\r\n" for piece in pieces) + b"--" + boundary + b"--\r\n"


def _read(body: bytes, boundary: str = "x") -> list[Part]:
    return read_multipart(body, read_content_type(f'multipart/form-data; boundary="{boundary}"'))


def test_parts() -> None:
    field, file = _read(_body(b"x", _FIELD, _FILE))
    assert (field.name, field.filename, field.as_json()) == ("a", None, "1")
    assert file.as_json() == {
        "filename": "x.bin",
        "content_type": "image/png",
        "size": 2,
        "sha256": file.sha256,
    }
    assert file.sha256.startswith("sha256:")


@pytest.mark.parametrize(
    "boundary",
    [
        "----WebKitFormBoundaryAbC123",
        "----formdata-undici-012345678901",
        "===============8279==",
        "0a1b",
        "-x",
        "a.b_c",
    ],
)
def test_the_boundaries_of_clients(boundary: str) -> None:
    assert [part.value for part in _read(_body(boundary.encode(), _FIELD), boundary)] == ["1"]


@pytest.mark.parametrize("boundary", ["", "-", "---", "a b", "a:b", "a;b", "é", "x" * 71])
def test_other_boundaries_are_refused(boundary: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_multipart(_body(boundary.encode(), _FIELD), ContentType("multipart/form-data", "", boundary))


_SECOND = b'--x\nContent-Disposition: form-data; name="amount"\n\n1000'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"preamble\r\n" + _body(b"x", _FIELD),
        _body(b"x", _FIELD) + b"epilogue",
        _body(b"x", _FIELD)[:-4],
        _body(b"y", _FIELD),
        b"--x--\r\n",
        _body(b"x", _FIELD + b"\r\n--xy"),
        _body(b"x", *[_FIELD] * 1001),
        # What Werkzeug and Django take for a second part, and the others for a part of the first.
        _body(b"x", _FIELD + b"\n" + _SECOND),
        _body(b"x", _FIELD + b"\r" + _SECOND.replace(b"\n", b"\r")),
        _body(b"x", _FIELD + _SECOND),
        _body(b"x", _FIELD + b"--x"),
    ],
)
def test_ambiguous_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        _read(body)


@pytest.mark.parametrize(
    "piece",
    [
        b"",
        b"1",
        b"\r\n\r\n1",
        b"Content-Type: text/plain\r\n\r\n1",
        b'Content-Disposition: attachment; name="a"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"; name="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a";\r\n filename="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a\\"b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a%22b"\r\n\r\n1',
        b"Content-Disposition: form-data; name=\"a\"; filename*=utf-8''b\r\n\r\n1",
        b'Content-Disposition: form-data; name="a"; filename=""\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"; filename="a/b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"; filename=".."\r\n\r\n1',
        b'Content-Disposition: form-data; name="' + b"n" * 101 + b'"\r\n\r\n1',
        'Content-Disposition: form-data; name="é"\r\n\r\n1'.encode(),
        b'Content-Disposition: form-data; name=""\r\n\r\n1',
        b'Content-Disposition: form-data; name="\xff"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ==',
        b'Content-Disposition: form-data; name="a"\r\nContent-Type: application/octet-stream\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=utf-7\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n1',
        b'Content-Disposition : form-data; name="a"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\n\n1',
        b'Content-Disposition: form-data; name="a"\r\n\r\n\xff',
    ],
)
def test_ambiguous_parts_are_refused(piece: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        _read(_body(b"x", piece))


def test_a_value_that_some_servers_cut_is_refused() -> None:
    head = b'Content-Disposition: form-data; name="a"\r\n\r\n'
    assert _read(_body(b"x", head + b"1" * VALUE_BYTES_MAX))[0].size == VALUE_BYTES_MAX
    with pytest.raises(PayloadTooLargeError):
        _read(_body(b"x", head + b"1" * (VALUE_BYTES_MAX + 1)))
